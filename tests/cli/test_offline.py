"""What is said of a table without Spark is what Spark says; and it needs none."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data_skip import MinMax, Suffix
from data_skip.cli.offline import LocalTable, escaped, is_local
from tests.support import Lake

NAMES = ["plain", "with space", 'it\'s 100% "odd" & [x]{y}^|`<>#?;,=+@:!$~*', "ünï çødé", "a\u00a0b\u3000c", "😀", "tab\there", "x\u0085y"]


def test_paths_are_escaped_as_hadoop_does(lake: Lake) -> None:
    for name in NAMES:
        assert lake.skipping.jvm.qualified(f"/tmp/{name}") == f"file:{escaped(f'/tmp/{name}')}"


def test_a_description_is_that_of_spark(lake: Lake) -> None:
    for folder in ("p=1", "p=2%2F3"):
        for i in range(3):
            lake.file(f"{folder}/{i} it's.parquet", {"x": [i], "s": [f"s{i}"]})
    table = lake.index(MinMax("x"), Suffix("s", 1))
    lake.file("p=1/new.parquet", {"x": [9], "s": ["s"]})
    lake.file("p=1/1 it's.parquet", {"x": [8, 8], "s": ["s", "t"]})
    (lake.folder / "p=1/0 it's.parquet").unlink()
    for hidden in ("_SUCCESS", ".crc", "p=1/_x.parquet", "x._COPYING_"):
        (lake.folder / hidden).write_text("x")
    (lake.folder / "p=1/empty").touch()
    told = LocalTable(table.name).describe()
    assert told == table.describe()
    assert (told.files, told.files_indexed) == (6, 4)
    assert LocalTable(f"file://{lake.folder}/").describe().location == told.location


def test_a_table_without_an_index(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a b.parquet", {"x": [1]})
    lake.file("folder/c.parquet", {"x": [1]})  # which Spark reads where it is told to
    told = LocalTable(str(lake.folder)).describe()
    assert (told.version, told.files) == (None, 1)
    assert LocalTable(str(lake.folder)).history() == LocalTable(str(lake.folder)).vacuum() == []
    monkeypatch.chdir(lake.folder.parent)
    assert is_local("table") and is_local("./table") and not is_local("s3a://table") and not is_local("nothing")
    assert not is_local("")  # as of a variable of the shell that is not set
    assert LocalTable("table").describe().location == told.location


def test_an_index_root(lake: Lake, tmp_path: Path) -> None:
    lake.file("a.parquet", {"x": [1]})
    elsewhere = LocalTable(str(lake.folder), f"file:{tmp_path}/root/").describe().location
    assert Path(elsewhere).parent == tmp_path / "root"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=dict(os.environ)).stdout


def test_what_imports_bring_along() -> None:
    """Who imports data_skip, or asks for what needs no Spark, waits for none of these."""
    loaded = (
        "print([m for m in ('pyspark', 'pandas', 'pyarrow', 'deltalake', 'shapely', 'matplotlib', 'rich', 'typer') if m in sys.modules])"
    )
    assert run(f"import sys, data_skip; data_skip.DataSkipError; {loaded}") == "[]\n"
    assert set(ast.literal_eval(run(f"import sys, data_skip.cli.app; {loaded}"))) <= {"rich", "typer"}
    of_spark = "print([m for m in ('pyspark', 'shapely', 'matplotlib') if m in sys.modules])"
    assert run(f"import sys; from data_skip.cli.offline import LocalTable; LocalTable('.').history(); {of_spark}") == "[]\n"


def test_all_that_data_skip_names_is_there() -> None:
    import data_skip

    assert all(getattr(data_skip, name).__name__ == name for name in data_skip.__all__)
    assert set(data_skip._HOMES) == set(data_skip.__all__) <= set(dir(data_skip))
    assert not hasattr(data_skip, "nothing")
