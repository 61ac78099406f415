"""Workers with another version of what collects records are told from those with the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import invalidate_caches, reload
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

from data_skip import DataSkipError, Index, MinMax, source_code
from data_skip.building.same_code import Code, OtherCode
from geo_skip import GeoBox

PLUGIN = "from data_skip import MinMax\n\nclass Own(MinMax):\n    pass\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of plugins, which may change between two looks at them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    forget()
    for name in [name for name in sys.modules if name.startswith("plugin_of_tests")]:
        del sys.modules[name]


def forget() -> None:
    for name in [name for name in source_code._loaded if name.startswith("plugin_of_tests")]:
        del source_code._loaded[name]
    source_code.home_of.cache_clear()
    invalidate_caches()


def own(module: str) -> Index:
    forget()
    found: ModuleType = __import__(module, fromlist=["Own"])
    index: Index = found.Own("x")
    return index


def test_what_is_the_same() -> None:
    code = Code.of([MinMax("x"), GeoBox("lat", "lng")])
    assert {"data_skip", "data_skip.building", "data_skip.indexes", "geo_skip"} < code.digests.keys()
    assert all(code.digests.values())
    code.check()


@pytest.mark.parametrize("name", ["plugin_of_tests.py", "plugin_of_tests/own.py"])
def test_a_plugin_that_differs(place: Path, name: str) -> None:
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(PLUGIN)
    module = name.removesuffix(".py").replace("/", ".")
    if "/" in name:
        (place / name).with_name("__init__.py").touch()
        (place / name).with_name("helper.py").write_text("x = 1\n")
    code = Code.of([own(module)])
    code.check()
    (place / name).write_bytes(PLUGIN.replace("\n", "\r\n").encode())
    forget()
    code.check()
    changed = (place / name).with_name("helper.py") if "/" in name else place / name
    changed.write_text("x = 2\n")
    forget()
    with pytest.raises(OtherCode, match="plugin_of_tests is not the same"):
        code.check()
    (place / name).unlink()
    if "/" not in name:
        del sys.modules["plugin_of_tests"]
        forget()
        with pytest.raises(ModuleNotFoundError, match="plugin_of_tests"):
            code.check()


def test_a_plugin_that_was_edited_since_it_was_loaded(place: Path) -> None:
    """Driver and workers read the same new file, of which the driver runs the old one."""
    file = place / "plugin_of_tests.py"
    file.write_text(PLUGIN)
    loaded = own("plugin_of_tests")
    Code.of([loaded])
    file.write_text(PLUGIN + "# edited\n")
    with pytest.raises(DataSkipError, match="plugin_of_tests has changed since it was loaded"):
        Code.of([loaded])
    with pytest.raises(DataSkipError, match="plugin_of_tests has changed since it was loaded"):
        Code.of([reload(sys.modules["plugin_of_tests"]).Own("x")])  # workers may have loaded the old one


def test_what_a_plugin_refers_to(place: Path) -> None:
    """Its helpers are of its code, whether or not they are in its package."""
    (place / "plugin_of_tests_helper.py").write_text("SIGN = 1\n")
    (place / "plugin_of_tests.py").write_text("from plugin_of_tests_helper import SIGN\n" + PLUGIN)
    loaded = own("plugin_of_tests")
    assert "plugin_of_tests_helper" in Code.of([loaded]).digests
    os.link(place / "plugin_of_tests.py", place / "linked.py")  # as package managers do, which changes nothing but a time
    Code.of([loaded])
    (place / "plugin_of_tests_helper.py").write_text("SIGN = -1\n")
    with pytest.raises(DataSkipError, match="plugin_of_tests_helper has changed since it was loaded"):
        Code.of([loaded])


def test_classes_that_cross_as_they_are() -> None:
    """Those of a notebook have no module that could be found."""
    of_a_notebook = type("Own", (MinMax,), {"__module__": "__main__"})
    of_nowhere = type("Own", (MinMax,), {"__module__": "made_up"})
    assert Code.of([of_a_notebook("x"), of_nowhere("x")]).digests.keys() == Code.of([MinMax("x")]).digests.keys()


@pytest.mark.parametrize("name", ["plugin_of_tests.py", "plugin_of_tests/own.py"])
def test_classes_that_are_sent_to_workers(place: Path, name: str) -> None:
    """As cloudpickle decides: what it sends need not be there."""
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(f"{PLUGIN}\n\ndef made():\n    class Local(MinMax):\n        pass\n    return Local('x')\n")
    module = name.removesuffix(".py").replace("/", ".")
    index = own(module)
    plain = Code.of([MinMax("x")]).digests.keys()
    assert Code.of([sys.modules[module].made()]).digests.keys() == plain
    assert Code.of([index]).digests.keys() == plain | {"plugin_of_tests"}
    register_pickle_by_value(sys.modules["plugin_of_tests"])
    try:
        assert Code.of([index]).digests.keys() == plain
    finally:
        unregister_pickle_by_value(sys.modules["plugin_of_tests"])


def test_classes_of_a_package_that_is_nowhere() -> None:
    of_nowhere = type("Own", (MinMax,), {"__module__": "made_up.below"})
    assert Code.of([of_nowhere("x")]).digests.keys() == Code.of([MinMax("x")]).digests.keys()


def test_what_a_class_of_a_notebook_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class crosses as it is, and what it names is the worker's own."""
    (place / "plugin_of_tests_helper.py").write_text("SIGN = 1\n")
    helper = __import__("plugin_of_tests_helper")
    code = "class Own(MinMax):\n    def collect(self, values):\n        return {'min': helper.SIGN}\n"
    found: dict[str, Any] = {"MinMax": MinMax, "helper": helper, "__name__": "__main__"}
    exec(code, found)
    monkeypatch.setattr(sys.modules["__main__"], "Own", found["Own"], raising=False)  # as it is there
    digests = Code.of([found["Own"]("x")]).digests
    assert "plugin_of_tests_helper" in digests and not any(name.startswith("pyarrow") for name in digests)


