"""Pictures: which boxes are on them, which of these are read, where a match can be; and what cannot be drawn."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, MinMax, QueryReport, ScanReport, Skipping, Suffix
from data_skip.pictures.boxes import Boxes, Scale, Side
from geo_skip import GeoBox
from tests.support import Lake

drawing = pytest.importorskip("data_skip.pictures.drawing")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Nine files in a square of three by three, each 8 wide and high, 10 apart; and one that has no record."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("pictures") / "squares")
    for i in range(9):
        x, y = 10 * (i % 3), 10 * (i // 3)
        ends = {"x": [x, x + 8], "y": [float(y), y + 8.0]}
        times = {"day": [date(2024, 1 + i, 1), date(2024, 1 + i, 20)], "at": [datetime(2024, 1 + i, 1), datetime(2024, 1 + i, 20)]}
        others = {"s": [f"{'abcdefghi'[i]}a", f"{'abcdefghi'[i]}z"], "money": pa.array([Decimal(i), Decimal(i)], pa.decimal128(9, 2))}
        lake.file(f"p={i % 2}/{i}.parquet", pa.table({**ends, **times, **others, "yes": [i > 4, True], "u": [i, i], "e": [f"v{i}", "w"]}))
    names = ("x", "y", "day", "at", "s", "money", "yes")
    lake.index(*map(MinMax, names), GeoBox("y", "x", boxes=2), Suffix("e", 2))
    lake.file("p=0/new.parquet", {**ends, **times, **others, "yes": [True, True], "u": [0, 0], "e": ["", ""]})
    lake.view("squares")
    return lake


def report(lake: Lake, where: str) -> QueryReport:
    lake.spark.sql(f"SELECT x FROM squares WHERE {where}").collect()
    return lake.skipping.report()


def drawn(figure: Any) -> dict[str, list[Any]]:
    """The boxes or lines on a picture: those of files that are read, and the others."""
    found: dict[str, list[Any]] = {}
    for collection in figure.axes[0].collections:
        name = type(collection).__name__
        if name in ("PolyCollection", "LineCollection"):
            colour = "#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in collection.get_edgecolor()[0][:3]))
            shapes = [path.vertices for path in collection.get_paths()]
            found[{drawing._READ: "read", drawing._SKIPPED: "skipped", drawing._ALL: "all"}[colour]] = shapes
    return found


def legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_read_and_skipped_and_where_a_match_can_be(lake: Lake) -> None:
    figure = report(lake, "x BETWEEN 3 AND 15 AND y < 5").plot("y", "x")
    found, axes = drawn(figure), figure.axes[0]
    assert (len(found["read"]), len(found["skipped"])) == (2, 16)  # two boxes a file, here two points
    assert legend(figure) == ["read: 1 file", "skipped: 8 files", "where a match can be"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert "1 of 9 files of squares are read" in axes.get_title("left") and "1 more have no record" in axes.get_title("left")
    corners = np.concatenate(
        [path.vertices for contour in axes.collections if "Contour" in type(contour).__name__ for path in contour.get_paths()]
    )
    corners = corners[(corners[:, 1] > -1) & (corners[:, 0] > 0) & (corners[:, 0] < 28)]
    assert corners[:, 0].min() == pytest.approx(2.5, abs=0.6) and corners[:, 0].max() == pytest.approx(15.5, abs=0.6)
    assert corners[:, 1].max() == pytest.approx(5, abs=0.2)


def test_the_columns_of_the_predicate(lake: Lake) -> None:
    one = report(lake, "day < DATE '2024-03-01'").plot()
    assert {name: len(lines) for name, lines in drawn(one).items()} == {"read": 2, "skipped": 7}
    assert one.axes[0].get_xlabel() == "day" and one.axes[0].get_ylabel() == "files, by their smallest value"
    two = report(lake, "s < 'c' AND money >= 1").plot()
    assert (two.axes[0].get_ylabel(), two.axes[0].get_xlabel()) == ("s", "money") and len(drawn(two)["read"]) == 1
    none = report(lake, "e LIKE '%v3'").plot()  # of which no ranges are kept: then those that there are
    assert legend(none) == ["read: 1 file", "skipped: 8 files"] and len(none.axes[0].collections) == 2


@pytest.mark.parametrize(
    "where", ["at < TIMESTAMP '2024-03-05'", "s >= 'h'", "money = 3.00", "yes = false", "x + y > 40", "x = 4 OR u = 3"]
)
def test_where_a_match_can_be_is_no_smaller_than_it_is(lake: Lake, where: str) -> None:
    scan = report(lake, where).scans[0]
    columns = [name for name in ("at", "s", "money", "yes", "x", "y") if name in where.split(" ")[:3]]
    assert scan.pictured is not None
    boxes = scan.pictured(columns)
    if "u" in where:  # of which nothing is known
        assert boxes.region is None
        return
    assert boxes.region is not None and not boxes.region.inside.all() and boxes.region.inside.any()
    rows = lake.spark.sql(f"SELECT {', '.join(columns)} FROM squares WHERE {where}").toArrow()
    for row in zip(*(side.scale.positions(_kept(rows[name])) for side, name in zip(boxes.sides, columns[::-1], strict=True)), strict=True):
        at = tuple(np.abs(lines - value).argmin() for lines, value in zip(boxes.region.lines, row, strict=True))
        assert boxes.region.inside[max(at[0] - 1, 0) : at[0] + 2].any(), (where, row)


def test_where_a_match_can_be_is_too_small(lake: Lake) -> None:
    scan = report(lake, "abs(x + y - 21.0137) < 0.00001").scans[0]
    assert scan.files_skipped > 0 and "too small to be drawn" in scan.plot("x", "y").axes[0].get_title("left")
    assert "where a match can be" not in legend(scan.plot("x", "y"))


def _kept(column: pa.ChunkedArray) -> pa.Array:
    """Values as records keep them."""
    values = column.combine_chunks()
    return values.cast(pa.timestamp("us", "UTC")).cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def test_how_well_files_are_clustered(lake: Lake) -> None:
    table = lake.table()
    figure = table.plot("x")
    assert len(drawn(figure)["all"]) == 9 and "3.0 files overlap on average, 33.3% of all" in figure.axes[0].get_title("left")
    assert len(drawn(table.plot("s", "day"))["all"]) == 9
    assert drawn(table.plot("Y", "x")).keys() == {"all"}
    labels = [text.get_text() for text in table.plot("s").axes[0].get_xticklabels()]
    assert labels[0] == "aa" and labels[-1] == "iz" and len(labels) == 8
    assert len(drawn(table.plot())["all"]) == 18


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ("u",),
            r"no index of squares tells the smallest and the largest u of a file: there are ranges of x, .*create_index\(MinMax\('u'\)\)",
        ),
        (("p",), "makes some of a column of the files"),
        (("x", "y", "s"), "a picture has two sides, not 'x', 'y', 's'"),
        ((3,), "a picture has two sides, not 3"),
    ],
)
def test_what_cannot_be_drawn(lake: Lake, columns: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataSkipError, match=message):
        lake.table().plot(*columns)


def test_where_there_is_nothing_to_draw(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(DataSkipError, match="no query with a WHERE"):
        QueryReport("").plot()
    with pytest.raises(DataSkipError, match="no index of file:/t was used"):
        ScanReport("file:/t", 3).plot()
    other = Lake(lake.spark, lake.skipping, tmp_path / "other")
    other.file("a.parquet", {"x": [1], "s": ["a"]})
    with pytest.raises(DataSkipError, match="has no index"):
        other.table().plot("x")
    other.index(Suffix("s", 1))
    with pytest.raises(DataSkipError, match=r"create_index\(MinMax"):
        other.table().plot()


def test_an_index_that_has_changed_since(lake: Lake, tmp_path: Path) -> None:
    other = Lake(lake.spark, lake.skipping, tmp_path / "changed")
    other.file("a.parquet", {"x": pa.array([None, None], pa.float64())})
    other.file("b.parquet", {"x": [float("inf"), float("nan")]})
    other.index(MinMax("x"))
    other.view("changed")
    lake.spark.sql("SELECT * FROM changed WHERE x > 3").collect()
    found = lake.skipping.report()
    assert legend(found.plot())[0] == "read: 1 file"
    other.table().drop_index(MinMax("x"))
    other.table().describe()
    lake.skipping._callback._told_of.clear()  # else it is kept for some queries
    gc.collect()
    with pytest.raises(DataSkipError, match=r"the index of changed has changed since this query: run it again"):
        found.plot()


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()], ids=str)
def test_where_a_match_can_be_among_the_largest_numbers(lake: Lake, tmp_path: Path, type_: pa.DataType) -> None:
    """pytest takes what numpy warns of for an error."""
    most = np.finfo(type_.to_pandas_dtype()).max
    other = Lake(lake.spark, lake.skipping, tmp_path / "largest")
    for i, ends in enumerate(([-most, 0.0], [1.0, most])):
        other.file(f"{i}.parquet", {"v": pa.array(ends, type_)})
    other.index(MinMax("v"))
    other.view("largest")
    lake.spark.sql("SELECT * FROM largest WHERE v > 0.5").collect()
    found = lake.skipping.report()
    pictured = found.scans[0].pictured
    assert pictured is not None
    region = pictured(["v"]).region
    assert region is not None and np.isfinite(region.lines[0]).all() and (region.inside == (region.lines[0] > 0.5)).all()
    assert legend(found.plot()) == ["read: 1 file", "skipped: 1 file", "where a match can be"]
    assert "nan" not in found.plot().as_html()  # type: ignore[attr-defined]


def test_bars_of_predicates(lake: Lake) -> None:
    scan = report(lake, "x < 5 AND y < 5 AND u < 3 AND s <> '$x$<b>'").scans[0]
    axes = scan.plot_predicates().axes[0]
    alone = {p.predicate: p.files_skipped_alone for p in scan.predicates if p.clause}
    assert sorted(bar.get_width() for bar in axes.patches) == sorted([*alone.values(), *[0] * (len(scan.predicates) - len(alone)), 8])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == "all together" and any("'$x$<b>'" in label for label in labels)
    assert "not used" in [text.get_text() for text in axes.texts] and axes.get_xlabel() == "files skipped, of 10"


def test_pictures_on_pages(lake: Lake) -> None:
    figure = report(lake, "x < 5 AND s <> '$x$<b>'").scans[0].plot_predicates()
    page = figure._repr_html_()
    assert page.count("<svg ") == page.count("</svg>") == 1 and 'role="img" aria-label="files skipped, of 10' in page
    assert "&#x27;$x$&lt;b&gt;" in page and "<b>" not in page and "currentColor" in page and drawing._INK not in page
    assert "<?xml" not in page and "<script" not in page and page.count("<style") == 1 and "2026" not in page.split("<svg")[1]
    assert page == figure._repr_html_()


def test_ten_thousand_files_are_drawn_quickly() -> None:
    random = np.random.default_rng(0)
    low = random.random((2, 10_000)) * 100
    sides = tuple(Side(Scale(name, "double"), ends, ends + 1) for name, ends in zip("xy", low, strict=True))
    boxes = Boxes("t", sides, np.arange(10_000), 10_000, read=np.arange(10_000) < 20)
    begun = time.process_time()
    page = drawing.files(boxes)._repr_html_()
    assert time.process_time() - begun < 5 and len(page) < 1_000_000
    many = Boxes("t", sides, np.arange(10_000), 10_000)
    figure = drawing.files(many)
    assert len(drawn(figure)["all"]) == 10_000 and "1.9 files overlap" in figure.axes[0].get_title("left").replace("2.0", "1.9")
    twice = Boxes("t", tuple(Side(s.scale, np.tile(s.low, 3), np.tile(s.high, 3)) for s in sides), np.arange(30_000), 30_000)
    assert "a sample of 10,000 boxes is drawn" in drawing.files(twice).axes[0].get_title("left")


@pytest.mark.parametrize(
    ("type_", "texts", "ends"),
    [
        ("double", (), [(-1.7e308, 1.0), (0.0, 1.7e308)]),
        ("double", (), [(float("-inf"), float("inf")), (5e-324, 5e-324)]),
        ("bigint", (), [(-(2.0**63), 2.0**63)]),
        ("timestamp", (), [(-1.06e8, 1.06e8)]),  # days, of the first and the last microsecond
        ("date", (), [(19_000.0, 19_000.0)]),
        ("string", ("$x^$ <b>", "東京" * 100), [(0.0, 1.0)]),
        ("boolean", (), [(0.0, 1.0)]),
    ],
)
def test_values_of_every_kind(type_: str, texts: tuple[str, ...], ends: list[tuple[float, float]]) -> None:
    side = Side(Scale("$odd$ <name>", type_, texts), *np.array(ends).T)
    for sides in ((side,), (side, side)):
        page = drawing.files(Boxes("<t>", sides, np.arange(len(ends)), len(ends), read=np.arange(len(ends)) == 0))._repr_html_()
        assert "$odd$ &lt;name&gt;" in page and "read: 1 file" in page and "files of &lt;t&gt; are read" in page
        assert "<b>" not in page and "NaN" not in page and "nan" not in page


def test_times_of_any_length_are_labelled_without_a_warning() -> None:
    for days in np.geomspace(1e-10, 1e5, 60):
        side = Side(Scale("t", "timestamp"), np.array([19_000.0]), np.array([19_000.0 + days]))
        axis = drawing.files(Boxes("t", (side,), np.arange(1), 1)).axes[0].xaxis
        assert 2 <= len(axis.get_major_locator()()) <= 14, days


def test_matplotlib_is_loaded_once_a_picture_is_asked_for() -> None:
    code = "import sys, data_skip.table, data_skip.session; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_without_matplotlib(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(lake, "x < 5")
    monkeypatch.delitem(sys.modules, "data_skip.pictures.drawing")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (found.plot, found.scans[0].plot_predicates, lake.table().plot):
        with pytest.raises(DataSkipError, match=r"pip install 'data-skip\[plots\]'"):
            plot()
