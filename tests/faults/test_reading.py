"""Every request of who reads fails in every way: what is read is what one version says, or an error of the store says why not."""

from __future__ import annotations

import pytest

from data_skip.store import DeltaStore, StoreError
from tests.faults.commands import OTHERS, State, run, state, store_by
from tests.faults.matrix import Matrix
from tests.faults.s3 import FAILURES

pytestmark = pytest.mark.faults


def seen_before(matrix: Matrix) -> DeltaStore:
    """The index as a session sees it that has read an earlier version."""
    matrix.server.ask("reset", "two")
    store = store_by(matrix.server.port)
    state(store)
    matrix.server.ask("reset", "refreshed")
    store._place.forget()
    return store


def fresh(matrix: Matrix) -> DeltaStore:
    matrix.server.ask("reset", "refreshed")
    return store_by(matrix.server.port)


@pytest.mark.parametrize("session", [fresh, seen_before])
def test_reading(matrix: Matrix, session: object) -> None:
    store = session(matrix)
    before = state(store)
    requests = matrix.server.ask("met")
    after: dict[str, State] = {"": before}
    for other in OTHERS:
        matrix.server.ask("reset", "refreshed")
        run(matrix.calm(), other)
        after[other] = state(matrix.calm())
    outcomes = {"read": 0, "refused": 0}
    plans = [(kind, lasting, "") for kind in FAILURES for lasting in (False, True)]
    for number in range(len(requests)):
        for kind, lasting, other in plans + [(kind, False, other) for kind in ("", "500") for other in OTHERS]:
            what = (number, requests[number], kind, lasting, other)
            store = session(matrix)
            matrix.server.ask("fail", number=number, kind=kind, after=kind == "cut", lasting=lasting, other=other)
            try:
                found = state(store)
                outcomes["read"] += 1
                between = after["drops" if other == "makes anew" else other]  # it is in two commits
                assert found in (before, between, after[other]), (what, found)
            except StoreError as error:
                outcomes["refused"] += 1
                assert ";" in str(error), (what, error)
            _, refused = matrix.server.ask("calm_down")
            assert not refused, (what, refused)
            store.look_again()
            assert state(store) == after[other], what
    print({"session": getattr(session, "__name__", ""), "requests": len(requests), **outcomes})
