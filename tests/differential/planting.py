"""Planting bugs: one line of data-skip is replaced by a plausible mistake, while the session runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import data_skip
from data_skip.building import collect, direct, one_pass
from data_skip.building.file_records import Wanted
from data_skip.spark import janino, jvm
from tests.differential.truth import kept_files


@contextmanager
def planted(module_name: str, line: str, bug: str) -> Iterator[None]:
    """Within, the functions and constants of a module are those of its source with the line replaced, wherever they were imported."""
    module = import_module(module_name)
    changed = ModuleType(module_name)
    exec(compile(_replaced(Path(str(module.__file__)), line, bug), str(module.__file__), "exec"), vars(changed))
    undo: list[Callable[[], None]] = []
    try:
        for name, old in list(vars(module).items()):
            _swap(old, vars(changed).get(name), module_name, undo)
        assert undo, f"nothing of {module_name} changed"
        yield
    finally:
        for restore in undo:
            restore()


def _replaced(path: Path, line: str, bug: str) -> str:
    source = path.read_text("utf-8")
    assert source.count(line) == 1, f"{path.name} holds {source.count(line)} times: {line}\nif the line was rewritten, plant its bug anew"
    return source.replace(line, bug)


def _swap(old: Any, new: Any, module: str, undo: list[Callable[[], None]]) -> None:
    """Makes a thing behave as its changed twin; functions and constants keep their identity, so every importer sees the change."""
    if isinstance(old, FunctionType) and old.__module__ == module:
        if old.__code__ != new.__code__:
            code = old.__code__
            undo.append(lambda: setattr(old, "__code__", code))
            old.__code__ = new.__code__
    elif isinstance(old, type) and old.__module__ == module:
        for name, member in vars(old).items():
            _swap(_function(member), _function(vars(new).get(name)), module, undo)
    elif (
        isinstance(old, dict)
        and isinstance(new, dict)
        and old != new
        and not any(key.startswith("__") for key in old if isinstance(key, str))
    ):
        entries = dict(old)
        undo.append(lambda: (old.clear(), old.update(entries))[0])
        old.update(new)
    elif type(old).__module__ == module and hasattr(old, "__dict__") and repr(old) != repr(new):
        before = dict(vars(old))
        undo.append(lambda: vars(old).update(before))
        vars(old).update(vars(new))


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


@contextmanager
def planted_java(
    spark: SparkSession, replacements: dict[str, list[tuple[str, str]]], folder: Path
) -> Iterator[tuple[SparkSession, Callable[[DataFrame, str], set[str]]]]:
    """A new session whose shim is compiled from sources with some lines replaced, and what that keeps of a DataFrame for a predicate.

    It works in a thread of its own: py4j caches methods by class name for each thread, and these classes have the names of others.
    """
    for source in jvm.SOURCES:
        copy = folder / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(files("data_skip").joinpath(source).read_text("utf-8"), "utf-8")
        for line, bug in replacements.get(copy.stem, ()):
            copy.write_text(_replaced(copy, line, bug), "utf-8")
    session_, patch = spark.newSession(), pytest.MonkeyPatch()
    with ThreadPoolExecutor(1) as thread:
        try:
            patch.setattr(janino, "files", lambda package: folder)
            patch.setattr(jvm, "load", janino.load.__wrapped__)
            patch.setattr(jvm, "shim", jvm.shim.__wrapped__)
            skipping = thread.submit(data_skip.enable, session_).result()
            yield session_, lambda frame, predicate: thread.submit(kept_files, skipping, frame, predicate).result()[0]
        finally:
            patch.undo()
            thread.submit(data_skip.disable, session_).result()


@contextmanager
def collecting_here(batch: int = 2) -> Iterator[None]:
    """Within, records are collected in this process, where bugs can be planted, from batches of a few rows."""

    def here(rows: DataFrame, *rest: Any) -> Any:
        return collect.collect(_InThisProcess(rows, batch), *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_pass, "collect", here)
        patch.setattr(direct, "wanted", lambda *_: (Wanted([], [], {}), ""))
        yield


class _InThisProcess:
    """As much of a DataFrame as `collect` uses."""

    def __init__(self, rows: DataFrame, batch: int) -> None:
        self.rows, self.batch, self.found = rows, batch, []

    def mapInArrow(self, function: Callable[..., Any], schema: str) -> _InThisProcess:
        batches = iter(self.rows.toArrow().to_batches(max_chunksize=self.batch))
        self.found = [row for made in function(batches) for row in made.to_pylist()]
        return self

    def collect(self) -> list[dict[str, Any]]:
        return self.found
