"""What notebooks show of reports: all that is in them, as text and nothing else, in light and in dark, within 700 pixels."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from data_skip import Description, IndexReport, QueryReport, ScanReport, html
from data_skip.building.index_report import Ensured
from data_skip.planning.indicators import Indicators, Measured
from data_skip.planning.report import PredicateReport

EVIL = '<script>alert(\'x\')</script>"&<b onclick="x">'
VOID = {"br", "img", "hr", "meta"}


class Page(HTMLParser):
    """The elements and the text of a page; fails for an element that is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes.update(name for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data + " "


SCAN = ScanReport(
    f"file:/data/{EVIL}",
    files_total=1200,
    files_read=3,
    bytes_total=5_000_000,
    bytes_read=2048,
    rows_known=9000,
    rows_kept=12,
    files_unknown=1,
    clause=f"MinMax({EVIL}) admits (x > 1)",
    predicates=[PredicateReport(f"(x > '{EVIL}')", "MinMax(x) admits", 1197), PredicateReport("f(x)", why_not=f"no index {EVIL}")],
    notes=[f"a note {EVIL}"],
    errors=[f"an error {EVIL}"],
    milliseconds=1.25,
    contract=f"snapshot 7 {EVIL}",
)
SHOWN: list[Any] = [
    SCAN,
    QueryReport("7", [SCAN, SCAN]),
    QueryReport("7"),
    QueryReport(""),
    IndexReport(EVIL, [f"MinMax({EVIL})"], 12, 3, 4, 5, 6, 7, 8, 9, 1234, 0.5, {EVIL: EVIL}, EVIL, EVIL),
    Ensured(IndexReport(EVIL, [EVIL]), IndexReport("t", ["MinMax(x)"], 3)),
    Ensured(None, IndexReport("t", ["MinMax(x)"], 3)),
    Description(EVIL, EVIL, 3, 10, 9, [{"index": EVIL, "files": 9, "bytes": 4096, "problem": EVIL}]),
    Description(EVIL, EVIL, None, 10, 0, []),
    Measured(EVIL, {EVIL: Indicators(0.1, 0.5, 0.5)}, {EVIL: 0.9}),
    Measured(EVIL, {}, {}, [EVIL]),
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: type(shown).__name__)
def test_what_is_in_a_report_is_text(shown: Any) -> None:
    page = Page(shown._repr_html_())
    allowed = {"div", "style", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "span", "details", "summary"}
    assert set(page.elements) <= allowed
    assert page.attributes <= {"class", "style", "role", "aria-label", "title"}
    if EVIL in str(shown):
        assert EVIL in page.text


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: type(shown).__name__)
def test_all_numbers_of_the_text_are_shown(shown: Any) -> None:
    page = Page(shown._repr_html_())
    told = set(re.findall(r"\d[\d,.]*\d|\d", str(shown)))
    assert told <= set(re.findall(r"\d[\d,.]*\d|\d", page.text))


def test_light_and_dark_and_no_wider_than_700_pixels() -> None:
    text = SCAN._repr_html_()
    assert "max-width: 700px" in text and "overflow-wrap: anywhere" in text
    assert "prefers-color-scheme: dark" in text and "color: inherit" in text
    assert "http" not in text and "url(" not in text and "@import" not in text  # nothing is fetched


def test_cells() -> None:
    made = html.table(["a", "b"], [(1234, "<"), (None, html.code("x < 1"))])
    page = Page(made)
    assert page.text.split() == ["a", "b", "1,234", "<", "None", "x", "<", "1"]
    assert '<td class="number">1,234</td>' in made and "<code>x &lt; 1</code>" in made


@pytest.mark.parametrize(("part", "whole", "width"), [(1, 4, "25.0"), (0, 0, "0.0"), (5, 4, "100.0"), (-1, 4, "0.0")])
def test_bars_stay_within_their_frame(part: int, whole: int, width: str) -> None:
    assert f"width: {width}%" in html.bar(part, whole)
