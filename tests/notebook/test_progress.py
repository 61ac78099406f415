"""Progress in notebooks: a bar while Spark works, gone in the end; nothing where there is no notebook."""

from __future__ import annotations

import re
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax
from data_skip.building.progress import progress_bar
from tests.support import Lake

IPython = pytest.importorskip("IPython")
SLOW = "SELECT java_method('java.lang.Thread', 'sleep', 400L) FROM range(0, 4, 1, 4)"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook shows, one after the other, in the one output that is updated."""
    states: list[str] = []

    def display(page: Any, display_id: bool) -> Any:
        assert display_id
        states.append(page.data)
        return SimpleNamespace(update=lambda page: states.append(page.data))

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", display)
    return states


def test_a_bar_that_is_gone_in_the_end(spark: SparkSession, shown: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar(spark, "indexing <t>", None):
        spark.sql(SLOW).collect()
    assert shown[0] == shown[-1] == "" and len(shown) > 2
    assert all("indexing &lt;t&gt;" in state and 'class="data-skip"' in state for state in shown[1:-1])
    assert any(re.search(r'class="bar".* of 4 tasks of the running job', state) for state in shown)
    assert "indexing" not in capfd.readouterr().err


def test_it_is_gone_where_indexing_fails(spark: SparkSession, shown: list[str]) -> None:
    with pytest.raises(RuntimeError), progress_bar(spark, "indexing t", True):
        raise RuntimeError
    assert shown == ["", ""]


def test_not_in_another_thread(spark: SparkSession, shown: list[str]) -> None:
    def refresh() -> None:
        with progress_bar(spark, "indexing t", None):
            pass

    other = Thread(target=refresh)
    other.start()
    other.join()
    assert shown == []


def test_not_where_it_is_not_wanted(lake: Lake, shown: list[str]) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.table().create_index(MinMax("x"), progress=False)
    assert shown == []
    lake.table().refresh()
    assert shown[0] == shown[-1] == "" and len(shown) >= 2


def test_not_on_a_terminal_unless_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for shell in (None, SimpleNamespace()):  # no IPython that runs, and IPython on a terminal
        monkeypatch.setattr(IPython, "get_ipython", lambda shell=shell: shell)
        with progress_bar(spark, "indexing t", None):
            pass
        assert capfd.readouterr().err == ""
    with progress_bar(spark, "indexing t", True):
        pass
    assert "indexing t [####" in capfd.readouterr().err
