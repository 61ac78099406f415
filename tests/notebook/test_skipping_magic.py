"""`%load_ext data_skip` and `%%skipping`, in a shell of IPython in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from data_skip import MinMax, Skipping
from tests.support import Lake

pytest.importorskip("IPython")


@pytest.fixture(scope="module")
def shell(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))  # else it writes into the user's home
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.UsageError = UsageError
    shell.run_line_magic("load_ext", "data_skip")
    shell.user_ns["spark"] = spark
    yield shell
    InteractiveShell.clear_instance()
    del os.environ["IPYTHONDIR"]


@pytest.fixture
def table(lake: Lake) -> Lake:
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [10 * i, 10 * i + 5], "s": ["<script>", None]})
    lake.index(MinMax("x"))
    lake.view()
    return lake


def test_rows_and_what_was_skipped(shell: Any, table: Lake, skipping: Skipping) -> None:
    shown = shell.run_cell_magic("skipping", "-o found", "SELECT s, x FROM t WHERE x > 21;\n")
    text = str(shown)
    assert text.splitlines()[0].split() == ["s", "x"]
    assert "NULL      25" in text and "3 rows" in text and "2 read of 4, 2 skipped" in text
    assert repr(shown) == text
    page = shown._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "skips alone" in page and page.count("<style>") == 1
    assert isinstance(shell.user_ns["found"], DataFrame) and shell.user_ns["found"].count() == 3
    assert shown.report == skipping.reports()[-2]  # that of the cell, not of the count


def test_how_many_rows(shell: Any, table: Lake) -> None:
    shown = shell.run_cell_magic("skipping", "-n 2", "SELECT x FROM t WHERE x > 0")
    assert len(shown.rows) == 2 and "the first 2 rows; %%skipping -n 20 shows more" in str(shown)
    assert "1 row\n" in str(shell.run_cell_magic("skipping", "", "SELECT x FROM t WHERE x = 35"))


def test_a_query_without_a_where(shell: Any, table: Lake) -> None:
    shell.run_cell_magic("skipping", "", "SELECT x FROM t WHERE x = 35")
    shown = shell.run_cell_magic("skipping", "", "SELECT count(*) AS n FROM t")
    assert shown.report is None and "nothing was skipped" in str(shown) and "nothing was skipped" in shown._repr_html_()


def test_a_call_and_where_skipping_is_off(shell: Any, table: Lake, skipping: Skipping) -> None:
    shown = shell.run_cell_magic("skipping", "", f"CALL data_skip.refresh('{table.folder}')")
    assert "files_collected" in shown.columns and shown.report is None
    with skipping.disabled():
        assert "ran while skipping was off" in str(shell.run_cell_magic("skipping", "", "SELECT x FROM t WHERE x = 35"))


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("", "  ", "write a query below it"),
        ("-n many", "SELECT 1", "invalid int value: 'many'"),
        ("-n -1", "SELECT 1", "is no number of rows"),
        ("-o 3x", "SELECT 1", "-o 3x is no name of a variable"),
        ("--what", "SELECT 1", "unrecognized arguments: --what"),
        ("'", "SELECT 1", "No closing quotation"),
    ],
)
def test_errors_say_how_it_is_used(shell: Any, line: str, cell: str, message: str) -> None:
    with pytest.raises(shell.UsageError, match=message):
        shell.run_cell_magic("skipping", line, cell)


def test_errors_of_the_query_are_sparks(shell: Any, table: Lake) -> None:
    with pytest.raises(AnalysisException, match="nowhere"):
        shell.run_cell_magic("skipping", "", "SELECT nowhere FROM t")


def test_a_notebook_without_a_variable_spark(shell: Any, table: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(shell.user_ns, "spark")
    assert len(shell.run_cell_magic("skipping", "", "SELECT x FROM t WHERE x = 35").rows) == 1


def test_ipython_is_not_loaded_by_itself() -> None:
    code = "import sys, data_skip; print('IPython' in sys.modules, 'data_skip.notebook' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]
