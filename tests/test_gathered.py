"""Records that are put where they stay as they are read, against those that Arrow joins."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.store import DeltaStore, records
from data_skip.store.gathered import gathered, is_of_fixed_width
from tests.test_added import append, read
from tests.test_store import store

__all__ = ["store"]

TYPES = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float32(): st.sampled_from([0.0, -0.0, 1.5, float("inf")]),
    pa.float64(): st.floats(allow_nan=False),
    pa.date32(): st.dates(date(1, 1, 1)),
    pa.timestamp("us", "UTC"): st.datetimes(datetime(1, 1, 1)).map(lambda moment: moment.replace(tzinfo=timezone.utc)),
}
RECORD = st.none() | st.tuples(*(st.none() | values for values in TYPES.values()))


@given(st.lists(st.lists(RECORD, max_size=9), max_size=4), st.integers(0, 3))
def test_records_are_those_that_arrow_joins(parts: list[list[Any]], cut: int) -> None:
    type_ = pa.struct([(str(i), kind) for i, kind in enumerate(TYPES)])
    assert is_of_fixed_width(type_)
    schema = pa.schema([("x", type_), ("y", type_)])
    dicts = [[record and {str(i): value for i, value in enumerate(record)} for record in part] for part in parts]
    batches = [pa.record_batch([pa.array(part, type_), pa.array(part[::-1], type_)], schema=schema).slice(cut) for part in dicts]
    whole = pa.Table.from_batches(batches, schema)
    found = gathered(iter(batches), schema, len(whole))
    for name, array in found.items():
        array.validate(full=True)
        assert array.to_pylist() == whole[name].to_pylist()
        assert array.is_valid().to_pylist() == whole[name].is_valid().to_pylist()


@pytest.mark.parametrize("kind", [pa.bool_(), pa.string(), pa.list_(pa.int8()), pa.decimal128(5), pa.null(), pa.struct([("a", pa.int8())])])
def test_others_are_joined_by_arrow(kind: pa.DataType) -> None:
    assert not is_of_fixed_width(pa.struct([("a", pa.int8()), ("b", kind)]))


def test_records_of_very_many_are_what_those_of_few_are(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows in several files, some of which are of one version, and some without a record of an index."""
    append(store, range(300))
    append(store, range(290, 320), "y")
    expected = {name: array.to_pylist() for name, array in read(DeltaStore(store.uri)).records(["x", "y"]).items()}
    monkeypatch.setattr(records, "MANY_ROWS", 1)
    calls = []
    monkeypatch.setattr(records, "gathered", lambda *of: calls.append(of) or gathered(*of))
    found = read(DeltaStore(store.uri)).records(["x", "y"])
    assert calls and {name: array.to_pylist() for name, array in found.items()} == expected
