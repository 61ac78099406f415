"""A sample of `make faults`: the commit of each command, whose answer is lost, alone and while another writes."""

from __future__ import annotations

import pytest

from tests.faults.commands import COMMANDS, PATIENCE
from tests.faults.matrix import Case, Matrix


@pytest.mark.parametrize(
    "command", [name if name in ("create", "refresh") else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS]
)
def test_lost_answer_of_a_commit(matrix: Matrix, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(matrix, "patience", {**PATIENCE, "timeout": "30s"})
    for commit in [i for i, request in enumerate(matrix.requests(command)) if request.startswith("PUT") and request.endswith(".json")]:
        for kind, other in (("412", "makes anew"), ("cut", "")):
            outcome = matrix.check(Case(command, commit, kind, after=True, lasting=False, other=other))
            assert "PUT" in outcome.met
            assert not outcome.refused
