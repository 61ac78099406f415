"""docs/operations.md: it names each warning and error of the store, and what it says of moving and deleting is so."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax
from tests.support import Lake

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "operations.md").read_text("utf-8").replace("\\|", "|").split())
_LEAST = 12  # characters of a text that are worth looking for


def fragments(node: ast.AST) -> list[str]:
    """The literal parts of a text, where it is one."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [text.strip(" ;:(,)") for whole in texts for text in re.split(r"%s|\n", whole)]


def texts(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The texts of warnings, of what `refresh` warns of, and of the store's errors: the literal parts of each."""
    tree = ast.parse(path.read_text("utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        named = {t.id: a.value for a in ast.walk(function) if isinstance(a, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
        for node in ast.walk(function):
            told: ast.AST | None = None
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "log.warning", "StoreError"):
                told = node.args[0]
            elif isinstance(node, ast.Return) and function.name == "usable":
                told = node.value
            if isinstance(told, ast.Name):
                told = named.get(told.id)
            if told is not None and any(len(part) >= _LEAST for part in fragments(told)):
                yield node.lineno, fragments(told)


def test_each_warning_and_error_is_on_the_page() -> None:
    found, missing = 0, []
    for folder in ("core", "geo_skip", "log_skip"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, parts in texts(path):
                found += 1
                missing += [f"{path.name}:{line}: {part}" for part in [max(parts, key=len)] if part not in PAGE]
    assert not missing, "docs/operations.md does not name:\n" + "\n".join(missing)
    assert found >= 16


@pytest.mark.long
def test_moving_and_deleting(lake: Lake, spark: SparkSession, tmp_path: Path) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    location = Path(lake.index(MinMax("x")).describe().location)
    assert location == lake.folder / ".data_skip/_/_/_"

    def reads(expected: int) -> None:
        lake.skipping.catalog.forget()
        lake.view()
        lake.check("x = 1", read=[f"{i}.parquet" for i in ([1] if expected == 1 else range(3))])

    shutil.copytree(lake.folder, tmp_path / "copied")  # which keeps times, as cp -a
    shutil.copytree(location, tmp_path / "backup")
    lake.folder = tmp_path / "copied"
    reads(1)
    lake.table().drop_index(MinMax("x"))
    reads(3)
    place = lake.folder / ".data_skip/_/_/_"
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "backup", place)  # rolled back
    reads(1)
    shutil.rmtree(lake.folder / ".data_skip")
    reads(3)
    shutil.copytree(tmp_path / "backup", lake.folder / "_data_skip")  # of an earlier version
    reads(1)
    (lake.folder / ".data_skip/_/_").mkdir(parents=True)
    (lake.folder / "_data_skip").rename(place)
    reads(1)
    session = spark.newSession()
    for setting in ("spark.sql.parquet.filterPushdown", "spark.sql.session.timeZone"):
        session.conf.set(setting, spark.conf.get(setting))
    skipping = data_skip.enable(session, index_root=str(tmp_path / "root"))
    try:
        elsewhere = Path(skipping.table(str(lake.folder)).describe().location)
        assert elsewhere.parent == tmp_path / "root"
        assert len(skipping.table(str(lake.folder)).files("x = 1")) == 3  # an index beside the data is not looked at
        shutil.copytree(place, elsewhere)
        shutil.rmtree(lake.folder / ".data_skip")
        skipping.catalog.forget()
        assert len(skipping.table(str(lake.folder)).files("x = 1")) == 1
    finally:
        data_skip.disable(session)
    for path in lake.folder.glob("*.parquet"):
        path.touch()  # as a copy that gives new times
    reads(3)
