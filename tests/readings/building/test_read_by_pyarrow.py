"""What pyarrow reads otherwise than Spark, found by tracing both through their sources, or of another file than was listed."""

from __future__ import annotations

import shutil
import struct
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import Index, MinMax, ValueList
from data_skip.building import one_pass
from data_skip.building.file_records import _BYTES, Wanted, records_of, takes_distinct
from data_skip.building.lifting import Part
from data_skip.expression import Column
from data_skip.store.versions import text_of
from tests.support import Lake, aged, settings_of
from tests.test_direct import Everything, by_both

ROW_BY_ROW = {"spark.sql.parquet.enableVectorizedReader": "false"}
PLAIN: dict[str, Any] = {"use_dictionary": False, "compression": "NONE", "write_statistics": False, "store_schema": False}


def rewritten(path: Path, *changes: tuple[bytes, bytes]) -> None:
    """Replaces bytes of a file, each stretch being there once."""
    content = path.read_bytes()
    for old, new in changes:
        assert (content.count(old), len(old)) == (1, len(new))
        content = content.replace(old, new)
    path.write_bytes(content)
    aged(path)


def with_packed_levels(path: Path) -> None:
    """64 numbers, every third NULL, of which levels lie in the order of bits that parquet-mr knows as BIT_PACKED; Arrow takes another."""
    numbers = [i if i % 3 else None for i in range(64)]
    pq.write_table(pa.table({"v": pa.array(numbers, pa.int32())}), path, **PLAIN)
    values = b"".join(struct.pack("<i", number) for number in numbers if number is not None)
    bits = "".join("0" if number is None else "1" for number in numbers)
    levels = bytes(int(bits[i : i + 8], 2) for i in range(0, 64, 8))
    mirrored = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, 64, 8))
    header = bytes.fromhex("15061506")  # both kinds of levels as RLE
    rewritten(path, (b"\x09\0\0\0\x11" + mirrored + values, levels + values + bytes(5)), (header, bytes.fromhex("15081506")))


def test_levels_that_are_packed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with_packed_levels(lake.folder / "a.parquet")
    with settings_of(lake.spark, ROW_BY_ROW):
        report, _ = by_both(monkeypatch, lake.table(), Everything("v"))
        assert (report.files_direct, report.why_by_spark) == (0, f"it is read with {next(iter(ROW_BY_ROW))}")


def test_types_that_are_told_twice(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a type of logic and a converted type that are at odds, parquet-mr takes the second, Arrow the first."""
    path = lake.folder / "a.parquet"
    pq.write_table(pa.table({"v": pa.array([1_600_000_000_000, 5], pa.timestamp("us", "UTC"))}), path, **PLAIN)
    writer = pq.read_metadata(path).created_by.encode()
    milliseconds = b"\x18\x01v\x25\x14", b"\x18\x01v\x25\x12"
    rewritten(path, milliseconds, (writer, b"somebody".ljust(len(writer), b"!")))
    report, _ = by_both(monkeypatch, lake.table(), Everything("v"))
    assert (report.files_direct, report.why_by_spark) == (0, f"it was written by {'somebody'.ljust(len(writer), '!')!r}")
    lake.table().create_index(ValueList("v"), MinMax("v"))
    lake.check("v > TIMESTAMP '2020-01-01'")


def test_versions_are_compared_as_text(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("10.0.0", "3", "2.4.8", "3.0.0", "4.1.0-SNAPSHOT", "x", ""):
        days = pa.table({"v": pa.array([date(1400, 2, 28)])})
        lake.file(f"{version}.parquet", days.replace_schema_metadata({"org.apache.spark.version": version}))
    with settings_of(lake.spark, {"spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED"}):
        report, _ = by_both(monkeypatch, lake.table(), Everything("v"))
    assert report.files_direct == 2


class Widest(Index):
    """The bytes of the largest array that it is given."""

    fields = {"bytes": pa.int64(), "rows": pa.int64()}

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        return {"bytes": values[0].nbytes, "rows": len(values[0])}

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"bytes": max(a["bytes"], b["bytes"]), "rows": a["rows"] + b["rows"]}


class WidestOnce(Widest):
    distinct = True

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        return super().collect(*values)


@pytest.mark.parametrize("shared", ["by a dictionary", "by the text before"])
def test_text_that_lies_shorter_than_it_is(tmp_path: Path, shared: str) -> None:
    path, rows, long = tmp_path / "a.parquet", 60_000, "x" * 4000
    with pq.ParquetWriter(
        path,
        pa.schema({"v": pa.string()}),
        use_dictionary=shared == "by a dictionary",
        dictionary_pagesize_limit=1 << 14,
        column_encoding=None if shared == "by a dictionary" else {"v": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
    ) as writer:
        writer.write_table(pa.table({"v": pa.array([str(i % 9) for i in range(rows)])}))
        for i in range(2):
            writer.write_table(pa.table({"v": pa.array([f"{i}{long}"] * (rows // 2))}))
    state = path.stat()
    part = Part(0, f"file:{path}", state.st_size, state.st_mtime_ns // 1_000_000)
    found = records_of(part, Wanted([Widest("v"), WidestOnce("v")], [(Column("string", None, ("v",)),)] * 2, {}))
    assert found.file is not None
    often, once = found.file.records
    assert often is not None and often["rows"] == 2 * rows
    assert often["bytes"] <= 1.1 * _BYTES
    assert once is not None and once["bytes"] <= 1.1 * _BYTES


def test_an_index_that_collects_by_a_function_of_its_own() -> None:
    index = ValueList("v")
    assert takes_distinct(index)
    vars(index)["collect"] = lambda *values: {"values": [len(values[0])], "has_null": False}
    assert not takes_distinct(index)


def test_a_file_of_another_time_or_size_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    size, modified = path.stat().st_size, path.stat().st_mtime_ns // 1_000_000
    asked = Wanted([MinMax("x")], [(Column("bigint", None, ("x",)),)], {})
    assert records_of(Part(0, f"file:{path}", size, modified), asked).file is not None
    for other in (Part(0, f"file:{path}", size, modified + 1), Part(0, f"file:{path}", size + 1, modified)):
        with pytest.raises(OSError, match="changed"):
            records_of(other, asked)


def test_also_where_its_footer_is_enough(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver took the footer of whatever lay there: of a file that was put back, time and all, before the table was listed again."""
    path, other = lake.file("a.parquet", {"x": [1, 2, 3]}), lake.folder.parent / "other.parquet"
    kept = lake.folder.parent / "kept.parquet"
    pq.write_table(pa.table({"x": [100, 200]}), other)
    shutil.copy2(path, kept)
    lift = one_pass.lift

    def late(*args: Any) -> Any:
        shutil.copy2(other, path)
        found = lift(*args)
        shutil.copy2(kept, path)
        return found

    monkeypatch.setattr(one_pass, "lift", late)
    assert lake.table().create_index(MinMax("x")).rows == 3  # by a task
    lake.view()
    lake.check("x = 2", read=["a.parquet"])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_characters_of_any_array(kind: pa.DataType) -> None:
    words = pa.array(["ab", "", "ä", "c"], kind)
    for array in (words, words[1:3], words[3:], words[4:], pa.array([], kind), pa.array(["", ""], kind), words.filter([False] * 4)):
        begins, text = text_of(array)
        assert [bytes(text[i:j]).decode() for i, j in pairwise(begins)] == array.to_pylist()
        assert (begins[0], begins[-1]) == (0, len(text))
