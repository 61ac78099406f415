"""Records that take more memory than there is for them: row groups are ruled out by their statistics, the others evaluated part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import WriterProperties

from data_skip import BloomFilter, MinMax, Prefix, ValueList
from data_skip.clause import Clause, Computed, Field, Groups, Mask, Named, Records, all_of, any_of, survivors
from data_skip.planning.deadline import Deadline
from data_skip.planning.in_parts import part_by_part
from data_skip.store import DeltaStore, FileKey, StoreError, delta, new_parts, parts
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from data_skip.store.parts import Rows
from data_skip.store.row_groups import RowGroups
from data_skip.store.snapshot import Snapshot
from tests.support import Lake, settings_of

READER = {"format": "parquet", "options": {}, "columns": [], "settings": {}}
EPOCH = datetime(1970, 1, 1)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "long": (pa.int64(), [-(2**63), -7, 0, 3, 2**53 + 1, 2**63 - 1]),
    "byte": (pa.int8(), [-128, -1, 0, 1, 127]),
    "double": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, math.nan]),
    "number": (pa.float32(), [-1.5, 0.0, 0.25, 2.5]),
    "text": (pa.string(), ["", "a", "ab" * 90, "é", "éz" * 60, "日本", "\U0010ffff", "z\ud7ff"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x7f", b"\x80", b"\xff\xff\xff\xff\xff"]),
    "date": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]),
    "time": (pa.timestamp("us"), [EPOCH - timedelta(days=1000), EPOCH, EPOCH + timedelta(microseconds=1), datetime(2600, 1, 1)]),
    "small": (pa.decimal128(9, 2), [Decimal("-1.10"), Decimal("0.00"), Decimal("7.25")]),
    "large": (pa.decimal128(38, 4), [Decimal("-99999999999999999999.0001"), Decimal("-0.0001"), Decimal("12345678901234567890.1")]),
    "flag": (pa.bool_(), [False, True]),
}
TYPE = pa.struct({name: type_ for name, (type_, _) in VALUES.items()} | {"items": pa.list_(pa.int64())})


def column(name: str) -> pa.Field:
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": name, "partition": False}
    return definition_field(name, TYPE, Definition("Test", (name,), {}, 1, (tree,), READER))


def random_record(random: Random, level: int) -> dict[str, Any] | None:
    """Of files that follow one another mostly of like values, so that statistics tell their row groups apart."""
    if random.random() < 0.05:
        return None if random.random() < 0.5 else {}
    record: dict[str, Any] = {"items": random.choice([None, [], [1], [level, 2]])}
    for name, (_, values) in VALUES.items():
        near = [value for value in values[level % len(values) :][:2] if random.random() < 0.98 or value == value]
        record[name] = None if random.random() < 0.02 else random.choice(near if random.random() < 0.97 else values)
    return record


def random_clause(random: Random, depth: int = 0) -> Clause:
    if depth < 3 and random.random() < 0.6:
        parts = [random_clause(random, depth + 1) for _ in range(random.randint(1, 3))]
        return random.choice([all_of, any_of])(parts)
    field = Field(random.choice("xy"), random.choice([*VALUES]), "index")
    if random.random() < 0.1:
        items = Field(field.index, "items", "index")
        return Computed("long list", (items,), lambda lists: pc.greater(pc.list_value_length(lists), 0), pure=True)
    if random.random() < 0.1:
        return Computed("x < y", (Field("x", "long", ""), Field("y", "long", "")), pc.less, pure=True)
    values = [value for value in VALUES[field.name][1] if value == value]
    value = pa.scalar(random.choice(values), VALUES[field.name][0])
    compare: Callable[[Any], Clause] = random.choice([field.__gt__, field.__ge__, field.__lt__, field.__le__, field.__eq__, field.__ne__])
    clause = compare(value.as_py() if field.name in ("long", "text", "double") else value)
    return Named("in other words", clause) if random.random() < 0.2 else clause


def whole(clause: Clause, snapshot: Snapshot) -> Mask:
    return survivors(clause, Records(snapshot.records({field.index for field in clause.fields()})), snapshot.count)


def in_parts(
    clause: Clause, snapshot: Snapshot, listed: Mask, most: int = 0, at_hand: Sequence[str] = (), seconds: float = math.inf
) -> Mask:
    return part_by_part(clause, snapshot, snapshot.records(at_hand), listed, most, Deadline(math.inf))


def opened(store: DeltaStore) -> Snapshot:
    """The last snapshot, of which nothing was read yet."""
    found = DeltaStore(store.uri).snapshot()
    assert found is not None
    return found


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeltaStore:
    """One of row groups of five rows."""
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 5)
    monkeypatch.setattr(new_parts, "_LEAST_IN_GROUP", 1)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    return DeltaStore(f"file:{tmp_path}/_data_skip")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, ...]]]:
    """Which row groups were read."""
    found: list[tuple[int, ...]] = []
    read = RowGroups.read

    def noted(self: RowGroups, groups: Sequence[int], column: str, fields: Sequence[str]) -> pa.ChunkedArray:
        found.append(tuple(groups))
        return read(self, groups, column, fields)

    monkeypatch.setattr(RowGroups, "read", noted)
    yield found


def filled(store: DeltaStore, random: Random) -> None:
    """By several writers: indexes apart and together, versions that come twice, are gone, are not collected, and have changed."""
    keys = [FileKey(f"{i:03}", 10 + random.randrange(3), random.randrange(3)) for i in range(60)]
    said: dict[tuple[str, FileKey], Any] = {}  # who says it again, says the same

    def append(files: Sequence[FileKey], names: str, collected: bool = True, generation: int = 0) -> None:
        for file in files:
            for name in names:
                said.setdefault((name, file), random_record(random, int(file.path) // 12))
        records = {column(name): pa.array([said[name, file] if collected else None for file in files], TYPE) for name in names}
        store.append(files, [1] * len(files), records, True, [generation] * len(files), [collected] * len(files))

    append(keys[:40], "x")
    append(random.sample(keys[:45], 40), "y")
    append(keys[40:], "xy")
    append(random.sample(keys, 9), "x", collected=False, generation=1)
    append([FileKey(file.path, 99, 1) for file in keys[::7]], "xy")
    append(keys[3:6], "y", generation=2)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_says_what_all_records_at_once_do(store: DeltaStore, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    if seed == 3:  # text that is cut in statistics
        cut = WriterProperties(max_row_group_size=5, compression="SNAPPY", statistics_truncate_length=2)
        monkeypatch.setattr(delta, "_written", lambda table: cut)
    filled(store, random)
    ruled_out = 0
    for order in (None, ("x", "long"), ("y", "text")):
        if order:
            store.compact(order)
        snapshot, beside = opened(store), opened(store)
        listed = np.array([random.random() < 0.9 for _ in range(snapshot.count)])
        for _ in range(20 if seed == 0 else 100):
            clause = random_clause(random)
            expected = whole(clause, beside) | ~listed
            at_hand = random.choice([(), (), ("x",), ("y",)])
            found = in_parts(clause, snapshot, listed, random.choice([0, 1000, 100_000]), at_hand)
            assert found[listed].tolist() == expected[listed].tolist(), (seed, order, str(clause))
            groups = snapshot.rows_in_groups().groups
            ruled_out += int(clause.rules_out(Groups(groups.count, groups.ends)).sum())
    assert ruled_out > (60 if seed == 0 else 400)


def test_ends_are_those_of_the_values(store: DeltaStore) -> None:
    random = Random(5)
    rows = [{name: random.choice(values) for name, (_, values) in VALUES.items()} for _ in range(100)]
    store.append([FileKey(str(i), 1, i) for i in range(100)], [1] * 100, {column("x"): pa.array(rows, TYPE)})
    snapshot = opened(store)
    groups = snapshot.rows_in_groups().groups
    assert groups.count == 20
    assert groups.ends("x", "double") == groups.ends("x", "double") and pc.all(pc.is_null(groups.ends("x", "double")[0])).as_py()  # type: ignore[index]
    groups.read(range(20), "x", ["number"])
    for i in range(20):
        groups.read([i], "x", ["double"])
    for name, (type_, _) in VALUES.items():
        ends = groups.ends("x", name)
        assert ends is not None
        for i in range(20):
            values = pa.array([row[name] for row in rows[5 * i : 5 * i + 5]], type_)
            if name == "double" and pc.any(pc.is_nan(values)).as_py():
                assert not ends[0][i].is_valid and not ends[1][i].is_valid
                continue
            ordered = values.take(pc.sort_indices(values.cast(pa.int8()) if name == "flag" else values))
            assert pc.equal(ends[0][i], ordered[0]).as_py() and pc.equal(ends[1][i], ordered[4]).as_py(), (name, i)
    assert groups.ends("x", "items") is None and groups.ends("x", "absent") is None and groups.ends("absent", "long") is None


def numbered(store: DeltaStore, count: int, **others: list[Any]) -> None:
    """An index x of which file i has the long i."""
    rows = [{"long": i, **{name: values[i] for name, values in others.items()}} for i in range(count)]
    store.append([FileKey(str(i), 1, i) for i in range(count)], [1] * count, {column("x"): pa.array(rows, TYPE)})


LONG, DOUBLE = Field("x", "long", "x"), Field("x", "double", "x")


def test_row_groups_that_hold_no_match_are_not_read(store: DeltaStore, reads: list[tuple[int, ...]]) -> None:
    numbered(store, 50)
    snapshot = opened(store)
    everything = np.ones(50, dtype=bool)
    assert np.flatnonzero(in_parts(all_of([LONG > 21, LONG < 24]), snapshot, everything)).tolist() == [22, 23]
    assert reads == [(4,)]
    reads.clear()
    assert np.flatnonzero(in_parts(any_of([LONG == 7, LONG == 49]), snapshot, everything)).tolist() == [7, 49]
    assert reads == [(1,), (9,)]
    reads.clear()
    assert not in_parts(LONG > 50, snapshot, everything).any() and not reads
    assert not in_parts(all_of([LONG < 3, Computed("none", (LONG,), lambda x: pc.less(x, 0))]), snapshot, everything).any()
    assert reads == [(0,)]


def test_only_listed_versions_are_read(store: DeltaStore, reads: list[tuple[int, ...]]) -> None:
    numbered(store, 50)
    listed = np.arange(50) == 17
    assert not in_parts(Computed("none", (LONG,), lambda x: pc.less(x, 0)), opened(store), listed)[17]
    assert reads == [(3,)]


def test_records_at_hand_spare_others(store: DeltaStore, reads: list[tuple[int, ...]]) -> None:
    numbered(store, 50)
    store.append([FileKey(str(i), 1, i) for i in range(50)], [1] * 50, {column("y"): pa.array([{"long": -i} for i in range(50)], TYPE)})
    snapshot, y = opened(store), Field("y", "long", "y")
    order = [int(file.path) for file in snapshot.files]
    few = Computed("few", (LONG,), lambda x: pc.equal(x, 33))
    found = in_parts(all_of([few, Computed("all", (y,), lambda y: pc.less_equal(y, 0))]), snapshot, np.ones(50, dtype=bool), 0, ["x"])
    assert [order[i] for i in np.flatnonzero(found)] == [33]
    assert len(reads) == 1 and len(reads[0]) == 2  # of five files: those with records of x have none of y


def test_versions_without_a_record_are_evaluated_as_well(store: DeltaStore) -> None:
    """Where another index tells enough of them, deeper than in an AND."""
    numbered(store, 20)
    store.append([FileKey("new", 1, 1)], [1], {column("y"): pa.array([{"long": 7}], TYPE)})
    snapshot, y = opened(store), Field("y", "long", "y")
    clause = any_of([all_of([y == 1, LONG == 50]), all_of([y == 2, LONG == 60])])
    assert whole(clause, opened(store)).sum() == 0
    assert in_parts(clause, snapshot, np.ones(21, dtype=bool), 0, ["y"]).sum() == 0
    assert in_parts(clause, opened(store), np.ones(21, dtype=bool)).sum() == 0


def test_a_null_or_a_nan_in_a_row_group_keeps_its_file(store: DeltaStore) -> None:
    numbers = [float(i) for i in range(20)]
    numbers[7] = math.nan
    numbered(store, 20, double=[*numbers[:12], None, *numbers[13:]])
    snapshot, everything = opened(store), np.ones(20, dtype=bool)
    for _ in range(3):  # more is known once row groups were read
        assert np.flatnonzero(in_parts(DOUBLE > 16.5, snapshot, everything)).tolist() == [7, 12, 17, 18, 19]
    groups = snapshot.rows_in_groups().groups
    assert (DOUBLE > 100.0).rules_out(Groups(groups.count, groups.ends)).tolist() == [True, False, False, True]


def test_no_more_is_in_memory_than_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 1000)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    store, sizes = DeltaStore(f"file:{tmp_path}/_data_skip"), []
    numbered(store, 20_000, text=[f"{i:0100}" for i in range(20_000)])
    read = Rows.records

    def noted(self: Rows, *args: Any) -> Any:
        found = read(self, *args)
        sizes.append(sum(records.nbytes for records in found.values()))
        return found

    monkeypatch.setattr(Rows, "records", noted)
    snapshot = opened(store)
    text = Field("x", "text", "x")
    clause = Computed("ends", (text,), lambda text: pc.ends_with(text, "77"))
    assert np.flatnonzero(in_parts(clause, snapshot, np.ones(20_000, dtype=bool), 1 << 20)).tolist() == [*range(77, 20_000, 100)]
    assert 4 <= len(sizes) <= 20 and max(sizes) <= 1 << 20
    assert sum(sizes) > 3 << 19


def test_when_the_time_is_up_the_rest_is_kept(store: DeltaStore) -> None:
    numbered(store, 50)
    clause = Computed("none", (LONG,), lambda x: pc.less(x, 0))
    snapshot, everything = opened(store), np.ones(50, dtype=bool)
    deadline, asked = Deadline(math.inf), iter([False, False, True])
    deadline.is_over = lambda: next(asked, True)  # type: ignore[method-assign]
    assert part_by_part(clause, snapshot, {}, everything, 0, deadline).sum() == 45
    late = Deadline(0)
    assert part_by_part(clause, opened(store), {}, everything, 0, late).all() and late.note


def test_what_cannot_be_read_is_told(store: DeltaStore) -> None:
    numbered(store, 10)
    snapshot = opened(store)
    for part in Path(store.location).glob("*.parquet"):
        part.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        in_parts(Computed("none", (LONG,), lambda x: pc.less(x, 0)), snapshot, np.ones(10, dtype=bool))


def test_which_columns_fit(store: DeltaStore) -> None:
    numbered(store, 1000, text=["some text" * 10] * 1000)
    store.append([FileKey("0", 1, 0)], [1], {column("y"): pa.array([{"long": 1}], TYPE)})
    snapshot = opened(store)
    assert snapshot.fitting(["x", "y"], 1 << 30) == snapshot.fitting(["y", "x"], 1 << 30)
    assert snapshot.fitting(["x", "y"], 1) == []
    size = snapshot.records(["x"])["x"].nbytes
    assert snapshot.fitting(["x"], size) == ["x"] and snapshot.fitting(["x"], size - 1) == []
    assert opened(store).fitting(["x"], 2 * size) == ["x"] and opened(store).fitting(["x"], size // 2) == []


def test_row_groups_are_of_so_many_rows_or_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_parts, "_BYTES_OF_GROUP", 16 << 20)
    for width, rows, groups in ((1, 70_000, 2), (10_000, 4_000, 3), (30_000, 2_000, 2)):
        store = DeltaStore(f"file:{tmp_path}/{width}")
        numbered(store, rows, text=["x" * width] * rows)
        assert opened(store).rows_in_groups().groups.count == groups
        (part,) = Path(store.location).glob("*.parquet")
        chunk = pq.read_metadata(part).row_group(0).column(0)
        assert chunk.compression == "SNAPPY" and chunk.is_stats_set


def test_compaction_sorts_by_the_first_index_that_tells_an_order(lake: Lake) -> None:
    for i in range(6):
        lake.file(f"{i}.parquet", {"s": [f"s{i}"], "flag": [i % 2 == 0], "x": [i * 5 % 6], "y": [i]})
    table = lake.index(ValueList("s"), MinMax("flag"), MinMax("x"), MinMax("y"))
    smallest = [row["min"] for row in table.records()["min_max__x"].to_pylist()]
    assert smallest != sorted(smallest)
    table.compact()
    assert [row["min"] for row in table.records()["min_max__x"].to_pylist()] == sorted(smallest)
    lake.check("x = 2", read=["4.parquet"])


def test_queries_are_the_same(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is of one value of x, but for one of NULL and one of NaN; indexes are made apart, refreshed, and dropped."""
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 2)
    monkeypatch.setattr(new_parts, "_LEAST_IN_GROUP", 1)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    for i in range(6):
        lake.file(f"{i}.parquet", {"x": [float(i)] * 3, "y": [i, i + 1, None], "s": [f"s{i}", f"t{i}", None]})
    lake.file("null.parquet", {"x": pa.nulls(3, pa.float64()), "y": [100] * 3, "s": ["u"] * 3})
    lake.file("nan.parquet", {"x": [math.nan] * 3, "y": [200] * 3, "s": ["v"] * 3})
    lake.index(MinMax("x"), ValueList("s"))
    lake.index(MinMax("y"), BloomFilter("s"), Prefix("s", 2))
    lake.file("6.parquet", {"x": [6.0], "y": [6], "s": ["s6"]})
    lake.table().refresh()
    cases = [
        ("x > 5.5", ["6.parquet", "nan.parquet"]),
        ("x = 3 AND y = 4", ["3.parquet"]),
        ("x = 3 OR s = 't5'", ["3.parquet", "5.parquet"]),
        ("x < y AND y > 99", ["nan.parquet"]),
        ("s LIKE 'v%'", ["nan.parquet"]),
        ("upper(s) = 'S6'", ["6.parquet"]),
        ("y > 1000", []),
    ]
    with settings_of(lake.spark, {"spark.data_skip.records.maxBytes": "1"}):
        for where, read in cases:
            report = lake.check(where)
            assert report.files_read <= len(read) + 2, where
            with settings_of(lake.spark, {"spark.data_skip.records.maxBytes": "1g"}):
                assert lake.check(where).files_read == report.files_read, where
        lake.table().drop_index(ValueList("s"))
        lake.table().compact()
        lake.check("x = 3 AND y = 4", read=["3.parquet"])
        assert "takes more than" not in str(lake.check("y > 1000", read=[]))
