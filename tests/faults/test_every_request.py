"""Every request of every command fails in every way."""

from __future__ import annotations

import pytest

from tests.faults.commands import COMMANDS
from tests.faults.matrix import READS, Case, Matrix

pytestmark = pytest.mark.faults


def check_all(matrix: Matrix, command: str, cases: list[Case]) -> None:
    matrix.outcomes.clear()
    wrong = []
    for case in cases:
        try:
            matrix.check(case)
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")
    print({"command": command, "requests": len(matrix.requests(command)), "cases": len(cases), **matrix.outcomes})
    assert not wrong, "\n\n".join([f"{len(wrong)} of {len(cases)}", *wrong[:20]])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_request(matrix: Matrix, command: str) -> None:
    check_all(matrix, command, [*matrix.cases(command)])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_write_of_an_old_index(swept: Matrix, command: str) -> None:
    """With each commit a checkpoint is written, and what the log has no need of any more is deleted."""
    writes = [not request.startswith(READS) for request in swept.requests(command)]
    check_all(swept, command, [case for case in swept.cases(command) if writes[case.number] and case.other in ("", "makes anew")])
