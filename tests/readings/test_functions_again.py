"""What a reader of functions found: results that others of a batch change, hashes, archives, what functions of modules import."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.spark.python_code import Given, code_of
from data_skip.spark.workers import Started, worker_of
from tests.readings.test_code_of_functions import as_if_edited_between_applications, install, packages
from tests.readings.test_copies_of_modules import ONE, OTHER, WHY, module, own, unsure
from tests.readings.test_workers import pickled, python, started
from tests.support import Lake, settings_of

__all__ = ["own", "packages", "started"]


def told(function: Any, vouched: str = "") -> dict[str, str]:
    as_if_edited_between_applications()
    return code_of(bytes(CloudPickleSerializer().dumps((function, StringType()))), vouched)


def test_results_that_are_others_beside_those_of_other_rows(lake: Lake) -> None:
    """PySpark makes one Series of a batch: beside None a large number is rounded, and beside the year 9999 a time is not of the zone."""
    for name, function, type_ in (
        ("as_number", lambda s: int(s) if s and s.isdigit() else None, "bigint"),
        ("year_end", lambda s: datetime(int(s), 12, 31) if s and len(s) == 4 else None, "timestamp"),
        ("as_int", lambda s: int(s) if s and s.isdigit() else None, "int"),
        ("is_now", lambda s: s == "2020" if s and len(s) == 4 else None, "boolean"),
    ):
        lake.spark.udf.register(name, F.udf(function, type_, useArrow=True))
    for file, s in (("large", "9007199254740993"), ("word", "x"), ("now", "2020"), ("ever", "9999")):
        lake.file(file, {"s": [s]})
    lake.index(ValueList("s"))
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "America/New_York"}):
        lake.check("as_number(s) = 9007199254740993")
        lake.check("year_end(s) = timestamp'2020-12-31 00:00:00'")
        lake.check("as_int(s) = 1")  # of 9007199254740993
        lake.check("is_now(s)", read=["now"])
    for index in ("as_number(s)", "year_end(s)", "as_int(s)"):
        with pytest.raises(DataSkipError, match="by Arrow, which is another one in a batch with what pandas makes of other rows"):
            lake.table().create_index(ValueList(index))


def test_hashes_that_are_others_in_each_process(tmp_path: Path, lake: Lake) -> None:
    """An index of one application says nothing of another one's."""
    why = "hashes of text, which are others in each process of workers (PYTHONHASHSEED)"
    for seed, expected in (("0", ""), ("17", ""), ("random", why), ("", why)):
        found = code_of(pickled("lambda x: hash(x) % 8"), given=Given(variables={"PYTHONHASHSEED": seed}))
        assert found.get("unsure", "") == expected
    assert code_of(pickled("lambda x: x"), "", str(tmp_path / "nobody"), Given(variables={"PYTHONHASHSEED": "random"}))["unsure"] == why
    assert code_of(pickled("lambda x: x"), "", str(python(tmp_path, "unset PYTHONHASHSEED")))["unsure"] == why


def test_the_second_at_which_clocks_change(tmp_path: Path) -> None:
    """It was looked at every five days, always at the same hour."""
    zones = set()
    for hour in (2, 3):
        (tmp_path / f"{hour}").mkdir()
        executable = python(tmp_path / f"{hour}", f"export TZ='EET-2EEST,M3.5.0/{hour},M10.5.0/{hour + 1}'")
        worker = worker_of(str(executable), None)
        assert worker is not None
        zones.add(worker.zone)
    assert len(zones) == 2


@pytest.mark.parametrize("first", ["export PYTHONOPTIMIZE=1", "export PYTHONWARNINGS=error", "export PYTHONPATH={}:$PYTHONPATH"])
def test_how_workers_are_started(tmp_path: Path, first: str) -> None:
    """Their modules may have no assertions, take warnings for errors, or be changed by what Python runs first."""
    (tmp_path / "sitecustomize.py").write_text("import math\nmath.sqrt = abs\n")
    other = worker_of(str(python(tmp_path, first.format(tmp_path))), None)
    here = worker_of(sys.executable, None)
    assert other is not None and here is not None and other.version != here.version


@pytest.mark.parametrize("zipped", [False, True])
def test_what_functions_of_a_vouched_module_import(packages: Path, own: Path, tmp_path: Path, zipped: bool) -> None:
    """The driver need not have run them."""
    install(packages, "reading-one", "1.0", "reading_one.py")
    module(own, "reading_other.py", ONE)
    module(own, "reading_rules/__init__.py", "def found(x):\n    from . import more\n    return more.found(x)\n")
    module(own, "reading_rules/more.py", "def found(x):\n    import reading_other, reading_one\n    return reading_other.found(x)\n")
    if zipped:
        with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
            for file in (own / "reading_rules").rglob("*.py"):
                archive.write(file, file.relative_to(own))
                file.unlink()
        (own / "reading_rules").rmdir()
        sys.path.insert(0, str(tmp_path / "own.zip"))
    importlib.invalidate_caches()
    found = importlib.import_module("reading_rules").found
    assert "reading_other" not in sys.modules
    assert told(found, "reading_rules")["unsure"] == "module reading_other"
    first = told(found, "reading_rules,reading_other")
    assert "unsure" not in first
    module(own, "reading_other.py", OTHER)
    assert told(found, "reading_rules,reading_other")["named"] != first["named"]
    sys.path[:] = [place for place in sys.path if place != str(tmp_path / "own.zip")]


