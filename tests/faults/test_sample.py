"""A sample of `make faults`: the commit of each command, whose answer is lost, alone and while another writes."""

from __future__ import annotations

import pytest

from tests.faults.commands import COMMANDS
from tests.faults.matrix import Case, Matrix


@pytest.mark.parametrize("command", COMMANDS)
def test_lost_answer_of_a_commit(matrix: Matrix, command: str) -> None:
    commit = max(i for i, request in enumerate(matrix.requests(command)) if request.startswith("PUT") and request.endswith(".json"))
    for kind, other in (("412", "makes anew"), ("cut", "")):
        outcome = matrix.check(Case(command, commit, kind, after=True, lasting=False, other=other))
        assert not outcome.refused
        assert "PUT" in outcome.met
