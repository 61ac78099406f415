"""register(spark): functions of (region, lat, lng), with Sedona and without."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import shapely
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import geo_skip
from data_skip import Index, MinMax
from geo_skip import GeoBox, S2Covering
from tests.support import Lake, rows_of

WKT = "POLYGON((60 5, 90 5, 90 35, 60 35, 60 5))"
WKB = f"X'{shapely.to_wkb(shapely.from_wkt(WKT)).hex()}'"
GEOJSON = f"'{shapely.to_geojson(shapely.from_wkt(WKT))}'"
RING = "POLYGON((0 0, 60 0, 60 60, 0 60, 0 0), (3 3, 7 3, 7 7, 3 7, 3 3))"
EUROPE, INDIA, PERU, HOLE = "europe.parquet", "india.parquet", "peru.parquet", "hole.parquet"


def places(lake: Lake) -> None:
    lake.file(EUROPE, {"lat": [48.1, 52.5], "lng": [11.5, 13.4]})
    lake.file(INDIA, {"lat": [28.6, 35.0, None], "lng": [77.2, 90.0, 75.0]})  # one on a corner
    lake.file(PERU, {"lat": [-12.0], "lng": [-77.0]})
    lake.file(HOLE, {"lat": [5.0, float("nan")], "lng": [5.0, 5.0]})


SWAPPED = f"ST_CONTAINS('{WKT}', lng, lat)"  # not the places of the index
CASES = [
    (f"ST_CONTAINS('{WKT}', lat, lng)", [INDIA, HOLE]),
    (f"ST_CONTAINS({WKB}, lat, lng)", [INDIA, HOLE]),
    (f"st_contains({GEOJSON}, lat, lng)", [INDIA, HOLE]),
    (f"ST_INTERSECTS('{WKT}', lat, lng)", [INDIA, HOLE]),
    (f"ST_CONTAINS('{RING}', lat, lng)", [EUROPE, HOLE]),
    (f"NOT ST_CONTAINS('{WKT}', lat, lng)", [EUROPE, INDIA, PERU, HOLE]),
    (f"NOT ST_INTERSECTS('{RING}', lat, lng)", [INDIA, PERU, HOLE]),
    ("ST_DISTANCE('POINT(75 28)', lat, lng) < 5", [INDIA, HOLE]),
    ("ST_DISTANCE('POINT(75 28)', lat, lng) BETWEEN 150 AND 200", [PERU, HOLE]),
    ("ST_DISTANCE('POINT(75 28)', lat, lng) > 150", [PERU, HOLE]),
    ("ST_CONTAINS(NULL, lat, lng)", None),
]


def test_in_python(plain: Lake) -> None:
    places(plain)
    plain.index(GeoBox("lat", "lng"))
    served = CASES[:-1]
    assert plain.reads(*(where for where, _ in served)) == [set(read) for _, read in served]
    for where, read in (CASES[0], CASES[6], CASES[-1]):
        plain.check(where, read=read)
    plain.check(SWAPPED, read=[INDIA, HOLE])  # by the ranges of the box around the region; of half a place nothing is known


def test_several_in_python(plain: Lake) -> None:
    """They are given the same places, which each of them leaves as they are: see tests/readings/functions/test_arguments_changed.py."""
    places(plain)
    plain.index(MinMax("lat"), MinMax("lng"))
    either = f"ST_CONTAINS('{WKT}', lat, lng) OR ST_DISTANCE('POINT(-70 -10)', lat, lng) < 20"
    plain.view()
    plain.query(f"SELECT * FROM t WHERE {either}", read=[INDIA, PERU, HOLE])


@pytest.mark.parametrize("indexes", [[S2Covering("lat", "lng")], [MinMax("lat"), MinMax("lng")]], ids=["S2Covering", "MinMax"])
def test_in_python_with_other_indexes(plain: Lake, indexes: list[Index]) -> None:
    places(plain)
    plain.index(*indexes)
    wheres = [CASES[i][0] for i in (0, 4, 7)]
    by_ranges = {INDIA} if isinstance(indexes[0], MinMax) else {INDIA, HOLE}  # NaN is in no range
    assert plain.reads(*wheres) == [by_ranges, {EUROPE, HOLE}, {INDIA, HOLE}]


def test_over_sedona(sedona: Lake) -> None:
    places(sedona)
    sedona.index(GeoBox("lat", "lng"))
    cases = [*CASES[:-1], (SWAPPED, [EUROPE, INDIA, PERU, HOLE])]
    assert sedona.reads(*(where for where, _ in cases)) == [set(read) for _, read in cases]
    (plan,) = sedona.spark.sql(f"EXPLAIN SELECT * FROM parquet.`{sedona.folder}` WHERE ST_CONTAINS('{WKT}', lat, lng)").collect()[0]
    assert "Python" not in plan


def test_sedonas_own_functions_stay(sedona: Lake) -> None:
    geo_skip.register(sedona.spark)  # again
    row = sedona.spark.sql(
        "SELECT ST_Contains(ST_Buffer(ST_Point(0, 0), 1.0), ST_Point(0, 0.5)) a, ST_Distance(ST_Point(0, 0), ST_Point(3, 4)) b,"
        " ST_Intersects(ST_Point(0, 0), ST_Point(0, 0)) c, ST_DISTANCE(ST_Point(0, 0), CAST(4 AS DECIMAL(3,1)), 3) d"
    ).first()
    assert row is not None and tuple(row) == (True, 5.0, True, 5.0)
    with pytest.raises(PySparkException):
        sedona.spark.sql("SELECT ST_Contains(ST_Point(0, 0))").collect()


ROWS = [(5.0, 5.0), (0.0, 5.0), (10.0, 10.0), (20.0, 5.0), (None, 5.0), (3.0, None), (10.0, 0.0), (-0.0, 0.0)]
REGIONS = [
    "MULTIPOINT(5 5, NaN 3)",
    "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))",
    "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))",
    "LINESTRING(0 0, 10 10)",
    "POINT(5 5)",
    "POLYGON EMPTY",
]


def test_values_equal_those_over_sedona(without_sedona: SparkSession, with_sedona: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    lats, lngs = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"lat": lats, "lng": lngs}), tmp_path / "rows.parquet")
    for region in REGIONS:
        functions = ("ST_CONTAINS", "ST_INTERSECTS") if "EMPTY" in region else ("ST_CONTAINS", "ST_INTERSECTS", "ST_DISTANCE")
        columns = ", ".join(f"{name}('{region}', lat, lng) AS {name}" for name in functions)
        query = f"SELECT lat, lng, {columns} FROM parquet.`{tmp_path}`"
        assert rows_of(without_sedona.sql(query)) == rows_of(with_sedona.sql(query)), region


def test_the_region_goes_to_python_once(plain: Lake) -> None:
    """Not with every row: it is part of the function, where it is constant. Filters see it all the same."""
    places(plain)
    plain.index(GeoBox("lat", "lng"))
    plain.view()
    plain.spark.sql(f"DECLARE OR REPLACE VARIABLE region STRING DEFAULT '{WKT}'")
    regions = (f"'{WKT}'", WKB, GEOJSON, "region", f"concat('{WKT[:20]}', '{WKT[20:]}')")
    wheres = [f"ST_CONTAINS({region}, lat, lng)" for region in regions]
    assert plain.reads(*wheres) == [{INDIA, HOLE}] * len(wheres)
    for where in wheres:
        (explained,) = plain.spark.sql(f"EXPLAIN SELECT lat, {where} AS inside FROM t WHERE {where}").collect()[0]
        python = [line for line in explained.splitlines() if "ArrowEvalPython" in line]
        assert python and all("ST_Contains(lat#" in line for line in python), explained
    plain.check(wheres[3])
    (explained,) = plain.spark.sql("EXPLAIN SELECT ST_CONTAINS(concat('POINT(', lat, ' 1)'), lat, lng) FROM t").collect()[0]
    assert "ST_Contains(concat(POINT(" in explained
    geo_skip.register(plain.spark)  # again
    assert plain.spark._jsparkSession.experimental().extraStrategies().size() == 1
    rules = plain.spark._jsparkSession.experimental().extraOptimizations().toString()
    assert rules.count("RegionBoxes") == 1


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32(), pa.int64(), pa.decimal128(9, 2)], ids=str)
def test_only_points_in_the_box_of_a_region_go_to_python(plain: Lake, type_: pa.DataType) -> None:
    """The box is a filter below, which Spark's readers may use. Points on its border stay, of either zero; empty regions have no box."""
    numbers = [-1, 0, 0, 5, 10, 11, None, 5]
    columns = {"lat": pa.array(numbers, type_), "lng": pa.array([5, 5, 0, 5, 10, 5, 5, None], type_)}
    if pa.types.is_floating(type_):
        columns = {n: pa.array([-0.0 if v == 0 else v for v in c.to_pylist()] + [float("nan")], type_) for n, c in columns.items()}
    plain.file("a.parquet", columns)
    plain.view()
    square = "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))"
    for where, count, boxed in (
        (f"ST_INTERSECTS('{square}', lat, lng)", 4, type_ != pa.decimal128(9, 2)),
        (f"ST_CONTAINS('{square}', lat, lng)", 1, type_ != pa.decimal128(9, 2)),
        (f"ST_INTERSECTS('{square}', lat + 0, lng) AND lat > 4", 2, type_ != pa.decimal128(9, 2)),
        (f"NOT ST_INTERSECTS('{square}', lat, lng)", 2, False),
        (f"ST_CONTAINS('{square}', lat, lng) OR lat = 11", 2, False),
        (f"ST_DISTANCE('{square}', lat, lng) < 0.5", 4, False),
        ("ST_CONTAINS('POLYGON EMPTY', lat, lng)", 0, False),
    ):
        frame = plain.spark.sql(f"SELECT * FROM t WHERE {where}")
        below = frame._jdf.queryExecution().optimizedPlan().toString().partition("ArrowEvalPython")[2]
        assert ("<= 10.0" in below) == boxed, below
        assert frame.count() == count, where
    plain.spark.conf.set("spark.sql.parquet.filterPushdown", "true")  # to the readers goes what Parquet takes for the same
    try:
        assert plain.spark.sql(f"SELECT * FROM t WHERE ST_INTERSECTS('{square}', lat, lng)").count() == 4
    finally:
        plain.spark.conf.set("spark.sql.parquet.filterPushdown", "false")