@pytest.mark.parametrize("test", ["not TYPE_CHECKING", "not typing.TYPE_CHECKING", "reading or TYPE_CHECKING"])
def test_what_is_imported_but_for_types(own: Path, test: str) -> None:
    module(own, "reading_other.py", ONE)
    module(
        own,
        "reading_rules.py",
        f"import typing\nfrom typing import TYPE_CHECKING\nreading = 1\nif {test}:\n    import reading_other\n{ONE}",
    )
    importlib.invalidate_caches()
    assert told(importlib.import_module("reading_rules").found, "reading_rules")["unsure"] == "module reading_other"


def test_a_module_that_is_moved_within_its_package(own: Path) -> None:
    """`try: from .b import f; except ImportError: from .a import f` takes another one then."""
    for name, code in (("__init__", ONE), ("a/__init__", ""), ("a/rules", ONE), ("b/rules", OTHER)):
        module(own, f"reading_moved/{name}.py", code)
    importlib.invalidate_caches()
    found = importlib.import_module("reading_moved").found
    first = told(found, "reading_moved")
    (own / "reading_moved" / "b").rename(own / "reading_moved" / "c")
    assert told(found, "reading_moved")["named"] != first["named"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys\nf = lambda x: getattr(sys, 'modules')[x]", "modules"),
        ("import sys\nf = lambda x: vars(sys)['modules'][x]", "modules"),
        ("f = lambda x: globals()['__builtins__']['eval'](x)", "eval"),
        ("def f(x):\n    import subprocess\n    return subprocess.run(x)", "subprocess"),
        ("f = other", "reading_packed.cloudpickle"),
        ("def f(x):\n    modules = x.split()\n    return modules", ""),
    ],
)
def test_further_ways_to_load_code(own: Path, code: str, why: str) -> None:
    """numba has a cloudpickle of its own, whose pickles nobody reads here: what they name was not seen."""
    module(own, "reading_packed/__init__.py", "")
    module(own, "reading_packed/cloudpickle.py", "def rebuild(*_): return print\n")
    importlib.invalidate_caches()
    rebuild = importlib.import_module("reading_packed.cloudpickle").rebuild

    class Other:
        def __reduce__(self) -> Any:
            return rebuild, ("subimport", "reading_unseen")

    found: dict[str, Any] = {"__name__": "__main__", "other": Other()}
    exec(code, found)
    assert told(found["f"], "reading_packed").get("unsure", "") == (f"what it loads by {why}" if why else "")


def test_a_copy_that_workers_find_without_what_was_shipped(started: list[Started], own: Path, tmp_path: Path) -> None:
    """A function has what was shipped before it was made: alone it found another copy than beside others."""
    module(own, "reading_copied.py", ONE)
    started[0] = started[0]._replace(files=str(module(tmp_path / "files", "reading_copied.py", ONE)))
    assert unsure("reading_copied", "reading_copied") == ""
    other = module(tmp_path / "other", "reading_copied.py", OTHER)
    started[0] = started[0]._replace(environment=started[0].environment | {"PYTHONPATH": str(other)})
    assert unsure("reading_copied", "reading_copied") == WHY


@pytest.fixture
def two_archives(lake: Lake) -> Iterator[None]:
    """Functions earlier(s) and later(s): an archive was shipped between."""
    includes = lake.spark.sparkContext._python_includes
    assert includes is not None
    lake.spark.udf.register("earlier", F.udf(eval("lambda s: s", {"__name__": "__main__"}), "string"))
    includes.append("reading_archive.zip")
    lake.spark.udf.register("later", F.udf(eval("lambda s: s", {"__name__": "__main__"}), "string"))
    yield
    includes.remove("reading_archive.zip")


def test_functions_of_two_archives_in_one_operator(lake: Lake, two_archives: None) -> None:
    """Spark hands all archives to each of them: one that is asked alone loaded another module of a name."""
    for file in "ab":
        lake.file(file, {"s": [file], "y": [file]})
    lake.index(ValueList("s"), MinMax("y"))
    lake.check("earlier(s) = 'a'", read=["a"])
    lake.check("later(s) = 'a'", read=["a"])
    report = lake.check("earlier(s) = 'a' AND later(y) IS NOT NULL AND y < 'x'", read=["a", "b"])
    assert any("different environments, or archives" in note for note in report.notes)
    with pytest.raises(DataSkipError, match="is by Python functions with different environments, or archives"):
        lake.table().create_index(ValueList("earlier(s) || later(s)"))


@pytest.mark.parametrize("kind", ["pandas", "rows by Arrow"])
def test_a_null_of_the_small_side_of_a_join(lake: Lake, tmp_path: Path, kind: str) -> None:
    """Beside it pandas makes 1.0 of a 1, which was put to the function by itself."""
    pandas = F.pandas_udf(lambda k, s: k.astype(str) == s, "boolean")  # type: ignore[call-overload]
    rows = F.udf(lambda k, s: str(k) == s, "boolean", useArrow=True)
    lake.spark.udf.register("same_text", pandas if kind == "pandas" else rows)
    for s in ("1.0", "1", "x", "y"):
        lake.file(s, {"s": [s], "pad": [os.urandom(200_000).hex()]})
    lake.index(ValueList("s"))
    lake.view()
    pq.write_table(pa.table({"k": [1, None]}), tmp_path / "small")
    lake.spark.read.parquet(str(tmp_path / "small")).createOrReplaceTempView("reading_small")
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "0"}):
        lake.query("SELECT k, s, length(pad) FROM t JOIN reading_small ON same_text(k, s)")
    lake.spark.catalog.dropTempView("reading_small")
