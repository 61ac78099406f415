"""What Python keeps of Spark's own archives is dropped in workers; what it keeps of others is not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest

from data_skip import MinMax
from data_skip.building.collect import _summarizer
from data_skip.building.direct import _reader
from data_skip.building.direct_values import _teller
from data_skip.building.file_records import Wanted
from data_skip.building.remote_files import NOWHERE
from data_skip.building.same_code import Code
from data_skip.expression import Column
from data_skip.planning.evaluating import locally, reader
from data_skip.spark.archives import forget_archives

OF_SPARK = ("pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.0.5.jar", "spark-core_2.13-4.2.0-preview1.jar")
OTHERS = ("sent.zip", "my_pyspark.zip", "spark-core_mine.zip")


def looked_into(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places in a new archive that Python has a finder for."""
    package = folder.name
    with ZipFile(folder / name, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "")
        archive.writestr(f"{package}/inner.py", "")
    monkeypatch.syspath_prepend(folder / name)
    importlib.import_module(f"{package}.inner")
    places = [place for place in sys.path_importer_cache if place.startswith(str(folder / name))]
    assert len(places) == 2
    return places


@pytest.mark.parametrize("name", OF_SPARK)
def test_those_of_spark_are_dropped_and_found_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = looked_into(tmp_path, name, monkeypatch)
    forget_archives()
    assert not sys.path_importer_cache.keys() & set(places)
    monkeypatch.delitem(sys.modules, f"{tmp_path.name}.inner")
    importlib.import_module(f"{tmp_path.name}.inner")


@pytest.mark.parametrize("name", OTHERS)
def test_others_may_change(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = looked_into(tmp_path, name, monkeypatch)
    forget_archives()
    assert sys.path_importer_cache.keys() >= set(places)


INDEX = MinMax("x")
READING = _reader(Wanted([INDEX], [(Column("int", None, ("x",)),)], {}), NOWHERE)
CODE = Code.of([INDEX])
EVALUATING = reader(b"", {}, pa.schema([]), locally("/nowhere"), CODE)
TASKS = (READING, _summarizer([INDEX]), _teller([], Column("int", None, ("x",)), CODE), EVALUATING)


@pytest.mark.parametrize("task", TASKS, ids=("reading files", "summarizing rows", "telling values", "evaluating"))
def test_each_task_does(task: Callable[[Iterable[Any]], Iterable[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = looked_into(tmp_path, "pyspark.zip", monkeypatch)
    assert list(task([])) == []
    assert not sys.path_importer_cache.keys() & set(places)