def test_columns_of_other_numbers_and_regions_that_differ_by_row(plain: Lake) -> None:
    table = {
        "lat": pa.array([5, 50, None], pa.decimal128(9, 6)),
        "lng": pa.array([5, 50, 5], pa.int32()),
        "region": ["POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))", "POINT(50 50)", None],
    }
    plain.file("a.parquet", table)
    plain.view()
    found = plain.spark.sql(
        "SELECT ST_CONTAINS(region, lat, lng), ST_INTERSECTS(region, lat, lng), ST_DISTANCE(region, lat, lng) FROM t"
    ).collect()
    assert [tuple(row) for row in found] == [(True, True, 0.0), (True, True, 0.0), (None, None, None)]


def test_a_region_that_is_none_is_an_error_that_says_so(plain: Lake) -> None:
    plain.file("a.parquet", {"lat": [1.0], "lng": [1.0]})
    plain.view()
    with pytest.raises(PySparkException, match="a region is WKT or GeoJSON as text, or WKB as binary, not 'somewhere'"):
        plain.spark.sql("SELECT ST_CONTAINS('somewhere', lat, lng) FROM t").collect()


def test_another_number_of_arguments_is_an_error_that_says_so(plain: Lake) -> None:
    for arguments, given in (("'POINT(1 2)', lat", 2), ("lat, lng, 10, 10", 4)):
        with pytest.raises(PySparkException, match=rf"ST_DISTANCE takes 3 arguments, not {given}: ST_DISTANCE\(region, lat, lng\)"):
            plain.spark.sql(f"SELECT ST_DISTANCE({arguments}) FROM VALUES (1.0D, 2.0D) AS t(lat, lng)").collect()


def test_anothers_function_of_the_same_name_is_not_taken_for_ours(spark: SparkSession, tmp_path: Path) -> None:
    import data_skip

    session = spark.newSession()
    lake = Lake(session, data_skip.enable(session), tmp_path / "table")
    places(lake)
    lake.index(GeoBox("lat", "lng"))
    session.udf.register("ST_CONTAINS", lambda region, lat, lng: True, "boolean")
    lake.check(f"ST_CONTAINS('{WKT}', lat, lng)", read=[EUROPE, INDIA, PERU, HOLE])  # TRAPS G14
    data_skip.disable(session)
