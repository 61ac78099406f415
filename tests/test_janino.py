"""Java that ships with a package: compiled once, kept as Python keeps its own, and compiled anew for whatever is another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from data_skip.spark import janino

SOURCE = "package example; public final class Example { public static String says() { return Other.WORD; } }"
OTHER = 'package example; public final class Other { static final String WORD = "one"; }'
SOURCES = ("spark/Other.java", "Example.java")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python package `example` with Java sources, on a Python that writes what it has compiled."""
    folder = tmp_path / "example"
    (folder / "spark").mkdir(parents=True)
    (folder / "Example.java").write_text(SOURCE)
    (folder / "spark" / "Other.java").write_text(OTHER)
    monkeypatch.setattr(janino, "files", lambda package: tmp_path / package)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return folder


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled from then on."""
    found: list[str] = []
    compile_ = janino._compile

    def noted(gateway: Any, texts: dict[str, str], *rest: Any) -> None:
        found.extend(texts)
        compile_(gateway, texts, *rest)

    monkeypatch.setattr(janino, "_compile", noted)
    return found


@pytest.fixture
def says(spark: SparkSession) -> Callable[[], str]:
    gateway: Any = spark.sparkContext._gateway

    def says() -> str:
        class_ = janino.load.__wrapped__(gateway, "example", SOURCES)
        return str(class_.getMethod("says", None).invoke(None, None))

    return says


def kept(package: Path) -> list[Path]:
    return sorted(package.rglob("*.zip"))


def test_it_is_compiled_once(package: Path, compiled: list[str], says: Callable[[], str]) -> None:
    assert says() == "one"
    (place,) = kept(package)
    assert place.parent == package / "__pycache__" and place.name.startswith("Example.")
    assert compiled == [*SOURCES]
    assert says() == "one" and len(compiled) == 2
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_other_text_is_compiled_anew(package: Path, compiled: list[str], says: Callable[[], str]) -> None:
    assert says() == "one"
    (package / "spark" / "Other.java").write_text(OTHER.replace("one", "two"))
    assert says() == "two"
    assert len(compiled) == 4 and len(kept(package)) == 2
    (package / "spark" / "Other.java").write_text(OTHER)
    assert says() == "one" and len(compiled) == 4


def test_another_spark_is_compiled_for_anew(
    package: Path, compiled: list[str], says: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert says() == "one"
    built_with = janino._built_with
    monkeypatch.setattr(janino, "_built_with", lambda jvm: [*built_with(jvm), "another jar"])
    assert says() == "one" and len(compiled) == 4


def test_what_it_is_built_with_holds_the_jars_of_spark(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    java, *jars = janino._built_with(gateway.jvm)
    assert java and any("spark-catalyst" in name for name, *_ in jars)


@pytest.mark.parametrize("damage", ["cut", "another byte", "empty", "a folder"])
def test_what_is_damaged_is_compiled_anew(package: Path, compiled: list[str], says: Callable[[], str], damage: str) -> None:
    assert says() == "one"
    (place,) = kept(package)
    content = place.read_bytes()
    at = content.index(b"says")
    place.unlink()
    if damage == "a folder":
        place.mkdir()
    else:
        place.write_bytes({"cut": content[:-30], "another byte": content[:at] + b"S" + content[at + 1 :], "empty": b""}[damage])
    assert says() == "one" and len(compiled) == 4
    if damage != "a folder":
        assert says() == "one" and len(compiled) == 4, "it is kept again"


@pytest.mark.parametrize("how", ["told not to", "no room", "a zip"])
def test_where_nothing_can_be_written(
    package: Path, compiled: list[str], says: Callable[[], str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "told not to":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    elif how == "no room":
        (package / "__pycache__").write_text("no folder")
    else:
        monkeypatch.setattr(janino, "_place", lambda *_: None)
    assert says() == says() == "one"
    assert len(compiled) == 4 and kept(package) == []


def test_a_prefix_of_python_is_kept_to(package: Path, says: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    assert says() == "one"
    assert kept(package) == [] and len(kept(tmp_path / "elsewhere")) == 1


def test_few_versions_are_kept(package: Path, says: Callable[[], str]) -> None:
    for i in range(janino._KEPT + 3):
        (package / "spark" / "Other.java").write_text(OTHER.replace("one", f"{i}"))
        assert says() == f"{i}"
    assert len(kept(package)) == janino._KEPT
