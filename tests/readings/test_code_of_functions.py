"""What readers of Python functions found: code of which nobody knows what workers have, and errors that end them."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
import pytest
from pyspark import SparkContext, cloudpickle
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipError, ValueList
from data_skip.spark import installed, python_code
from data_skip.spark.pickled import Names
from data_skip.spark.python_code import Given
from data_skip.spark.workers import Worker, worker_of
from log_skip.extractors import Distinct, extractors
from tests.support import Lake, files_read


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that were installed a day ago."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    workers_look_in(str(folder), monkeypatch)
    yield folder
    forget()
    for name in [name for name in sys.modules if name.startswith("reading_")]:
        del sys.modules[name]


def workers_look_in(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is on the path of each Python of this machine."""

    def found(executable: str, context: SparkContext | None, given: Mapping[str, str] | None = None) -> Worker | None:
        worker = worker_of(executable, context, given)
        return None if worker is None else worker._replace(path=(*worker.path, folder))

    monkeypatch.setattr(python_code, "worker_of", found)


def told(*modules: str) -> dict[str, str]:
    context = SparkContext._active_spark_context
    named = python_code._Named(set(), python_code.worker_of(sys.executable, context), context)
    return python_code._told(Names(("", ""), frozenset(modules), *[frozenset[Any]()] * 3, False), named)


def forget() -> None:
    installed.installed.cache_clear()
    installed._distributions.cache_clear()


def as_if_edited_between_applications() -> None:
    """What was seen of vouched modules is forgotten, as by a driver that starts anew."""
    python_code._all_of.cache_clear()
    python_code._MET.clear()


def install(folder: Path, name: str, version: str, package: str, *requires: str) -> None:
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("\n".join([f"Name: {name}", f"Version: {version}", *map("Requires-Dist: {}".format, requires)]))
    (described / "RECORD").write_text(f"{package},sha256=x,1\n")
    (folder / package).parent.mkdir(parents=True, exist_ok=True)
    (folder / package).write_text("def found(x): return x\n")
    os.utime(described, (time.time() - 86_400,) * 2)
    forget()


def told_of(module: str) -> dict[str, str]:
    return python_code.code_of(bytes(CloudPickleSerializer().dumps((importlib.import_module(module).found, StringType()))))


def test_code_that_was_installed(lake: Lake, packages: Path) -> None:
    """By the versions of what was installed, and of what that requires, since Spark began or before; whatever the files' times say."""
    install(packages, "reading-one", "1.0", "reading_one/__init__.py", "reading-two >= 1", "reading-three ; extra == 'all'")
    install(packages, "reading-two", "1.0", "reading_two.py")
    install(packages, "reading-three", "1.0", "reading_three.py")
    first = told_of("reading_one")
    assert first.keys() == {"named"}
    for name in ("two", "three"):
        (packages / f"reading_{name}-1.0.dist-info").rename(packages / f"reading_{name}-1.1.dist-info")
        (packages / f"reading_{name}-1.1.dist-info" / "METADATA").write_text(f"Name: reading-{name}\nVersion: 1.1\n")
        assert told_of("reading_one") != first, "what it requires, or uses where it is there, is another one by now"
        forget()
        os.utime(packages / f"reading_{name}-1.1.dist-info", (time.time() - 86_400,) * 2)
        assert told_of("reading_one")["named"] != first["named"]
        first = told_of("reading_one")
    os.utime(packages / "reading_two-1.1.dist-info")
    forget()
    assert told_of("reading_one")["unsure"] == "package reading_one, which was installed since Spark began, or workers may find elsewhere"


