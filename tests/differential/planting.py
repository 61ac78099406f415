"""Planting bugs: one line of data-skip is replaced by a plausible mistake, while the session runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from data_skip import collect, indexing, session
from data_skip.spark import jvm


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
def planted_java(spark: SparkSession, replacements: dict[str, list[tuple[str, str]]], folder: Path) -> Iterator[data_skip.Skipping]:
    """A new session whose shim is compiled from sources with some lines replaced."""
    for name in jvm.SOURCES:
        original = Path(str(files("data_skip.spark").joinpath(f"{name}.java")))
        (folder / f"{name}.java").write_text(original.read_text("utf-8"), "utf-8")
        for line, bug in replacements.get(name, ()):
            (folder / f"{name}.java").write_text(_replaced(folder / f"{name}.java", line, bug), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jvm, "files", lambda package: folder)
        patch.setattr(session, "shim", jvm.shim.__wrapped__)
        other = spark.newSession()
        skipping = data_skip.enable(other)
    try:
        yield skipping
    finally:
        data_skip.disable(other)


@contextmanager
def collecting_here(batch: int = 2) -> Iterator[None]:
    """Within, records are collected in this process, where bugs can be planted, from batches of a few rows."""

    def here(rows: DataFrame, *rest: Any) -> Any:
        return collect.collect(_InThisProcess(rows, batch), *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "collect", here)
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
