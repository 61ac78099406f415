"""`report.save`: one file that needs nothing else, in light and in dark, without scripts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, MinMax, QueryReport, ScanReport, Skipping
from tests.notebook.test_html import EVIL, SCAN, Page
from tests.support import Lake

pytest.importorskip("matplotlib")
NAMES = r'xmlns(:\w+)?="http://www\.w3\.org/[^"]*"'  # of SVG, which nothing fetches


@pytest.fixture(scope="module")
def report(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> QueryReport:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("saving") / "table")
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [10 * i, 10 * i + 5], "y": [1.5 * i, 2.5], "s": ["<script>", None]})
    lake.index(MinMax("x"), MinMax("y"))
    lake.view("saved")
    spark.sql("SELECT * FROM saved a JOIN saved b ON a.y < b.y WHERE a.x > 21 AND b.y < 3 AND a.s <> '<script>alert()</script>'").collect()
    return skipping.report()


def test_a_page_that_needs_nothing_else(report: QueryReport, tmp_path: Path) -> None:
    path = report.save(tmp_path / "report.html")
    text = path.read_text("utf-8")
    page = Page(text)
    assert text.startswith("<!doctype html>") and '<meta charset="utf-8">' in text
    assert len(report.scans) == 2 and page.elements.count("svg") == 4  # of each scan its predicates and its files
    assert not {"script", "link", "iframe", "object", "img"} & set(page.elements) and not {"src", "onload"} & page.attributes
    assert not re.search("https?:|url\\((?!#)|@import", re.sub(NAMES, "", text))
    assert set(re.findall(r'xlink:href="(.)', text)) <= {"#"} and "&lt;script&gt;alert()" in text
    assert "color-scheme: light dark" in text and "CanvasText" in text and "currentColor" in text
    told = set(re.findall(r"\d[\d,.]*\d|\d", str(report)))
    assert told <= set(re.findall(r"\d[\d,.]*\d|\d", page.text))
    assert text == report.save(str(tmp_path / "again.html")).read_text("utf-8")


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    page = Page(SCAN_PAGE := SCAN.save(tmp_path / "scan.html").read_text("utf-8"))
    assert EVIL in page.text and page.text.count("no picture: no index of") == 1 and SCAN_PAGE.count("<svg") == 1
    empty = Page(QueryReport("").save(tmp_path / "empty.html").read_text("utf-8"))
    assert "no query with a WHERE over files has run" in empty.text and "svg" not in empty.elements
    assert "no picture" not in Page(ScanReport("t").save(tmp_path / "t.html").read_text("utf-8")).text


def test_without_matplotlib(report: QueryReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "data_skip.pictures.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(report.save(tmp_path / "report.html").read_text("utf-8"))
    assert page.text.count("pip install 'data-skip[plots]'") == 2 and "svg" not in page.elements


def test_a_place_where_nothing_can_be_written(report: QueryReport, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "report.html"):
        with pytest.raises(DataSkipError, match=r"the report cannot be written to '.*': .*; give the path of a file"):
            report.save(path)


def test_a_page_is_no_picture(report: QueryReport, tmp_path: Path) -> None:
    for name in ("report.pdf", "report.PNG"):
        with pytest.raises(
            DataSkipError, match=r"the report cannot be written to '.*': it is a page; give the path of a file as 'report.html'"
        ):
            report.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_a_text_that_no_encoding_has(tmp_path: Path) -> None:
    page = ScanReport("t", errors=["filter f: OSError: caf\udce9.txt"]).save(tmp_path / "t.html").read_text("utf-8")
    assert "filter f: OSError: caf?.txt" in page
