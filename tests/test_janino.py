"""Java that ships with a package: compiled once, kept as Python keeps its own, and compiled anew for whatever is another."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway
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
    monkeypatch.setattr(janino, "_built_with", lambda gateway: [*built_with(gateway), "another jar"])
    assert says() == "one" and len(compiled) == 4


def test_what_it_is_built_with_holds_the_jars_of_spark(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    java, *jars = janino._built_with(gateway)
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


def test_another_jar_of_a_session_is_compiled_for_anew(spark: SparkSession, package: Path, says: Callable[[], str], tmp_path: Path) -> None:
    """What `spark.jars` and `spark.jars.packages` name is not on Java's class path; constants of their classes are copied into ours."""
    gateway: Any = spark.sparkContext._gateway
    thread, before = gateway.jvm.java.lang.Thread.currentThread(), gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    (package / "Example.java").write_text(SOURCE.replace("Other.", "library.Word."))
    (tmp_path / "library").mkdir()
    jar, urls = tmp_path / "a jar.jar", gateway.new_array(gateway.jvm.java.net.URL, 1)
    urls[0] = gateway.jvm.java.net.URL(jar.as_uri())
    for word in ("one", "another"):
        source = OTHER.replace("example", "library").replace("Other { ", "Word { public ").replace("one", word)
        (tmp_path / "library" / "Word.java").write_text(source)
        janino.load.__wrapped__(gateway, "library", ("Word.java",))
        (made,) = kept(tmp_path / "library")
        made.replace(jar)  # what is kept is a jar
        thread.setContextClassLoader(gateway.jvm.java.net.URLClassLoader(urls, before))
        try:
            assert says() == word
        finally:
            thread.setContextClassLoader(before)


def test_the_encoding_of_a_jvm_is_not_that_of_sources(spark: SparkSession, package: Path) -> None:
    """Java 17 has that of the place where it runs: ASCII in a container that sets none, and a letter without one there was kept as `?`."""
    (package / "spark" / "Other.java").write_text(OTHER.replace("one", "S\u00e3o"), "utf-8")
    property_: Any = spark.sparkContext._gateway.jvm.java.lang.System.getProperty
    ascii_ = ["-Dfile.encoding=US-ASCII", "-XX:TieredStopAtLevel=1"]
    java = str(Path(property_("java.home")) / "bin" / "java")
    gateway = JavaGateway.launch_gateway(classpath=property_("java.class.path"), javaopts=ascii_, java_path=java, die_on_exit=True)
    try:
        class_ = janino.load.__wrapped__(gateway, "example", SOURCES)
        assert class_.getMethod("says", None).invoke(None, None) == "S\u00e3o"
    finally:
        gateway.shutdown()


def test_a_clock_before_what_a_zip_can_say(
    package: Path, compiled: list[str], says: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zipfile.time.localtime", lambda _: time.gmtime(0))
    assert says() == says() == "one" and len(compiled) == 2
