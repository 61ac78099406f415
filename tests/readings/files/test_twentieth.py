"""What the twentieth reading found false, beside object stores."""

from __future__ import annotations

import pytest

from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded


def test_an_index_of_a_bounded_age_is_never_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refreshed meanwhile, what is waited for is as young as was asked for."""
    now, refreshed = 0.0, 0.0
    monkeypatch.setattr(bounded, "now", lambda: now)

    def refresh() -> IndexReport:
        nonlocal refreshed
        refreshed = now
        return IndexReport("t", ["MinMax(x)"])

    index = bounded.Bounded(60)
    index.refreshed_by("t", refresh)
    for seconds in (0, 61, 100, 119, 59, 31, 3600):
        now += seconds
        index.bring_up_to_date()
        assert now - refreshed <= 60
