"""docs/not-skipping.md has each sentence by which a report, EXPLAIN or `create_index` says why something is not skipped, or not known."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "data_skip"
PAGES = [ROOT / "docs" / name for name in ("not-skipping.md", "operations.md")]  # the second has warnings: tests/test_operations.py
PAGE = " ".join(" ".join(page.read_text("utf-8").replace("\\|", "|") for page in PAGES).split())
SPEAKING = (
    *(path for path in sorted((CORE / "planning").glob("*.py")) if path.name not in ("indicators.py", "pictured.py")),
    *(CORE / path for path in ("store/reader.py", "proofs/steady.py", "proofs/ranges.py", "building/index_report.py")),
    *(CORE / "spark" / "plans" / f"{name}.java" for name in ("Contracts", "Repeatable", "RuntimeFilter", "RuntimeFilters", "SmallSide")),
    *(
        CORE / "spark" / "files" / f"{name}.java"
        for name in ("AskedScan", "CatalogPartitions", "SkippingFileIndex", "SnapshotFileIndex", "SnapshotFiles", "SnapshotVersion")
    ),
    CORE / "spark" / "UserSettings.java",
)
WORDS = 3  # of a literal part of a sentence that is looked for


def sentences(path: Path) -> Iterator[str]:
    """The literal parts of the texts in a source file."""
    source = path.read_text("utf-8")
    if path.suffix == ".java":
        yield from re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"/\*.*?\*/|^\s*//.*?$", "", source, flags=re.DOTALL | re.MULTILINE))
        return
    tree = ast.parse(source)
    for node in ast.walk(tree):  # docstrings, and what stands in sources for regular expressions
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_each_sentence_is_on_the_page() -> None:
    found = {
        (path.name, part.strip(" ;:(,)."))
        for path in SPEAKING
        for text in sentences(path)
        for part in re.split(r"\\n|\n|%s", text)
        if len(re.findall(r"[A-Za-z]{2,}", part)) >= WORDS and " " in part.strip()
    }
    missing = sorted(f"{name}: {part}" for name, part in found if part not in PAGE)
    assert not missing, f"docs/not-skipping.md lacks {len(missing)} of {len(found)}:\n" + "\n".join(missing)
    assert len(found) > 90
