"""MetricDistance: the triangle inequality skips files, and only for the very metric that was indexed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from pyspark.sql.types import DoubleType, IntegerType

from data_skip import DataSkipError, MetricDistance, great_circle, versioned
from data_skip.testing import check_index
from tests.support import Lake

PLACES = {
    "europe": [(48.1, 11.5), (52.5, 13.4), (41.9, 12.5)],
    "india": [(28.6, 77.2), (19.1, 72.9), (26.9, 75.8)],
    "pole": [(89.9, -170.0), (-89.9, 10.0)],
    "pacific": [(-17.8, 179.9), (-17.8, -179.9), (None, 0.0)],
}


def names(lake: Lake) -> None:
    lake.file("short.parquet", {"name": ["Al", "Bo", None]})
    lake.file("long.parquet", {"name": ["Bartholomew", "Maximiliano"]})
    lake.file("middle.parquet", {"name": ["Jonathan", "Alexander"]})


def test_levenshtein_within_a_distance(lake: Lake) -> None:
    names(lake)
    lake.index(MetricDistance("name", origin=""))  # the distance to it is the length
    lake.check("levenshtein(name, 'Bo') <= 1", read=["short.parquet"])
    lake.check("levenshtein(name, 'Bo') < 1", read=["short.parquet"])
    lake.check("levenshtein('Jonathon', name) <= 1", read=["middle.parquet"])
    lake.check("2 > levenshtein(name, 'Jonathon')", read=["middle.parquet"])
    lake.check("levenshtein(name, 'Bartholomew') = 0", read=["long.parquet"])
    lake.check("levenshtein(name, 'Bartholomew') IN (0, 1)", read=["long.parquet"])
    lake.check("levenshtein(name, 'Bo') BETWEEN 9 AND 10", read=["long.parquet", "middle.parquet"])
    lake.check("NOT (levenshtein(name, 'Bo') >= 2)", read=["short.parquet"])
    lake.check("levenshtein(name, 'Bo') < 1.5", read=["short.parquet"])
    lake.check("levenshtein(name, 'Bo') < 0", read=[])


def test_farther_than_has_an_upper_bound_too(lake: Lake) -> None:
    names(lake)
    lake.index(MetricDistance("name", origin=""))
    lake.check("levenshtein(name, 'Bo') > 4", read=["long.parquet", "middle.parquet"])  # of a short name at most 2 + 2
    lake.check("NOT (levenshtein(name, 'Bo') <= 11)", read=["long.parquet"])
    lake.check("levenshtein(name, 'Bo') <> 2", read=["short.parquet", "long.parquet", "middle.parquet"])


def test_other_functions_than_the_metric_are_not_served(lake: Lake) -> None:
    names(lake)
    lake.index(MetricDistance("name", origin=""))
    everything = ["short.parquet", "long.parquet", "middle.parquet"]
    for where in (
        "levenshtein(name, 'Bo', 3) <= 2",  # -1 when farther than 3 (TRAPS G17)
        "levenshtein(upper(name), 'BO') <= 1",
        "levenshtein(name, name) <= 1",
        "length(name) <= 1",
        "levenshtein(name, 'Bo') + 0 * length(name) <= 1",
        "levenshtein(name, 'Bo') IS NULL",
    ):
        lake.check(where, read=everything)
    lake.check("levenshtein(name, 'Bo') < 1 OR levenshtein(name, 'Maximiliano') < 2", read=["short.parquet", "long.parquet"])


def test_the_origin_is_chosen_from_the_data_and_stays(lake: Lake) -> None:
    random = Random(3)
    for i in range(6):
        letters = "abcdef"[i]
        words = ["".join(random.choices(letters + "xyz", k=4 + 3 * i)) for _ in range(20)]
        lake.file(f"{i}.parquet", {"word": words})
    table = lake.table()
    table.create_index(MetricDistance("word"))
    (row,) = table.describe().rows
    assert "origin=" in row["index"] and "origin=None" not in row["index"]
    lake.file("new.parquet", {"word": ["q" * 60]})
    table.refresh()
    assert table.describe().rows[0]["index"] == row["index"]
    lake.check("levenshtein(word, 'qqqq') > 50", read=["new.parquet"])
    with pytest.raises(DataSkipError, match="exists already"):
        table.create_index(MetricDistance("word"))
    table.drop_index(MetricDistance("word"))
    assert table.describe().rows == []


def test_a_metric_that_nobody_knows_is_refused_before_any_file_is_read(lake: Lake) -> None:
    lake.text("a.parquet", "no Parquet")
    for metric in ("hamming_of_nobody", "no.such.function", "1"):
        table = lake.table(schema="name string")
        with pytest.raises(DataSkipError, match=f"no metric '{metric}', which is no .*; there are 'levenshtein', 'great_circle', and"):
            table.create_index(MetricDistance("name", metric=metric))


def test_an_empty_column_has_no_origin(lake: Lake) -> None:
    lake.file("a.parquet", {"name": np.array([None, None], dtype=object), "x": ["a", "b"]})
    with pytest.raises(DataSkipError, match=r"origin=|takes|is not served"):
        lake.table().create_index(MetricDistance("CAST(name AS STRING)"))


def places(lake: Lake) -> None:
    for name, points in PLACES.items():
        lake.file(f"{name}.parquet", {"lat": [lat for lat, _ in points], "lng": [lng for _, lng in points]})


def test_great_circle(lake: Lake) -> None:
    places(lake)
    lake.index(MetricDistance("lat", "lng", origin=[48.1, 11.5], metric="haversine"))
    near = great_circle("lat", "lng", 26.9, 75.8)
    lake.check(f"{near} < 50000", read=["india.parquet", "pole.parquet"])  # one near the origin, one far: in between is anywhere
    lake.check(f"{near} <= 0", read=["india.parquet", "pole.parquet"])
    lake.check(f"{great_circle('lat', 'lng', 48.2, 11.4)} < 50000", read=["europe.parquet"])
    lake.check(f"{great_circle('lat', 'lng', -17.8, 179.95)} < 50000", read=["pacific.parquet"])  # over the date line
    lake.check(f"{great_circle('lat', 'lng', 90, 0)} < 20000", read=["pole.parquet"])
    lake.check(f"{great_circle('lat', 'lng', 48.1, 11.5)} > 15500000", read=["pacific.parquet"])
    # a formula that mixes two points is no distance to a point
    mixed = great_circle("lat", "lng", 26.9, 75.8).replace("(lat) + CAST(26.9 AS DOUBLE)", "(lat) + CAST(0.1 AS DOUBLE)")
    lake.check(f"{mixed} < 50000", read=[f"{name}.parquet" for name in PLACES])


def test_great_circle_as_a_function_of_sql(lake: Lake) -> None:
    places(lake)
    lake.index(MetricDistance("lat", "lng", origin=[0.0, 0.0], metric="great_circle"))
    body = great_circle("lat1", "lng1", "lat2", "lng2")
    lake.spark.sql(
        "CREATE OR REPLACE TEMPORARY FUNCTION great_circle(lat1 DOUBLE, lng1 DOUBLE, lat2 DOUBLE, lng2 DOUBLE) "
        f"RETURNS DOUBLE RETURN {body}"
    )
    lake.check("great_circle(lat, lng, 26.9, 75.8) < 50000", read=["india.parquet"])


@pytest.mark.long
def test_a_function_that_the_user_calls_a_metric(lake: Lake) -> None:
    lake.spark.udf.register(
        "manhattan", versioned(lambda x, y, a, b: None if x is None or y is None else abs(x - a) + abs(y - b), 1), DoubleType()
    )
    lake.file("near.parquet", {"x": [0.0, 1.0, None], "y": [0.5, 2.0, 1.0]})
    lake.file("far.parquet", {"x": [100.0, 101.0], "y": [50.0, 20.0]})
    lake.index(MetricDistance("x", "y", metric="manhattan", origin=[0.0, 0.0]))
    lake.check("manhattan(x, y, 1D, 1D) < 3", read=["near.parquet"])
    lake.check("manhattan(x, y, 100D, 50D) <= 1", read=["far.parquet"])
    lake.check("manhattan(x, y, 0D, 1000D) < 10", read=[])


def test_a_metric_over_vectors(lake: Lake) -> None:
    def hamming(a: list[int] | None, b: list[int]) -> int | None:
        return None if a is None else sum(i != j for i, j in zip(a, b, strict=True))

    lake.spark.udf.register("hamming", versioned(hamming, 1), IntegerType())
    lake.file("zeros.parquet", {"v": [[0, 0, 0, 0], [0, 0, 0, 1], None]})
    lake.file("ones.parquet", {"v": [[1, 1, 1, 1], [1, 1, 1, 0]]})
    lake.index(MetricDistance("v", metric="hamming", origin=[0, 0, 0, 0]))
    lake.check("hamming(v, array(1L, 1L, 1L, 1L)) < 2", read=["ones.parquet"])
    lake.check("hamming(v, array(0L, 0L, 0L, 0L)) = 0", read=["zeros.parquet"])


def test_refuses_what_is_no_metric(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [0.0, 1.0, 2.0, 5.0], "name": ["a", "b", "c", "d"]})
    lake.spark.udf.register("squared", versioned(lambda x, y: (x - y) ** 2, 1), DoubleType())
    with pytest.raises(DataSkipError, match="squared is no metric"):
        lake.table().create_index(MetricDistance("x", metric="squared", origin=0.0))
    with pytest.raises(DataSkipError, match="levenshtein over double is not served"):
        lake.table().create_index(MetricDistance("x", origin="a"))
    with pytest.raises(DataSkipError, match="concat gives string, which is no distance"):
        lake.table().create_index(MetricDistance("name", metric="concat", origin="a"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"origin": float("nan")},
        {"metric": "a; b"},
        {"metric": "great_circle"},
        {"margin": -1.0},
        {"origin": b"x"},
        {"metric": None},
        {"margin": "1"},
    ],
)
def test_refuses_arguments_that_make_no_sense(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"origin|metric|takes|margin"):
        MetricDistance("x", **arguments)  # type: ignore[arg-type]


def test_an_origin_of_two_columns_is_a_list_of_two_numbers() -> None:
    for origin in (5, "47,8", [47.0], ["47", "8"]):
        with pytest.raises(ValueError, match=r"^origin is a (list of 2 values|latitude and a longitude)"):
            MetricDistance("lat", "lng", origin=origin, metric="great_circle")


@pytest.mark.long
def test_levenshtein_is_sound() -> None:
    random = Random(5)
    words = ["", None, "Ω", "it's", *("".join(random.choices("abc", k=random.randrange(1, 12))) for _ in range(40))]
    ends = [
        f"levenshtein(w, '{q}') {op} {r}"
        for q in ("", "abcabc", "it\\'s", "aaaaaaaaaaaa")
        for op in ("<", "<=", "=", ">", ">=")
        for r in (1, 4)
    ]
    predicates = [*ends, "NOT (levenshtein(w, 'aaa') < 6)", "levenshtein(w, 'a') < 2 OR w IS NULL"]
    checked = check_index(MetricDistance("w", origin="abc"), [{"w": word} for word in words], predicates)
    assert sum(bool(files) for files in checked.skipped.values()) >= 30, str(checked)


def test_great_circle_is_sound() -> None:
    random = np.random.default_rng(1)
    special = [
        (90.0, 0.0),
        (-90.0, 180.0),
        (0.0, 180.0),
        (0.0, -180.0),
        (95.0, 10.0),
        (float("nan"), 1.0),
        (1.0, float("inf")),
        (None, None),
    ]
    drawn = [(float(a), float(b)) for a, b in zip(random.uniform(-90, 90, 50), random.uniform(-180, 180, 50), strict=True)]
    rows = [{"lat": lat, "lng": lng} for lat, lng in [*special, *drawn]]
    points = [(48.1, 11.5), (90, 0), (-90, 0), (0, 180), (0, 0), (12.0, -168.0)]
    predicates = [f"{great_circle('lat', 'lng', *p)} {end}" for p in points for end in ("< 3e6", "<= 0", "> 1.7e7", "BETWEEN 9e6 AND 1e7")]
    index = MetricDistance("lat", "lng", metric="great_circle", origin=[-12.0, 12.0])
    checked = check_index(index, rows, predicates)
    assert sum(bool(files) for files in checked.skipped.values()) >= 20, str(checked)