def test_code_that_was_installed_in_odd_ways(lake: Lake, packages: Path) -> None:
    """Again under the same version; in editable form; and once more with what is shipped to workers."""
    install(packages, "reading-four", "1.0", "reading_four/__init__.py")
    record = packages / "reading_four-1.0.dist-info" / "RECORD"
    seen = set()
    for digest in ("A", "B"):
        record.write_text(f"reading_four/__init__.py,,\nreading_four/other.py,sha256={digest},1\n../bin/x,sha256={digest * 2},1\n")
        os.utime(record.parent, (time.time() - 86_400,) * 2)
        forget()
        seen.add(told_of("reading_four")["named"])
    assert len(seen) == 2
    record.write_text("reading_four/__init__.py,,\nreading_four/other.py,sha256=B,1\n../bin/x,sha256=another,1\n")
    os.utime(record.parent, (time.time() - 86_400,) * 2)
    forget()
    assert told_of("reading_four")["named"] in seen, "what names a place of this machine"
    includes = lake.spark.sparkContext._python_includes
    shipped = Path(str(lake.spark.sparkContext._jvm.org.apache.spark.SparkFiles.getRootDirectory())) / "reading_four"  # type: ignore[union-attr]
    shipped.mkdir()
    (shipped / "__init__.py").touch()
    assert includes is not None and "workers may find elsewhere" in told_of("reading_four")["unsure"]
    shutil.rmtree(shipped)
    (record.parent / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///x"}')
    forget()
    assert told_of("reading_four")["unsure"] == "module reading_four, of reading-four, which is installed in editable form"


def test_a_module_without_a_file(lake: Lake, packages: Path) -> None:
    """That of a namespace, and one that a package makes."""
    install(packages, "reading-spaced", "1.0", "reading_spaced/sub.py")
    importlib.import_module("reading_spaced.sub")
    assert "unsure" not in told("reading_spaced")
    sys.modules["reading_spaced.made"] = ModuleType("reading_spaced.made")
    assert "unsure" not in told("reading_spaced.made")


def test_code_of_many_names() -> None:
    """Whose steps are longer."""
    found: dict[str, Any] = {"__name__": "__main__"}
    many = "".join(f"    x.n{i} = {i + 1000}\n" for i in range(300))
    exec(f"def f(x):\n{many}    from json import dumps\n    import os.path as m\n    return dumps, m", found)
    assert "unsure" not in python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))


def test_a_vectorised_function_that_names_nothing() -> None:
    """It is given the objects of pandas all the same."""
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(s): return s.map({'a': 'x'}).astype(str)", found)
    command = bytes(CloudPickleSerializer().dumps((found["f"], StringType())))
    vectors = Given(vectors=True)
    assert python_code.code_of(command)["named"] != python_code.code_of(command, given=vectors)["named"]
    assert python_code.code_of(command, executable="./python", given=vectors)["unsure"].startswith("package pandas, which workers have")


def test_packages_of_another_python(tmp_path: Path) -> None:
    """Those of the driver say nothing of them."""
    found: dict[str, Any] = {"__name__": "__main__", "pa": pa}
    exec("def f(x): return pa.scalar(x)", found)
    command = bytes(CloudPickleSerializer().dumps((found["f"], StringType())))
    assert "unsure" not in python_code.code_of(command, "", sys.executable)
    link, another = tmp_path / "python", tmp_path / "another"
    link.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')  # as pyenv has it
    another.write_text("#!/bin/sh\nexit 1\n")
    for made in (link, another):
        made.chmod(0o755)
    assert "unsure" not in python_code.code_of(command, "", str(link))
    for other in (str(another), "./environment/bin/python"):
        assert python_code.code_of(command, "", other)["unsure"].startswith("package pyarrow, which workers have of a Python that cannot")
        assert "unsure" not in python_code.code_of(command, "pyarrow", other)


def test_a_class_of_a_notebook() -> None:
    """Workers keep it as it was sent last, by a number that it has in this application only."""
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("class Own:\n    LEAST = 1\ndef f(x): return x > Own.LEAST", found)
    code = python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert code["unsure"].startswith("a class of the notebook, which workers keep by a number")


def test_code_of_a_namespace(lake: Lake, packages: Path) -> None:
    """Several packages are in it, and none of them is it."""
    install(packages, "reading-space-a", "1.0", "reading_space/a.py")
    install(packages, "reading-space-b", "1.0", "reading_space/b.py")
    seen = {told_of("reading_space.b")["named"]}
    (packages / "reading_space_b-1.0.dist-info").rename(packages / "reading_space_b-1.1.dist-info")
    (packages / "reading_space_b-1.1.dist-info" / "METADATA").write_text("Name: reading-space-b\nVersion: 1.1\n")
    forget()
    assert told_of("reading_space.b")["named"] not in seen