@pytest.mark.parametrize(
    "code",
    [
        "class Own(MinMax):\n    @staticmethod\n    def made(x): return helper.SIGN",
        "class Own(MinMax):\n    @property\n    def made(self): return helper.SIGN",
        "class Own(MinMax):\n    def made(self): return [helper.SIGN for _ in 'ab']",
        "class Own(MinMax):\n    def made(self):\n        def inner(): return helper.SIGN\n        return inner()",
        "def other(): return helper.SIGN\ndef another(): return other()\nclass Own(MinMax):\n    def made(self): return another()",
        "RULES = {'sign': helper}\nclass Own(MinMax):\n    def made(self): return RULES['sign'].SIGN",
        "class Rule:\n    helper = helper\nclass Own(MinMax):\n    def made(self): return Rule.helper.SIGN",
        "class Own(MinMax):\n    rules = (helper,)",
        "class Own(MinMax):\n    def made(self):\n        import plugin_of_tests_helper as own\n        return own.SIGN",
        "def around(given):\n    def made(self): return given.SIGN\n    return made\nclass Own(MinMax):\n    made = around(helper)",
    ],
)
def test_all_that_a_class_of_a_notebook_is_made_of(place: Path, code: str) -> None:
    (place / "plugin_of_tests_helper.py").write_text("SIGN = 1\n")
    found: dict[str, Any] = {"MinMax": MinMax, "helper": __import__("plugin_of_tests_helper"), "__name__": "__main__"}
    exec(code, found)
    assert "plugin_of_tests_helper" in Code.of([found["Own"]("x")]).digests


def test_a_module_that_is_loaded_by_its_place(place: Path) -> None:
    """Of a name that nothing else would find: to define an index there is no error."""
    (place / "own.py").write_text(PLUGIN)
    (place / ".#own.py").symlink_to(place / "nowhere")  # as an editor does
    spec = spec_from_file_location("plugin_of_tests_by_place.own", place / "own.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["plugin_of_tests_by_place.own"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert issubclass(module.Own, MinMax)


def test_a_plugin_whose_names_raise_errors(place: Path) -> None:
    """As proxies of what is not there yet: to define an index in such a module is none."""
    proxy = "class Proxy:\n    def __getattribute__(self, name):\n        raise RuntimeError('outside of a request')\n\nproxy = Proxy()\n"
    (place / "plugin_of_tests.py").write_text(proxy + PLUGIN)
    assert "plugin_of_tests" in Code.of([own("plugin_of_tests")]).digests
    assert type("Own", (MinMax,), {"__module__": "nowhere.at_all"}).__module__ == "nowhere.at_all"
