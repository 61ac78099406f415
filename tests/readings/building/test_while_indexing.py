"""The sixty-first reading, of indexing by one listing: what a commit says of files that changed since; and files as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip import MinMax, Table, ValueList
from data_skip.building import indexing
from data_skip.files import listing
from data_skip.store import FileKey, versions
from data_skip.store.delta import rows_of
from data_skip.store.layout import keys_of
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


def rows(table: Table) -> list[Any]:
    return sorted(row[0] for row in table.read("snapshot").select("x").collect())


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
