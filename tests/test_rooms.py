"""The rooms: arrows between modules go down only, and there are no circles, imports for types included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from data_skip.spark.jvm import SOURCES
from data_skip.spark.statements import SOURCES as SOURCES_OF_SQL

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "data_skip"
CONTRACTS = {"errors", "data_types", "clause", "expression", "ask_spark", "footer", "sample", "index", "filters", "source_code"}
DOORS = {"", "functions", "session", "table", "by_index", "existing", "upkeep", "description", "sql", "notebook", "testing", "plugin"}
# From the ground.
FLOORS = ["html", "contracts", "pictures", "spark", "store", "files", "proofs", "indexes", "building", "planning", "doors", "cli"]


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, as `data_skip.spark.jvm`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if _file(inner) else str(node.module)


def _file(module: str) -> Path | None:
    package, *parts = module.split(".")
    folder = CORE if package == "data_skip" else ROOT / package
    found = [path for path in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")) if path.is_file()]
    return found[0] if found else None


def _room(module: str) -> str:
    name = module.removeprefix("data_skip").removeprefix(".")
    if name in CONTRACTS:
        return "contracts"
    room = name.split(".")[0]
    return "doors" if room in DOORS else room


def _modules(package: str, folder: Path) -> dict[str, set[str]]:
    graph = {}
    for path in folder.rglob("*.py"):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        graph[".".join(part for part in parts if part != "__init__")] = {name for name in imports(path) if _file(name)}
    return graph


CORE_MODULES = _modules("data_skip", CORE)


def test_arrows_between_rooms_go_down_only() -> None:
    up = [
        f"{module} -> {other}"
        for module, others in CORE_MODULES.items()
        for other in others
        if FLOORS.index(_room(other)) > FLOORS.index(_room(module))
    ]
    assert up == []


def test_no_circles() -> None:
    # `from data_skip import filters` names a module, not the package's __init__, in which all doors meet.
    tuple(TopologicalSorter(CORE_MODULES).static_order())


def test_no_circles_of_java() -> None:
    """The sources stand in order of use."""
    names = [Path(source).stem for source in (*SOURCES, *SOURCES_OF_SQL)]
    for i, source in enumerate((*SOURCES, *SOURCES_OF_SQL)):
        code = re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', " ", (CORE / source).read_text("utf-8"), flags=re.DOTALL)
        assert set(re.findall(r"\w+", code)) & set(names[i + 1 :]) - set(re.findall(r"[.\w]+\.(\w+);", code)) == set(), source


def test_only_the_spark_room_reaches_into_the_jvm() -> None:
    inside = ("py4j", "java_gateway", "sparkContext._", "._jdf", "._jsparkSession", "org.apache.spark.sql")
    for module in CORE_MODULES:
        path = _file(module)
        assert path is not None
        if _room(module) != "spark":
            assert [word for word in inside if word in path.read_text("utf-8").replace("What py4j asks", "")] == [], module


@pytest.mark.parametrize("package", ["geo_skip", "log_skip"])
def test_plugins_import_contracts_and_doors_only(package: str) -> None:
    for module, others in _modules(package, ROOT / package).items():
        rooms = {_room(other) for other in others if other.split(".")[0] == "data_skip"}
        assert rooms <= {"contracts", "doors"}, module