def test_code_of_which_there_is_no_version(lake: Lake, packages: Path) -> None:
    (packages / "reading_copied.py").write_text("def found(x): return x\n")
    assert told_of("reading_copied")["unsure"] == "module reading_copied, of a package without a version"
    (packages / "reading_replaced.py").write_text(
        "import sys\ndef found(x): return x\nclass Own:\n    pass\n"
        "own = sys.modules[__name__] = Own()\nown.__name__ = __name__\nown.found = found\n"
    )
    assert told_of("reading_replaced")["unsure"] == "reading_replaced, which is no module"


@pytest.mark.parametrize("zipped", [False, True])
def test_all_of_a_package_that_is_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    """Also what it finds by itself, as functions that it registers; and a long chain of modules is no error."""
    package = tmp_path / "reading_whole"
    package.mkdir()
    (package / "__init__.py").write_text("import importlib\nfound = importlib.import_module('reading_whole.' + 'other').found\n")
    (package / "other.py").write_text("def found(x): return x\n")
    (package / "named.py").write_text("import reading_whole\ndef found(x): return reading_whole.found(x)\n")
    for i in range(1_200):
        (package / f"link_{i}.py").write_text("" if i == 0 else f"from reading_whole import link_{i - 1}\n")
    with (package / "named.py").open("a") as file:
        file.write("from reading_whole import link_1199\n")
    place = tmp_path
    if zipped:
        place = Path(shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "reading_whole"))
    monkeypatch.syspath_prepend(str(place))
    for i in range(1_200):
        importlib.import_module(f"reading_whole.link_{i}")
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_whole.named").found, StringType())))
    python_code._all_of.cache_clear()  # the other one's, of a moment ago
    try:
        before = python_code.code_of(command, "reading_whole")
        assert before.keys() == {"named"} and python_code.code_of(command, "reading_whole") == before
        (package / "other.py").write_text("def found(x): return x + 1\n")
        as_if_edited_between_applications()
        if zipped:
            shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "reading_whole")
        assert python_code.code_of(command, "reading_whole")["named"] != before["named"]
    finally:
        for name in [name for name in sys.modules if name.startswith("reading_whole")]:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("imports", "unsure"),
    [
        ("import json, os.path", ""),
        ("from os import path", ""),
        ("import numpy.linalg", ""),
        ("from reading_unknown import f", "module reading_unknown, which is imported as it runs"),
        ("from . import f", "what it imports from its own package"),
        ("from .statistics import f", "what it imports from its own package"),  # not that of Python's library
        ("import turtledemo.sorting_animate", ""),
        ("from reading_turtle import turtledemo", "module reading_turtle, which is imported as it runs"),
        ("import tests.support as own", "module tests.support"),
        ("from collections import abc, Counter", ""),
        ("import importlib", "what it loads by importlib"),
        ("__import__('tests')", "what it loads by __import__"),
        ("exec('import tests')", "what it loads by exec"),
        ("import sys; sys.modules['tests']", "what it loads by modules"),
        ("import pickle; pickle.loads(b'')", "what it loads by pickle"),
        ("from pyspark import cloudpickle", "what it loads by pyspark.cloudpickle"),
        ("from pyspark.serializers import CPickleSerializer", "what it loads by pyspark.serializers"),
        ("import builtins; builtins.eval('1')", "what it loads by eval"),
        ("class A: x = eval('1')", "what it loads by eval"),
        ("from sys import modules", "what it loads by modules"),
        ("import sys; sys.path.insert(0, '/x')", "what it loads by sys.path"),
        ("from sys import path", "what it loads by sys.path"),
        ("import sys, os; sys.stdout, os.sep", ""),
        ("from tests import support", "module tests"),
    ],
)
def test_what_code_imports_as_it_runs(lake: Lake, imports: str, unsure: str) -> None:
    """Code that crosses as it is, and the modules that it imports there; names that its module has are none of its own."""
    found: dict[str, Any] = {"__name__": "__main__", "__package__": "tests.readings"}
    exec(f"def f(x):\n    def inner():\n        {imports}\n    return inner", found)
    code = python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert code.get("unsure", "") == unsure


@pytest.mark.parametrize("reading", [cloudpickle.loads, pickle.loads], ids=["cloudpickle", "pickle"])
def test_a_pickle_within_a_pickle(reading: Callable[[bytes], object]) -> None:
    """As wrappers make them, it names what the outer one does not."""

    class Wrapper:
        def __reduce__(self) -> Any:
            return reading, (cloudpickle.dumps(code_of_this),)

    command = bytes(CloudPickleSerializer().dumps((Wrapper(), StringType())))
    assert python_code.code_of(command, "tests")["unsure"].startswith("what it loads by")


