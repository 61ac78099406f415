"""What a reader of functions found who asked what Spark's workers run, and where they look: not what the driver does."""

from __future__ import annotations

import importlib
import os
import sys
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipWarning, MinMax, ValueList
from data_skip.spark import python_code, workers
from data_skip.spark.python_code import Given, code_of
from data_skip.spark.workers import Started, started_by
from tests.readings.test_code_of_functions import as_if_edited_between_applications, install, packages, told_of
from tests.support import Lake, files_read

__all__ = ["packages"]

ELSEWHERE = "workers may find elsewhere"


@pytest.fixture
def started(lake: Lake) -> Iterator[list[Started]]:
    """How Spark's workers are started, to be changed."""
    context = lake.spark.sparkContext
    before = started_by(context)
    changed = [before]

    class Changed(dict):  # type: ignore[type-arg]
        def __getitem__(self, _: Any) -> Started:
            return changed[0]

    kept, workers._STARTED = workers._STARTED, Changed({context: before})  # type: ignore[assignment]
    yield changed
    workers._STARTED = kept


def another(folder: Path, module: str) -> Path:
    """A folder that holds another module of a name."""
    path = folder / "another" / module
    path.parent.mkdir(parents=True)
    path.write_text("def found(x): return x.upper()\n")
    return folder / "another"


@pytest.mark.parametrize("by", ["environment", "folder", "wrapper"])
@pytest.mark.parametrize("module", ["reading_one/__init__.py", "reading_space/text.py", "reading_space/text/__init__.py"])
def test_what_workers_find_elsewhere(
    started: list[Started], packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, module: str
) -> None:
    """By the JVM's environment, in the folder in which it was started, by a script that starts Python; also a part of a namespace."""
    install(packages, "reading-one", "1.0", module.replace("text/__init__", "text"))
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert "unsure" not in told_of(name)
    other = another(tmp_path, module)
    if by == "environment":
        started[0] = started[0]._replace(environment=started[0].environment | {"PYTHONPATH": str(other)})
    elif by == "folder":
        started[0] = started[0]._replace(folder=str(other))
    else:
        wrapper = python(tmp_path, f"export PYTHONPATH={other}:$PYTHONPATH")
        monkeypatch.setattr(sys, "executable", str(wrapper))
        command = bytes(CloudPickleSerializer().dumps((importlib.import_module(name).found, StringType())))
        assert ELSEWHERE in code_of(command, "", str(wrapper))["unsure"]
        return
    assert ELSEWHERE in told_of(name)["unsure"]


