"""What changes while a table is indexed: files that are gone, settings of the session, functions that are registered anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import data_skip.table as table_module
from data_skip import MetricDistance, MinMax, Prefix, ValueList, versioned
from data_skip.building import indexing
from data_skip.files import listing
from data_skip.store import FileKey, versions
from data_skip.store.delta import rows_of
from data_skip.store.layout import keys_of
from tests.readings.support import before, rows
from tests.support import Lake


def once_collected(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """Runs something once files have been collected for the first time."""
    real = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = real(*arguments)
        monkeypatch.setattr(indexing, "collect_files", real)
        run()
        return found

    monkeypatch.setattr(indexing, "collect_files", collect_files)


def test_what_was_seen_to_be_gone_is_not_said_to_be_there(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another refresh, which found nothing to say, was undone until this one had listed again, and for good where it was stopped before."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    gone = lake.file("b.parquet", {"x": [2]})
    lake.file("c.parquet", {"x": [3]})
    once_collected(monkeypatch, gone.unlink)
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    assert table.refresh().files_collected == 1
    assert rows(lake.table()) == [1, 3]


def test_a_file_that_was_renamed_while_it_was_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    path = lake.file("b.parquet", {"x": [2]})
    lake.file("c.parquet", {"x": [3]})
    once_collected(monkeypatch, lambda: path.rename(path.with_name("d.parquet")))
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    table.refresh()
    assert rows(lake.table()) == [1, 2, 3]


def test_what_stands_until_all_are_collected_is_of_a_young_listing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query by the files of the index failed after a refresh that had found all well, until another session's long run had ended."""
    for i in range(5):  # of which one is collected first: Spark lists them as they come
        lake.file(f"{i}.parquet", {"x": [i]})
    one, two = lake.index(MinMax("x")), lake.table()
    gone = lake.file("b.parquet", {"x": [5]})

    def meanwhile() -> None:
        gone.unlink()
        assert two.refresh().files_collected == 0
        assert rows(two) == [*range(5)]
        once_collected(monkeypatch, lambda: seen.append(rows(two)))  # the next ones

    seen: list[Any] = []
    once_collected(monkeypatch, meanwhile)
    one.create_index(ValueList("x"), files_per_commit=1)
    assert [*seen, rows(two)] == [[*range(5)]] * 2


KEYS = st.lists(st.builds(FileKey, st.sampled_from(["", "a b", "p=1/%20", "😀/x"]), st.integers(0, 2), st.sampled_from([-1, 0])))


@given(KEYS, KEYS, st.integers(1, 3), st.integers(1, 4))
def test_file_versions_are_found_among_others(keys: list[FileKey], wanted: list[FileKey], chunk: int, compared: int) -> None:
    """The first one, where there are several."""
    whole = pa.concat_tables([keys_of([]), *(keys_of(keys[i : i + chunk]) for i in range(0, len(keys), chunk))])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(versions, "_COMPARED", compared)
        found = versions.places_in(whole, keys_of(wanted))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
def test_paths_of_more_text_than_an_array_of_the_store_holds(type_: pa.DataType) -> None:
    """Of tens of millions of files; pyarrow makes one array of all chunks of which it takes some rows."""
    chunk, count = pa.array(["a" * (1 << 20)], type_), (1 << 11) + 1
    numbers = pa.array(np.arange(count))
    keys = pa.table([pa.chunked_array([chunk] * count), numbers, numbers], list(versions.KEYS))
    assert versions.places_in(keys, keys.slice(count - 2)).tolist() == [count - 2, count - 1]
    assert len(rows_of(keys, (), {})) == count


def test_listings_of_several_chunks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_PATHS", 2)
    for i in range(5):
        lake.file(f"p={i % 2} ä%20/{i}.parquet", {"x": [i]})
    table = lake.table()
    assert table.create_index(MinMax("x"), files_per_commit=2).files_collected == 5
    (lake.folder / "p=0 ä%20/4.parquet").unlink()
    lake.file("p=1 ä%20/5.parquet", {"x": [5]})
    assert table.refresh().files_collected == 1
    assert rows(table) == [0, 1, 2, 3, 5]


CSV: dict[str, Any] = {"format": "csv", "schema": "t timestamp"}


@pytest.mark.parametrize("refresh", [False, True])
def test_settings_that_are_changed_while_a_table_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch, refresh: bool) -> None:
    """As by another thread; or by the next line of the user's, while the library's own refreshes what is read by `bounded`."""
    lake.lines("a.csv", "2020-01-01 23:30:00")
    table = lake.table(**CSV)
    if refresh:
        table.create_index(MinMax("t"))
    lake.lines("b.csv", "2020-06-01 12:00:00")
    zone = str(lake.spark.conf.get("spark.sql.session.timeZone"))
    before(monkeypatch, indexing, "collect_files", lambda: lake.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo"))
    try:
        table.refresh() if refresh else table.create_index(MinMax("hour(t)"), MinMax("t"))
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", zone)
    lake.view(**CSV)
    lake.check("t = TIMESTAMP'2020-06-01 12:00:00'", read=["b.csv"])
    lake.check("hour(t) = 23")


def test_a_function_that_is_registered_anew_while_a_table_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [5]})
    lake.spark.udf.register("moved", versioned(lambda x: x + 100, 1), "int")
    before(monkeypatch, indexing, "collect_files", lambda: lake.spark.udf.register("moved", versioned(lambda x: x - 100, 1), "int"))
    table = lake.index(MinMax("moved(x)"))
    (least,) = {name for name in table.records().column_names if name.startswith("min_max")}
    assert sorted(record["min"] for record in table.records()[least].to_pylist()) == [101, 105]


def test_the_session_of_the_user_is_the_one_that_goes_on(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})

    def of_rdd() -> object:
        return lake.spark.sparkContext.parallelize([(1,)]).toDF(["x"]).sparkSession

    before = of_rdd()
    lake.index(MinMax("x"))
    assert of_rdd() is before


@pytest.mark.parametrize("index", [Prefix("s"), MetricDistance("s")])
def test_of_an_index_whose_parameters_are_chosen_there_is_one(lake: Lake, monkeypatch: pytest.MonkeyPatch, index: Any) -> None:
    """Two sessions that ensure it at once, and choose otherwise."""
    for i in range(6):
        lake.file(f"f{i}.parquet", {"s": [f"{i}abc{j}" for j in range(20)]})
    one, two = lake.table(), lake.table()

    def meanwhile() -> None:
        for i in range(40):
            lake.file(f"f{i}.parquet", {"s": [f"common-start-{i:03}-{j}" for j in range(40)]})
        two.ensure_index(index)

    before(monkeypatch, table_module, "index_files", meanwhile)
    one.ensure_index(index)
    assert len(one.describe().rows) == 1
