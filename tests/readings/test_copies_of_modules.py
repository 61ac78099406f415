"""What a reader found who shipped modules, for which a user vouches, in several copies."""

from __future__ import annotations

import functools
import importlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipError, ValueList
from data_skip.spark import python_code
from data_skip.spark.python_code import code_of
from data_skip.spark.workers import Started
from tests.readings.test_code_of_functions import as_if_edited_between_applications
from tests.readings.test_workers import started
from tests.support import Lake

__all__ = ["started"]

ONE, OTHER = "def found(x): return x + '1'\n", "def found(x): return x + '2'\n"
WHY = "module reading_copied, of which workers may find another copy than the driver's"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules of the driver."""
    (tmp_path / "own").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    yield tmp_path / "own"
    for name in [name for name in sys.modules if name.startswith("reading_")]:
        del sys.modules[name]


def module(folder: Path, file: str, code: str) -> Path:
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(code)
    return folder


def unsure(name: str, vouched: str) -> str:
    importlib.invalidate_caches()
    python_code._is_another.cache_clear()
    as_if_edited_between_applications()
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module(name).found, StringType())))
    return code_of(command, vouched).get("unsure", "")


def test_two_archives_with_different_copies(lake: Lake, tmp_path: Path) -> None:
    """The driver goes on with the first; workers that are started later take the second."""
    context, before = lake.spark.sparkContext, [*sys.path]
    try:
        for name, code in (("reading_first", ONE), ("reading_second", OTHER)):
            with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
                archive.writestr("reading_copied.py", code)
            context.addPyFile(str(tmp_path / f"{name}.zip"))
            assert unsure("reading_copied", "reading_copied") == (WHY if name == "reading_second" else "")
        vouched = lake.spark.conf.get(python_code.VOUCHED)
        lake.spark.conf.set(python_code.VOUCHED, "reading_copied")
        lake.spark.udf.register("copied", sys.modules["reading_copied"].found)
        lake.file("a", {"s": ["a"]})
        try:
            with pytest.raises(DataSkipError, match=WHY):
                lake.index(ValueList("copied(s)"))
        finally:
            lake.spark.conf.set(python_code.VOUCHED, vouched)
    finally:
        context._python_includes.clear()
        sys.path[:] = before
        del sys.modules["reading_copied"]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("file", ["reading_copied.py", "reading_copied/__init__.py", "reading_copied/below/rules.py"])
@pytest.mark.parametrize("place", ["environment", "shipped"])
def test_copies_that_workers_find(started: list[Started], own: Path, tmp_path: Path, place: str, file: str, zipped: bool) -> None:
    """By what is in them: the same one, in an archive or a folder of which workers know, is none of another."""
    name = file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    copy = tmp_path / "files" / "copy.zip"
    for code, why in ((ONE, ""), (OTHER, WHY)):
        for folder in (own, tmp_path / "files"):
            module(folder, file, ONE if folder == own else code)
            if name == "reading_copied.below.rules":
                module(folder, "reading_copied/__init__.py", "")
        if zipped:
            with zipfile.ZipFile(copy, "w") as archive:
                for each in (tmp_path / "files").rglob("*.py"):
                    archive.write(each, each.relative_to(tmp_path / "files"))
                    each.unlink()
        found = str(copy if zipped else tmp_path / "files")
        if place == "environment":
            started[0] = started[0]._replace(environment=started[0].environment | {"PYTHONPATH": found})
        else:
            started[0] = started[0]._replace(files=found)
        sys.path_importer_cache.pop(str(copy), None)
        assert unsure(name, "reading_copied") == why


def test_parts_of_a_namespace(started: list[Started], own: Path, tmp_path: Path) -> None:
    """Workers may have others of them beside."""
    module(own, "reading_copied/rules.py", ONE)
    other = module(tmp_path / "other", "reading_copied/more.py", ONE)
    started[0] = started[0]._replace(environment=started[0].environment | {"PYTHONPATH": str(other)})
    assert unsure("reading_copied.rules", "reading_copied") == ""
    module(other, "reading_copied/rules.py", OTHER)
    assert unsure("reading_copied.rules", "reading_copied") == WHY


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("f = lambda x: np.load(io.BytesIO(held), allow_pickle=True)[0](x)", "numpy.load"),
        ("f = lambda x: np.load(io.BytesIO(held), None, True)[0](x)", "numpy.load"),
        ("f = functools.partial(np.load, allow_pickle=True)", "numpy.load"),
        ("import json\nf = lambda x: np.sqrt(len(json.loads(x)))", ""),
        ("import json\nf = lambda x: json.load(io.StringIO(x))", ""),
        ("def f(x):\n    import joblib\n    return joblib.load(io.BytesIO(held))(x)", "joblib.load"),
        ("def f(x):\n    import timeit\n    return timeit.timeit(x)", "timeit"),
        ("from unittest import mock\nf = lambda x: mock.patch(x)", "unittest.mock"),
        ("import json\nf = lambda x: json.__loader__.load_module(x)", "load_module"),
    ],
)
def test_what_reads_a_pickle_that_does_not_look_like_one(own: Path, code: str, why: str) -> None:
    """One within an array, or a compressed one, that a library reads which is there for something else."""
    module(own, "reading_copied.py", ONE)
    importlib.invalidate_caches()
    held = io.BytesIO()
    np.save(held, np.array([importlib.import_module("reading_copied").found], dtype=object), allow_pickle=True)
    found: dict[str, Any] = {"__name__": "__main__", "held": held.getvalue(), "np": np, "io": io, "functools": functools}
    exec(code, found)
    told = code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert told.get("unsure", "") == (f"what it loads by {why}" if why else "")


def test_a_vouched_module_that_is_edited_while_spark_runs(lake: Lake, own: Path) -> None:
    """An index is made by workers that go on with what they have loaded, and would be known by what lies in the file."""
    module(own, "reading_edited.py", ONE)
    importlib.invalidate_caches()
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_edited").found, StringType())))
    edited = "module reading_edited, which was edited since Spark began: workers may have loaded it before"
    for code, why in ((ONE, ""), (OTHER, edited), (ONE, edited)):
        module(own, "reading_edited.py", code)
        python_code._all_of.cache_clear()
        assert code_of(command, "reading_edited").get("unsure", "") == why
    as_if_edited_between_applications()
    assert "unsure" not in code_of(command, "reading_edited")