def python(folder: Path, first: str, last: str = "") -> Path:
    """A script that starts this Python."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\n{first}\n{"" if last else "exec "}{sys.executable} "$@" {last}\n')
    script.chmod(0o755)
    return script


def test_what_the_driver_alone_was_told_of(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of packages on its path is on that of no worker."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    install(folder, "reading-inserted", "1.0", "reading_inserted.py")
    try:
        assert ELSEWHERE in told_of("reading_inserted")["unsure"]
    finally:
        sys.modules.pop("reading_inserted")


def pickled(code: str) -> bytes:
    return bytes(CloudPickleSerializer().dumps((eval(code, {"__name__": "__main__", "os": os}), StringType())))


def test_the_zone_and_the_version_are_those_of_workers(tmp_path: Path) -> None:
    """A function of a time is given it in the zone of its process; a patch of Python changes what its library gives."""
    command = pickled("lambda x: os.path.basename(x)")
    seen = {code_of(command)["named"]}
    zone = python(tmp_path, "export TZ=Asia/Tokyo")
    seen.add(code_of(command, executable=str(zone))["named"])
    seen.add(code_of(pickled("lambda x: x.upper()"), executable=str(zone))["named"])
    (tmp_path / "2").mkdir()
    patch = python(tmp_path / "2", "", "| sed 's/^.\"3[.]/[\"3.9./'")
    found = code_of(command, executable=str(patch))
    assert "unsure" not in found
    assert len(seen | {found["named"]}) == 3
    nobody = str(tmp_path / "nobody")
    assert code_of(command, executable=nobody)["unsure"].startswith("module os of Python's library, which workers have of a Python")
    assert "unsure" not in code_of(command, "os", nobody)
    assert "unsure" not in code_of(pickled("lambda x: x"), executable=nobody)
    assert code_of(pickled("lambda x: x"), executable=nobody, given=Given(times=True))["unsure"].startswith("times in the zone of workers")


def test_another_python_of_the_session(lake: Lake, tmp_path: Path) -> None:
    """A setting of the session goes before what a function was made with."""
    for i in range(3):
        lake.file(f"{i}", {"at": pa.array([datetime(2020, 1, i + 1, 12, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    lake.spark.udf.register("day", F.udf(lambda at: at.day, "int"))
    lake.index(ValueList("day(at)"))
    frame = lake.view()
    assert files_read(lake.skipping, frame.where("day(at) = 2"), lake.folder) == {"1"}
    lake.spark.conf.set("spark.sql.execution.pyspark.python", str(python(tmp_path, "export TZ=Pacific/Kiritimati")))
    try:
        lake.check("day(at) = 2", read=["0", "1", "2"])
    finally:
        lake.spark.conf.unset("spark.sql.execution.pyspark.python")
    lake.check("day(at) = 2", read=["1"])


def test_other_modules_of_workers(started: list[Started]) -> None:
    started[0] = started[0]._replace(modules={"spark.python.worker.module": "reading_worker"})
    assert code_of(pickled("lambda x: x"))["unsure"] == "workers of spark.python.worker.module=reading_worker"
    assert "unsure" not in code_of(pickled("lambda x: x"), "reading_worker")


def test_what_the_driver_happens_to_have_loaded(lake: Lake, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index was made by a job that had loaded more of a package, and used by no other."""
    install(packages, "reading-late", "1.0", "reading_late.py")
    install(packages, "reading-etl", "1.0", "reading_library.py")
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(x):\n    import reading_late\n    return reading_late.found(x)", found)
    command = bytes(CloudPickleSerializer().dumps((found["f"], StringType())))
    before = code_of(command)
    importlib.import_module("reading_late")
    assert code_of(command) == before and "unsure" not in before

    package = tmp_path / "reading_own"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "text.py").write_text("client = None\ndef found(x): return x\n")
    (package / "etl.py").write_text("import reading_library\nfrom . import text\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = importlib.import_module("reading_own.text")
    command = bytes(CloudPickleSerializer().dumps((own.found, StringType())))
    before = code_of(command, "reading_own")
    importlib.import_module("reading_own.etl")
    own.client = sys.modules["reading_library"].found
    assert code_of(command, "reading_own") == before and "unsure" not in before
    (packages / "reading_etl-1.0.dist-info" / "METADATA").write_text("Name: reading-etl\nVersion: 1.1\n")
    python_code.installed.cache_clear()
    assert code_of(command, "reading_own")["named"] != before["named"], "another module of the package imports it"


def test_a_package_is_looked_through_once(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was for each call of a function that a query names."""
    looked, whole = [], python_code.whole
    monkeypatch.setattr(python_code, "whole", lambda name: looked.append(name) or whole(name))
    monkeypatch.setattr(python_code, "_SECONDS", 1e9)
    python_code._all_of.cache_clear()
    lake.file("a", {"s": ["a"]})
    lake.index(MinMax("s"))
    lake.spark.udf.register("found_here", F.udf(found_here, "string"))
    lake.view().where(" OR ".join(f"found_here(s) = '{i}'" for i in range(10))).collect()
    assert looked and len(looked) == len(set(looked))
    python_code._all_of.cache_clear()


def found_here(x: str) -> str:
    return x


def test_a_function_that_raised_errors_of_another_column(lake: Lake) -> None:
    """It was asked of none again, as long as Spark ran."""
    for i in range(12):
        lake.file(f"{i:02}", {"good": [str(10 * i + j) for j in range(5)], "bad": [f"x{10 * i + j}" for j in range(5)]})
    lake.index(ValueList("good"), ValueList("bad"))
    found: dict[str, Any] = {"__name__": "__main__", "salt": os.urandom(4)}
    exec("def as_number(x): return int(x) if salt else 0", found)
    lake.spark.udf.register("as_number", F.udf(found["as_number"], "int"))
    frame = lake.view()
    assert files_read(lake.skipping, frame.where("as_number(good) = 31"), lake.folder) == {"03"}
    with pytest.raises(Exception, match="invalid literal"):
        frame.where("as_number(bad) = 31").collect()
    assert files_read(lake.skipping, frame.where("as_number(good) = 42"), lake.folder) == {"04"}


def test_a_function_by_which_nothing_is_gained(lake: Lake, tmp_path: Path) -> None:
    """It was asked of all values by each query, for as long as it took."""
    called = tmp_path / "called"
    for i in range(4):
        lake.file(f"{i}", {"s": [f"{i}{j}" for j in range(5)]})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec("def kept(s, t=salt):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return s and s[1:]", found)
    lake.spark.udf.register("kept", F.udf(found["kept"], "string"))
    frame = lake.view()
    counts = []
    for where in ("kept(s) = '3'", "kept(s) = '3'", "kept(s) = '9'", "kept(s) = '9'"):
        called.write_text("")
        frame.where(where).collect()
        counts.append(len(called.read_text().splitlines()))
        assert lake.skipping.report().scans[0].files_read == (4 if "3" in where else 0)
    assert counts == [41, 20, 21, 21]  # 20 values, and NULL; 20 rows


def test_what_was_installed_for_another(lake: Lake, packages: Path) -> None:
    """It is used by whoever finds it; and of what has no list of its files nobody knows whether it is the same."""
    install(packages, "reading-soup", "1.0", "reading_soup.py", 'reading-lxml; extra == "lxml"')
    before = told_of("reading_soup")["named"]
    install(packages, "reading-lxml", "1.0", "reading_lxml.py")
    after = told_of("reading_soup")
    assert after["named"] != before and "unsure" not in after
    (packages / "reading_lxml-1.0.dist-info" / "RECORD").unlink()
    python_code.installed.cache_clear()
    assert "installed without a list of its files" in told_of("reading_soup")["unsure"]


def test_values_of_a_type_that_a_user_has_defined(lake: Lake) -> None:
    """Code makes them that the pickle does not name."""
    tree = {
        "name": "PythonUDF",
        "type": "string",
        "parameters": {"evalType": 100, "executable": sys.executable, "command": b64encode(pickled("lambda x: x")).decode()},
        "children": [{"name": "AttributeReference", "type": "array<udt PythonUserDefinedType>"}],
    }
    told = python_code.with_code(tree, "")["parameters"]
    assert told["unsure"] == "values of a user-defined type, which code makes that its pickle does not name"
    tree["children"] = [{"name": "AttributeReference", "type": "string"}]
    assert "unsure" not in python_code.with_code(tree, "")["parameters"]


def test_what_a_module_keeps_in_containers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reading_rules.py").write_text("def rule(x): return x\n")
    (tmp_path / "reading_ruled.py").write_text(
        "import importlib\nRULES = {'a': [(importlib.import_module('reading_rules').rule,)]}\nRULES['all'] = RULES\n"
        "def found(x): return RULES\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_ruled").found, StringType())))
    assert code_of(command, "reading_ruled")["unsure"] == "module reading_rules"
    assert "unsure" not in code_of(command, "reading_ruled,reading_rules")


def test_all_that_a_vouched_package_can_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that are compiled, without source, and in folders that are links; and a folder that is linked in a circle."""
    (tmp_path / "shared").mkdir()
    rules = tmp_path / "shared" / "rules.py"
    rules.write_text("def rule(x): return x\n")
    package = tmp_path / "reading_linked"
    package.mkdir()
    (package / "__init__.py").write_text("def found(x): return x\n")
    (package / "linked").symlink_to(tmp_path / "shared")
    (package / "again").symlink_to(package)
    compiled = package / f"fast{EXTENSION_SUFFIXES[0]}"
    compiled.write_bytes(b"1")
    (package / "alone.pyc").write_bytes(b"1")
    monkeypatch.syspath_prepend(str(tmp_path))
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_linked").found, StringType())))
    seen = [code_of(command, "reading_linked")]
    for file in (rules, compiled, package / "alone.pyc"):
        file.write_bytes(file.read_bytes() + b"2\n")
        as_if_edited_between_applications()
        seen.append(code_of(command, "reading_linked"))
    assert all(told.keys() == {"named"} for told in seen) and len({told["named"] for told in seen}) == 4


def test_one_index_whose_function_is_another_one_here(lake: Lake) -> None:
    """It stopped refresh() of all others, until a person came."""
    lake.file("a.parquet", {"s": ["a"]})
    lake.spark.udf.register("other_here", F.udf(lambda s: s + "1", "string"))
    lake.index(ValueList("other_here(s)"), MinMax("s"))
    lake.spark.udf.register("other_here", F.udf(lambda s: s + "2", "string"))
    lake.file("b.parquet", {"s": ["b"]})
    with pytest.warns(DataSkipWarning, match=r"ValueList\(other_here\(s\)\) is not used: it was collected when .*; drop_index"):
        report = lake.table().refresh()
    assert report.indexes == ["MinMax(s)"] and report.files_collected == 1
    lake.check("s = 'b'", read=["b.parquet"])
    lake.check("other_here(s) = 'b2'", read=["b.parquet"])
    lake.check("other_here(s) = 'b1'", read=[])


def test_a_python_that_did_not_answer_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cold file system: it was taken for one that cannot be started, as long as the process lived."""
    moment = [1000.0]
    monkeypatch.setattr(workers, "monotonic", lambda: moment[0])
    script = tmp_path / "python"
    assert workers.worker_of(str(script), None) is None
    python(tmp_path, "")
    assert workers.worker_of(str(script), None) is None
    moment[0] += 61
    assert workers.worker_of(str(script), None) is not None


def test_what_a_vouched_package_that_is_installed_imports(lake: Lake, packages: Path) -> None:
    install(packages, "reading-outer", "1.0", "reading_outer.py")
    install(packages, "reading-inner", "1.0", "reading_inner.py")
    (packages / "reading_outer.py").write_text("from reading_inner import found\n")
    command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_outer").found, StringType())))
    assert "unsure" not in code_of(command, "reading_outer")
    (packages / "reading_inner-1.0.dist-info" / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///x"}')
    python_code.installed.cache_clear()
    assert "editable form" in code_of(command, "reading_outer")["unsure"]
    assert "unsure" not in code_of(command, "reading_outer,reading_inner")


def test_what_is_sent_is_found_before_all_else(lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where a Python of workers is asked whether it has data_skip, which may be what is sent."""
    context, asked = lake.spark.sparkContext, []
    monkeypatch.setattr(context, "_python_includes", ["first.zip", "second.zip"])
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path, "")))
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["env"]) or run(*given, **named))
    assert workers.python_without_data_skip(lake.spark) is None
    files = started_by(context).files
    sent = [f"{files}/second.zip", f"{files}/first.zip", files]
    assert asked[0]["PYTHONPATH"].split(os.pathsep)[:3] == sent
    worker = workers.worker_of(sys.executable, context)
    assert worker is not None and [*worker.path[1:4]] == sent
