"""Fields of structs are found by their places: below a union they may have other names, several the same, or one that is no SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList
from tests.support import Lake, rows_of

PARTS = {"one": ("a", "b"), "other": ("b", "a")}  # by the view, the names of the fields
UNION = "(SELECT * FROM one UNION ALL SELECT * FROM other)"
TAKEN = "variant_get(to_variant_object(s), '$.a', 'bigint')"


@pytest.fixture(scope="module")
def dim(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Two tables whose first fields hold small numbers, the second ones large; and a table of keys."""
    for view, names in PARTS.items():
        struct = pa.struct([(name, pa.int64()) for name in names])
        lake = Lake(spark, skipping, tmp_path_factory.mktemp(view))
        for i in range(4):
            value = dict(zip(names, (i, 100 + i), strict=True))
            columns = {"s": pa.array([value], struct), "items": pa.array([[value]], pa.list_(struct)), "pad": [list(range(3000))]}
            lake.file(f"{i}.parquet", pa.table(columns))
        lake.index(MinMax("items.a"), MinMax("s.a"), ValueList(TAKEN))
        lake.view(view)
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("dim"))
    lake.file("0.parquet", {"n": [2]})
    lake.view("dim")
    yield lake
    for view in (*PARTS, "dim"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    "where",
    [
        "array_contains(items.a, 2)",
        "exists(items.a, x -> x = 2)",
        "exists(items, x -> x.a = 2)",
        "exists(items, x -> exists(array(x), y -> y.a = 2))",
        "items[0].a = 2",
        "s.a = 2",
    ],
)
def test_below_a_union(dim: Lake, where: str) -> None:
    dim.query(f"SELECT * FROM {UNION} WHERE {where}")  # of fewer columns Spark itself reads the field of that name


@pytest.mark.parametrize("key", [TAKEN, "s.a", "e.a"])
def test_keys_of_a_join_above_a_union(dim: Lake, key: str) -> None:
    dim.query(f"SELECT * FROM (SELECT * FROM {UNION} LATERAL VIEW explode(items) AS e) JOIN dim ON {key} = n")


def test_elements_above_a_union(dim: Lake) -> None:
    dim.query(f"SELECT * FROM {UNION} LATERAL VIEW explode(items) AS e WHERE e.a = 2")


@pytest.mark.parametrize(("first", "second"), [("p < 105", "q < 105"), ("q < 105", "p < 105")])
def test_fields_of_one_name(lake: Lake, first: str, second: str) -> None:
    """A decision is not made again for another field: the second time that one is made, it is kept."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    lake.index(ValueList("x"))
    lake.view()
    sql = "SELECT * FROM t LATERAL VIEW inline(array(named_struct('a', x, 'a', x + 100L))) AS p, q WHERE "
    with lake.skipping.disabled():
        expected = [rows_of(lake.spark.sql(sql + where)) for where in (first, first, second)]
    assert [rows_of(lake.spark.sql(sql + where)) for where in (first, first, second)] == expected


@pytest.mark.parametrize("key", ["variant_get(to_variant_object(r), '$.a', 'bigint')", "r.a"])
@pytest.mark.parametrize("nothing", ["SELECT s AS r, pad FROM one WHERE 1 = 0", "(SELECT s AS r, pad FROM one LIMIT 0)"])
def test_keys_of_a_join_above_what_is_left_of_a_union(dim: Lake, nothing: str, key: str) -> None:
    """Spark takes the empty part away, and leaves what stands above as it is: of structs with the names of that."""
    dim.query(f"SELECT * FROM ({nothing} UNION ALL SELECT s, pad FROM other) JOIN dim ON {key} = n")


@pytest.mark.parametrize("join", ["JOIN", "LEFT SEMI JOIN"])
def test_a_join_on_structs_with_other_names(dim: Lake, join: str) -> None:
    """What filters ask of generated rows, they ask of structs with the names of these."""
    wanted = f"SELECT s, items FROM one LATERAL VIEW explode(items.b) AS e WHERE e > 1000 OR {TAKEN} = 2"
    dim.query(f"SELECT * FROM other {join} ({wanted}) AS w ON other.s = w.s AND other.items = w.items")


@pytest.mark.parametrize("nothing", ["SELECT s AS r, pad FROM odd WHERE 1 = 0", "(SELECT s AS r, pad FROM odd LIMIT 0)"])
def test_names_that_read_as_several(dim: Lake, tmp_path: Path, nothing: str) -> None:
    """Spark's text of a type has the names as they are."""
    for view, names in {"odd": ("a:bigint,b", "c"), "even": ("a", "b:bigint,c")}.items():
        lake = Lake(dim.spark, dim.skipping, tmp_path / view)
        struct = pa.struct([(name, pa.int64()) for name in names])
        for i in range(4):
            value = dict(zip(names, (100 + i, i), strict=True))
            lake.file(f"{i}.parquet", pa.table({"s": pa.array([value], struct), "pad": [list(range(3000))]}))
        lake.view(view)
    key = "variant_get(to_variant_object({}), '$.c', 'bigint')"
    lake.index(ValueList(key.format("s")))  # of which there is none
    dim.query(f"SELECT * FROM ({nothing} UNION ALL SELECT s, pad FROM even) JOIN dim ON {key.format('r')} = n")