def code_of_this(x: object) -> object:
    return x


def test_a_name_of_the_library_that_another_module_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "turtledemo.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(x):\n    import turtledemo", found)
    code = python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert code["unsure"] == "module turtledemo, which is imported as it runs"


def test_a_function_that_holds_one_with_a_version() -> None:
    """Only what says of itself which version it is needs no more."""
    versioned = next(Distinct(each.function, each.version) for each in extractors() if each.function is not None)
    found: dict[str, Any] = {"__name__": "__main__", "versioned": versioned, "code_of_this": code_of_this}
    exec("def f(x): return versioned, code_of_this", found)
    code = python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))), "log_skip")
    assert code["unsure"] == f"module {__name__}"


def test_a_function_that_is_given_another_environment(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [8]})
    lake.file("b.parquet", {"x": [15]})
    environment = lake.spark.sparkContext.environment
    function = eval("lambda x: int(os.environ['READING_LEAST'] <= str(x))", {"__name__": "__main__", "os": os})
    try:
        environment["READING_LEAST"] = "8"
        lake.spark.udf.register("above", F.udf(function, "int"))
        lake.index(ValueList("above(x)"))
        lake.view()
        lake.check("above(x) = 1", read=["a.parquet"])
        environment["READING_LEAST"] = "1"
        lake.spark.udf.register("above", F.udf(function, "int"))
        lake.check("above(x) = 1", read=["a.parquet", "b.parquet"])
    finally:
        del environment["READING_LEAST"]


@pytest.mark.parametrize("type_", ["timestamp", "timestamp_ntz", "interval day to second"])
def test_times_are_others_to_pandas_beside_a_null(lake: Lake, type_: str) -> None:
    """Their parts are numbers with fractions then."""
    lake.file("a.parquet", {"x": ["2020-01-01"]})
    lake.spark.udf.register("as_year", F.pandas_udf(lambda t: t.astype(str), "string"))  # type: ignore[call-overload]
    start = "x::timestamp_ntz - timestamp_ntz'2019-01-01'" if type_.startswith("interval") else f"x::{type_}"
    with pytest.raises(DataSkipError, match="gives pandas whole numbers, booleans, times or nested values"):
        lake.index(ValueList(f"as_year({start})"))


def test_a_function_that_raises_an_error_for_null(lake: Lake, tmp_path: Path) -> None:
    """By each error Spark ends a worker, which imports all anew: it is asked of NULL once, and of the values at once."""
    called = tmp_path / "called"
    for name in ("a", "b", "c"):
        lake.file(name, {"s": [f"{name}{i}" for i in range(20)]})
    lake.file("null", {"s": pa.array([None], pa.string())})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec(
        "def measured(s):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return f'{s[0]}{len(s)}' if salt else ''",
        found,
    )
    lake.spark.udf.register("measured", F.udf(found["measured"], "string"))
    frame = lake.view()
    for asked_of_null in (True, False):
        called.write_text("")
        assert files_read(lake.skipping, frame.where("measured(s) = 'b2'"), lake.folder) == {"b", "null"}
        lines = called.read_text().splitlines()
        assert ("None" in lines) == asked_of_null and len(lines) < 200


def test_a_vectorised_function_that_raises_an_error_beside_null(lake: Lake, tmp_path: Path) -> None:
    """It is not asked again and again, each time for as long as it may take."""
    called = tmp_path / "called"
    for name in ("a", "b", "c"):
        lake.file(name, {"s": [f"{name}{i}" for i in range(20)]})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec(
        "def measured(s):\n    with open(called, 'a') as log: log.write('called\\n')\n"
        "    return s.map(lambda t: f'{t[0]}{len(t)}' if salt else '')",
        found,
    )
    lake.spark.udf.register("measured", F.pandas_udf(found["measured"], "string"))  # type: ignore[call-overload]
    frame = lake.view()
    counts = []
    for _ in range(2):
        called.write_text("")
        assert files_read(lake.skipping, frame.where("measured(s) = 'b2'"), lake.folder) == {"a", "b", "c"}
        counts.append(len(called.read_text().splitlines()))
    assert counts[1] < 3 < counts[0]  # a task of the first may still be ending
