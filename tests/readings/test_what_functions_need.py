"""What a further reader of functions found: what packages require, pickles within pickles, several environments, questions for nothing."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip.spark import installed
from data_skip.spark.python_code import code_of
from data_skip.spark.workers import Started
from tests.readings.test_code_of_functions import forget, install, packages, told_of
from tests.readings.test_workers import started
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
    installed.why_others.cache_clear()
    assert "unsure" not in told_of("reading_soup")
    described = tmp_path / "another" / "reading_l_xml-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Name: reading-l.xml\nVersion: 1.0\n")
    installed.why_others.cache_clear()
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