def test_types_whose_names_read_as_several(lake: Lake) -> None:
    for i in range(4):
        lake.file(f"{i}.parquet", {"s": [f'{{"a":{i},"c":{i}}}']})
    text = "to_json(from_json(s, 'STRUCT<{}: BIGINT, {}: BIGINT>'))"
    lake.index(ValueList(text.format("a", "`b:bigint,c`")))
    lake.view()
    lake.query(f"""SELECT * FROM t WHERE {text.format("`a:bigint,b`", "c")} = '{{"c":2}}'""")
    lake.query(f"""SELECT * FROM t WHERE {text.format("a", "`b:bigint,c`")} = '{{"a":2}}'""", {"2.parquet"})


ODD = ("x y", "a`b", "``", "l\nf", "k:int,l")


def _odd(i: int, *but: str) -> dict[str, pa.Array]:
    names = [name for name in ODD if name not in but]
    struct = pa.struct([(name, pa.int64()) for name in names])
    value = dict.fromkeys(names, i)
    columns = {"s": pa.array([value], struct), "r": pa.array([[value]], pa.list_(struct))}
    return {**columns, "m": pa.array([[("k", value)]], pa.map_(pa.string(), struct)), "a``b": pa.array([[{"x": i}]])}


def test_fields_whose_names_are_no_sql(lake: Lake) -> None:
    """The text of a type has them as they are: Spark cannot read it again, and no index of the table was made."""
    for i in range(4):
        lake.file(f"{i}.parquet", _odd(i))
    lake.file("lacks.parquet", _odd(5, *ODD[:4]))
    schema = lake.spark.read.parquet(str(lake.folder / "0.parquet")).schema
    served = ("get_json_object(to_json(s), '$.k:int,l')", "`a````b`[0].x")
    lake.index(*map(ValueList, [*served, "m['k'].`x y`", "r.`x y`", "size(r)", "transform(r, e -> e.`l\nf`)[0]"]), schema=schema)
    lake.view(schema=schema)
    for expression in served:
        report = lake.query(f"SELECT * FROM t WHERE {expression} = 2")
        assert report.scans[-1].files_skipped >= 3, report
    transformed = "transform(r, e -> e.`l\nf`)[0] = 2"  # Spark 4.3 reads less of the array for the index than for `*`
    for where in (
        transformed,
        "m['k'].`x y` = 2",
        "m['k'].`x y` IS NULL",
        "r.`x y` IS NULL",
        "array_contains(r.`x y`, 2)",
        "size(r) = -1",
        "s IS NULL",
    ):
        for columns in ("*", "1"):
            lake.query(f"SELECT {columns} FROM t WHERE {where}")
