"""What a further reader of functions found: what packages require, pickles within pickles, several environments, questions for nothing."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark import SparkContext, cloudpickle
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipError, DataSkipWarning, MinMax, ValueList
from data_skip.spark import workers
from data_skip.spark.python_code import VOUCHED, Given, code_of
from data_skip.spark.workers import Started
from geo_skip import GeoBox
from tests.readings.test_code_of_functions import forget, install, packages, told_of
from tests.readings.test_workers import python, started
from tests.support import Lake

__all__ = ["packages", "started"]


def found_first(started: list[Started], folder: Path, module: str) -> None:
    """Has workers find another module of a name before all that is installed."""
    path = folder / "another" / module
    path.parent.mkdir(parents=True)
    path.write_text("def found(x): return x.upper()\n")
    started[0] = started[0]._replace(environment=started[0].environment | {"PYTHONPATH": str(folder / "another")})


@pytest.mark.parametrize("vouched", [False, True])
def test_what_a_package_requires_lies_elsewhere_for_workers(started: list[Started], packages: Path, tmp_path: Path, vouched: bool) -> None:
    """The package itself is the same; its results are those of another one."""
    install(packages, "reading-caller", "1.0", "reading_caller.py", "reading-called")
    install(packages, "reading-called", "1.0", "reading_called/__init__.py")
    (packages / "reading_caller.py").write_text("import reading_called\ndef found(x): return reading_called.found(x)\n")
    own = tmp_path / "reading_own.py"
    own.write_text("import reading_caller\ndef found(x): return reading_caller.found(x)\n")
    sys.path.append(str(tmp_path))
    try:
        name, told = ("reading_own", "reading_own") if vouched else ("reading_caller", "")
        command = bytes(CloudPickleSerializer().dumps((importlib.import_module(name).found, StringType())))
        assert "unsure" not in code_of(command, told)
        found_first(started, tmp_path, "reading_called.py")
        why = "package reading_caller, which requires reading_called, that workers may find elsewhere"
        assert code_of(command, told)["unsure"] == why
    finally:
        sys.path.remove(str(tmp_path))


def test_what_a_package_requires_lies_elsewhere_for_the_driver(lake: Lake, packages: Path, tmp_path: Path) -> None:
    install(packages, "reading-caller", "1.0", "reading_caller.py", "reading-called")
    install(packages, "reading-called", "1.0", "reading_called.py")
    assert "unsure" not in told_of("reading_caller")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "reading_called.py").write_text("def found(x): return x.upper()\n")
    sys.path.insert(0, str(tmp_path / "own"))
    try:
        sys.modules.pop("reading_called", None)
        forget()
        why = "module reading_caller, which requires reading_called, that would be found elsewhere than where packages are installed"
        assert told_of("reading_caller")["unsure"] == why
    finally:
        sys.path.remove(str(tmp_path / "own"))


def test_what_workers_alone_have_of_what_a_package_may_use(started: list[Started], packages: Path, tmp_path: Path) -> None:
    """`try: import lxml`: there it is used, and here it is not."""
    install(packages, "reading-soup", "1.0", "reading_soup.py", 'reading-l.xml; extra == "lxml"', 'typing; python_version < "3"')
    assert "unsure" not in told_of("reading_soup")
    found_first(started, tmp_path, "reading_l_xml.py")
    assert told_of("reading_soup")["unsure"] == "package reading_soup, which uses reading-l.xml, that workers alone have"
    (tmp_path / "another" / "reading_l_xml.py").unlink()
    assert "unsure" not in told_of("reading_soup")
    described = tmp_path / "another" / "reading_l_xml-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Name: reading-l.xml\nVersion: 1.0\n")
    assert told_of("reading_soup")["unsure"] == "package reading_soup, which uses reading-l.xml, that workers alone have"


@pytest.mark.parametrize(
    ("told", "editable"),
    [
        ('{"url":"file:///x","dir_info":{"editable":true}}', True),  # as uv writes it
        ('{"url": "file:///x", "dir_info": {\n "editable" : true }}', True),
        ('{"url": "file:///x", "dir_info": {}}', False),
        ('{"url": "https://x/y.whl", "archive_info": {"hash": "sha256=1"}}', False),
        ("{", True),
        ("[]", True),
    ],
)
def test_an_editable_package_however_that_is_written(lake: Lake, packages: Path, told: str, editable: bool) -> None:
    install(packages, "reading-edited", "1.0", "reading_edited.py")
    (packages / "reading_edited-1.0.dist-info" / "direct_url.json").write_text(told)
    assert ("editable form" in told_of("reading_edited").get("unsure", "")) is editable


def test_a_vouched_module_that_has_no_file(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program makes it as it runs: an edit of that one changes no file of it. A namespace has those of what is in it."""
    made = sys.modules["reading_made"] = ModuleType("reading_made")
    exec("def found(x): return x", made.__dict__)
    command = bytes(CloudPickleSerializer().dumps((made.__dict__["found"], StringType())))
    assert code_of(command, "reading_made")["unsure"] == "module reading_made, of which there is no file"
    del sys.modules["reading_made"]
    (tmp_path / "reading_spaces").mkdir()
    (tmp_path / "reading_spaces" / "one.py").write_text("def found(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_spaces.one").found, StringType())))
    assert "unsure" not in code_of(command, "reading_spaces")


