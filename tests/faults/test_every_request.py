"""Every request of every command fails in every way."""

from __future__ import annotations

import pytest

from tests.faults.commands import COMMANDS
from tests.faults.matrix import Matrix, summary

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("command", COMMANDS)
def test_every_request(matrix: Matrix, command: str) -> None:
    matrix.outcomes.clear()
    wrong = []
    cases = [*matrix.cases(command)]
    for case in cases:
        try:
            matrix.check(case)
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")
    print(summary(matrix, command, len(cases)))
    assert not wrong, "\n\n".join([f"{len(wrong)} of {len(cases)}", *wrong[:20]])