@pytest.mark.parametrize("by", ["default", "closure", "constant", "bytearray", "twice"])
def test_a_pickle_that_a_function_holds_as_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    """Whatever the function calls may read it, and load what that names: no code that can be seen need do so."""
    (tmp_path / "reading_held.py").write_text("def found(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    inner = importlib.import_module("reading_held").found
    held: Any = cloudpickle.dumps(inner if by != "twice" else {"inner": cloudpickle.dumps(inner)})
    found: dict[str, Any] = {"__name__": "__main__", "held": bytearray(held) if by == "bytearray" else held}
    code = {
        "default": "def f(x, held=held): return x",
        "constant": f"def f(x):\n    def inner(): return {held!r}\n    return inner()",
        "closure": "def around(held):\n    def f(x): return held\n    return f\nf = around(held)",
    }
    exec(code.get(by, "def f(x): return held"), found)
    command = bytes(CloudPickleSerializer().dumps((found["f"], StringType())))
    assert code_of(command)["unsure"] == "module reading_held"
    assert "unsure" not in code_of(command, "reading_held")


@pytest.mark.parametrize(("held", "unsure"), [(b"\x80\x040.", True), (b"\x80\x04x.", False), (b"\x80\x040", False), (b"", False)])
def test_bytes_that_look_like_a_pickle(held: bytes, unsure: bool) -> None:
    found: dict[str, Any] = {"__name__": "__main__", "held": held}
    exec("def f(x): return held", found)
    told = code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert told.get("unsure", "") == ("what it loads by a pickle that it holds" if unsure else "")


@pytest.fixture
def two_environments(lake: Lake) -> Iterator[None]:
    """Functions above(x), whose threshold is 8, and always(x), which was given one of 1."""
    environment = lake.spark.sparkContext.environment
    for name, least, code in (("above", "8", "int(os.environ['READING_LEAST'] <= x)"), ("always", "1", "1")):
        environment["READING_LEAST"] = least
        one, many = (eval(f"lambda x: {each}", {"__name__": "__main__", "os": os}) for each in (code, f"x.map(lambda x: {code})"))
        lake.spark.udf.register(name, F.udf(one, "int"))
        lake.spark.udf.register(f"{name}_of_many", F.pandas_udf(many, "int"))  # type: ignore[call-overload]
    for file, x in (("a", "8"), ("b", "15")):
        lake.file(file, {"x": [x], "y": [x]})
    yield
    del environment["READING_LEAST"]


@pytest.mark.parametrize("of", ["", "_of_many"])
def test_functions_of_two_environments_in_one_operator(lake: Lake, two_environments: None, of: str) -> None:
    """Spark runs all in that of the first: neither the index, nor what a function gives alone, tells what it gives there."""
    lake.index(ValueList(f"above{of}(x)"), ValueList("x"), MinMax("y"))
    frame = lake.view()
    always, above = f"always{of}(x) = 1", f"above{of}(x) = 1"
    for where, read, mixed in (
        (above, 1, False),
        (f"{always} AND {above}", 2, True),
        (f"{above} AND {always}", 2, True),
        (f"always{of}(y) + above{of}(y) = 2", 2, True),
        (f"y = '15' AND {always} AND {above}", 1, True),
        (f"y = '8' AND {always}", 1, False),
    ):
        found = {row.x for row in frame.where(where).collect()}
        scan = lake.skipping.report().scans[0]
        assert scan.files_read == read
        assert any("given different environments" in note for note in scan.notes) is mixed
        lake.spark.conf.set("spark.data_skip.enabled", "false")
        try:
            assert found == {row.x for row in frame.where(where).collect()}
        finally:
            lake.spark.conf.set("spark.data_skip.enabled", "true")


def test_functions_of_two_environments_in_several_operators(lake: Lake, two_environments: None) -> None:
    """As functions of several kinds, each runs in its own there: and is asked by itself."""
    lake.index(ValueList("x"))
    frame = lake.view().where("above(x) = 1 AND always_of_many(x) = 1")
    assert [row.x for row in frame.collect()] == ["8"]
    assert lake.skipping.report().scans[0].files_read == 1


def test_indexes_of_functions_of_two_environments(lake: Lake, two_environments: None) -> None:
    """Each is collected by itself, also by a refresh; one of both is refused."""
    lake.index(ValueList("always(x)"), ValueList("above(x)"), MinMax("y"))
    snapshot = lake.table()._snapshot()
    assert snapshot is not None
    kept = str([definition.trees for definition in snapshot.definitions.values()])
    assert "environment" in kept and "READING_LEAST" not in kept, "variables may be secrets"
    lake.file("c", {"x": ["15"], "y": ["15"]})
    lake.table().refresh()
    lake.view()
    lake.check("above(x) = 1", read=["a"])
    lake.check("above(x) = 0", read=["b", "c"])
    for index in (ValueList("always(x) + above(x)"), GeoBox("always(x)", "above(x)")):
        with pytest.raises(DataSkipError, match="is by Python functions with different environments"):
            lake.table().create_index(index)


def test_the_zone_is_of_the_environment_that_a_function_was_given(lake: Lake) -> None:
    """Which is that of the context as it was made, not as it is by now."""
    environment = lake.spark.sparkContext.environment
    lake.spark.udf.register("whichever", F.udf(eval("lambda x: x", {"__name__": "__main__"}), "int"))
    lake.file("a", {"x": [8]})
    lake.file("b", {"x": [15]})
    lake.index(ValueList("whichever(x)"))
    lake.view()
    lake.check("whichever(x) = 8", read=["a"])
    environment["TZ"] = "Asia/Tokyo"
    try:
        lake.check("whichever(x) = 8", read=["a"])
    finally:
        del environment["TZ"]
    command, seen = bytes(CloudPickleSerializer().dumps((eval("lambda x: x", {"__name__": "__main__"}), StringType()))), set()
    for zone in ("Asia/Tokyo", "UTC"):
        seen.add(code_of(command, given=Given(variables={"TZ": zone}))["named"])
    assert len(seen) == 2


def test_which_python_workers_are(started: list[Started], tmp_path: Path) -> None:
    """The JVM looks for it where its own PATH says, and not that which it gives to workers."""
    for name in ("given", "own"):
        (tmp_path / name).mkdir()
        python(tmp_path / name, f"export PYTHONPATH=/of/{name}").rename(tmp_path / name / "python_of_reading")
    started[0] = started[0]._replace(places=str(tmp_path / "own"))
    worker = workers.worker_of("python_of_reading", SparkContext._active_spark_context, {"PATH": str(tmp_path / "given")})
    assert worker is not None and "/of/own" in worker.path


def test_where_a_python_of_workers_looks_for_data_skip(
    lake: Lake, started: list[Started], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder of the JVM, not in that of the driver."""
    context, asked = lake.spark.sparkContext, []
    started[0] = started[0]._replace(folder=str(tmp_path))
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["cwd"]) or run(*given, **named))
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path, "")))
    workers.python_without_data_skip(lake.spark)
    assert asked == [str(tmp_path)]


@pytest.mark.parametrize("why", ["python", "sql", "vouched"])
def test_one_index_whose_function_is_not_registered_here(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """It stopped refresh() of all others: so does one of which this session is not sure."""
    lake.file("a", {"s": ["a"]})
    spark, before = lake.spark, lake.spark.conf.get(VOUCHED)
    (tmp_path / "reading_vouched.py").write_text("def found(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    if why == "sql":
        spark.sql("CREATE TEMPORARY FUNCTION not_here(x STRING) RETURNS STRING RETURN concat(x, '1')")
    else:
        function = importlib.import_module("reading_vouched").found if why == "vouched" else eval("lambda s: s + '1'", {})
        spark.udf.register("not_here", F.udf(function, "string"))
    try:
        spark.conf.set(VOUCHED, "reading_vouched")
        spark.sparkContext.addPyFile(str(tmp_path / "reading_vouched.py"))
        lake.index(ValueList("not_here(s)"), MinMax("s"))
    finally:
        spark.conf.set(VOUCHED, before)
        spark.sparkContext._python_includes.clear()
    if why != "vouched":
        spark.sql("DROP TEMPORARY FUNCTION not_here")
    lake.file("b", {"s": ["b"]})
    with pytest.warns(DataSkipWarning, match=r"ValueList\(not_here\(s\)\): .*; so it is not used, and stays as it is"):
        report = lake.table().refresh()
    assert report.indexes == ["MinMax(s)"] and report.files_collected == 1
    lake.view()
    lake.check("s = 'b'", read=["b"])


def test_a_function_that_gains_nothing_beside_others(lake: Lake, tmp_path: Path) -> None:
    """It was asked again by each query by which anything else skipped files; and by no other, once it had gained nothing in an OR."""
    called = tmp_path / "called"
    for i in range(4):
        lake.file(f"{i}", {"s": [f"{i}{j}" for j in range(5)], "x": [10 * i + j for j in range(5)]})
    lake.index(ValueList("s"), MinMax("x"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec("def kept(s, t=salt):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return s and s[1:]", found)
    lake.spark.udf.register("kept", F.udf(found["kept"], "string"))
    frame = lake.view()
    values = 21  # and NULL
    for where, rows, asked, read in (
        ("x > 12 AND (kept(s) = '3' OR x = 100)", 12, values, 3),
        ("x > 12 AND (kept(s) = '3' OR x = 100)", 12, 0, 3),
        ("x > 13 AND kept(s) = '2'", 11, values, 3),
        ("x > 12 AND kept(s) = '2'", 12, 0, 3),  # as before, whatever the rest is compared with
        ("kept(s) = '9' OR x IN (1, 11, 21, 31)", 20, values, 4),
        ("kept(s) = '9' OR x IN (1, 11, 21, 31)", 20, 0, 4),
        ("kept(s) = '9'", 0, values, 0),
        ("x > 12 AND kept(s) = '9'", 0, values, 0),
        ("x > 12 AND kept(s) = '9'", 0, values, 0),
    ):
        called.write_text("")
        frame.where(where).collect()
        scan = lake.skipping.report().scans[0]
        assert (scan.files_read, len(called.read_text().splitlines())) == (read, rows + asked), where


@pytest.mark.parametrize("by", ["environment", "folder"])
def test_a_module_of_the_library_that_is_hidden_from_workers(started: list[Started], packages: Path, tmp_path: Path, by: str) -> None:
    """`statistics` lies where it should, and takes the `random` of a folder, as do packages."""
    install(packages, "reading-one", "1.0", "reading_one.py")
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(x):\n    import statistics\n    return statistics.mean(x)\ndef g(x): return x.upper()", found)
    of_library, of_nothing = (bytes(CloudPickleSerializer().dumps((found[name], StringType()))) for name in "fg")
    assert "unsure" not in code_of(of_library) and "unsure" not in told_of("reading_one")
    found_first(started, tmp_path, "random.py" if by == "environment" else "random/__init__.py")
    if by == "folder":
        started[0] = started[0]._replace(folder=str(tmp_path / "another"), environment=started[0].environment | {"PYTHONPATH": ""})
    why = "module random, which workers may find elsewhere than in Python's library"
    assert code_of(of_library)["unsure"] == told_of("reading_one")["unsure"] == why
    assert "unsure" not in code_of(of_nothing)


def test_a_folder_of_no_package_hides_nothing(started: list[Started], tmp_path: Path) -> None:
    """A project's own `email` or `test`."""
    (tmp_path / "another" / "random").mkdir(parents=True)
    (tmp_path / "another" / "os.py").write_text("")
    started[0] = started[0]._replace(folder=str(tmp_path / "another"))
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(x):\n    import random\n    return random.Random(x).random()", found)
    assert "unsure" not in code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))


def test_by_what_a_worker_computes(lake: Lake) -> None:
    """`math.exp` of another processor may end in another bit."""
    worker = workers.worker_of(sys.executable, lake.spark.sparkContext)
    assert worker is not None and worker.version.startswith(sys.version) and platform.machine() in worker.version.removeprefix(sys.version)
