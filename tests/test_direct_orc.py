"""ORC files that Spark's tasks read by pyarrow: values are those that Spark reads. Where that is not sure, Spark reads them."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pytest
from py4j.java_gateway import get_field, set_field

from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, Suffix, ValueList
from data_skip.building.lifting import Part
from data_skip.building.plain import NotPlain
from data_skip.building.plain_orc import orc_batches
from data_skip.expression import Column
from tests.support import Lake, aged, settings_of
from tests.test_direct import COLUMNS, Everything, Once, bits, by_both

NAMES = ["flag", "tiny", "small", "number", "large", "near", "far", "text", "raw", "day", "nothing", "same"]
ROWS = pa.table({name: COLUMNS[name] for name in NAMES})


def write(lake: Lake, name: str, columns: pa.Table, **options: object) -> Path:
    po.write_table(columns, lake.folder / name, **options)
    return aged(lake.folder / name)


def test_values_are_those_that_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for codec in ("uncompressed", "zlib", "snappy", "zstd"):
        write(lake, codec, ROWS, compression=codec, stripe_size=1024, batch_size=64, compression_block_size=65536)
    write(lake, "dictionary", ROWS, dictionary_key_size_threshold=1.0, file_version="0.11")
    write(lake, "no_rows", ROWS.slice(0, 0))
    source = lake.file("../source/a.parquet", ROWS)
    for codec in ("none", "zlib", "snappy", "zstd"):
        more = {"orc.compress": codec.upper(), "orc.stripe.size": "4096", "orc.dictionary.key.threshold": "1.0"}
        lake.spark_file(f"spark_{codec}", lake.spark.read.parquet(str(source)).repartition(1), "orc", **more)
    indexes: list[Index] = [*map(Everything, NAMES), *map(Once, ("large", "near", "far", "text", "raw", "flag")), Prefix("text", 2)]
    indexes += [kind(name) for kind in (MinMax, ValueList) for name in NAMES]
    indexes += [GapList("number"), BloomFilter("large"), Suffix("text", 1)]
    report, _ = by_both(monkeypatch, lake.table(format="orc"), *indexes)
    assert (report.files_direct, report.why_by_spark) == (10, "")


BY_SPARK = {  # the table's type, what lies as it says, and what does not
    "of_less_bits": ("bigint", pa.array([1, 2]), pa.array([1, None], pa.int32())),
    "half_of_a_double": ("double", pa.array([0.1, math.nan]), pa.array([0.1, 0.2], pa.float32())),
    "of_bytes": ("string", pa.array(["a", "b"]), pa.array([b"b", b"c"])),
    "of_text": ("int", pa.array([1, 2], pa.int32()), pa.array(["3", "4"])),
    "an_old_date": ("date", pa.array([date(1901, 1, 1)] * 2), pa.array([None, date(1500, 1, 1)])),
    "no_such_column": ("bigint", pa.array([1, 2]), None),
    "Other_Letters": ("bigint", pa.array([1, 2]), None),
}


def test_what_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is as the table says but for one column."""
    usual = {name: array for name, (_, array, _) in BY_SPARK.items()}
    write(lake, "usual", pa.table(usual))
    for name, (_, array, odd) in BY_SPARK.items():
        others = {other: column for other, column in usual.items() if other != name}
        more = {name.lower(): array} if name == "Other_Letters" else {name: odd} if odd is not None else {}
        write(lake, name, pa.table(others | more))
    write(lake, "by_places", pa.table({f"_col{i}": array for i, array in enumerate(usual.values())}))
    schema = ", ".join(f"{name} {type_}" for name, (type_, _, _) in BY_SPARK.items())
    report, rows = by_both(monkeypatch, lake.table(format="orc", schema=schema), *map(Everything, BY_SPARK))
    assert (len(rows), report.files_direct) == (len(BY_SPARK) + 2, 1)


def test_text_that_is_padded(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's library takes blanks away from the end of char(n), pyarrow leaves them."""
    orc, hadoop = lake.spark._jvm.org.apache.orc, lake.spark._jvm.org.apache.hadoop
    schema = orc.TypeDescription.fromString("struct<s:char(5)>")
    options = orc.OrcFile.writerOptions(hadoop.conf.Configuration()).setSchema(schema)
    writer = orc.OrcFile.createWriter(hadoop.fs.Path(str(lake.folder / "a")), options)
    batch = schema.createRowBatch()
    get_field(batch, "cols")[0].setVal(0, b"ab")
    set_field(batch, "size", 1)
    writer.addRowBatch(batch)
    writer.close()
    (lake.folder / ".a.crc").unlink()
    aged(lake.folder / "a")
    assert po.read_table(lake.folder / "a")["s"].to_pylist() == ["ab   "]
    report, rows = by_both(monkeypatch, lake.table(format="orc", schema="s string"), Everything("s"))
    assert (report.files_direct, rows[0]["everything__s"]["values"]) == (0, [bits("'ab'")])


@pytest.mark.long
def test_how_a_table_is_read(lake: Lake) -> None:
    write(lake, "a", pa.table({"n": [1], "s": [{"x": 1}], "p": [date(2024, 1, 1)]}))

    def direct_files(*indexes: Index, **options: str) -> int:
        table = lake.table(format="orc", options=options)
        files = table.create_index(*indexes).files_direct
        table.drop_index(*indexes)
        return files

    assert direct_files(MinMax("n")) == direct_files(MinMax("n"), MinMax("n + 1")) == direct_files(MinMax("n"), mergeSchema="true") == 1
    assert direct_files(MinMax("s.x")) == direct_files(MinMax("n + 1")) == direct_files(MinMax("n"), unheardOf="x") == 0
    assert direct_files(MinMax("n"), **{"orc.force.positional.evolution": "true"}) == 0
    with settings_of(lake.spark, {"spark.sql.legacy.charVarcharAsString": "true"}):
        assert direct_files(MinMax("n")) == 0


def test_a_footer_with_something_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a"
    po.write_table(pa.table({"n": [1, 2]}), path, compression="uncompressed")
    column, part = Column("bigint", None, ("n",)), Part(0, "", 0, 0)
    (batch,) = orc_batches(path, part, [column])
    assert batch["n",].to_pylist() == [1, 2]
    content = path.read_bytes()
    length = content[-1]
    postscript = content[-1 - length : -1]
    for added in (b"\x48\x01", b"\x52\x00"):  # a field 9, as of an encrypted file the tenth of its footer
        path.write_bytes(content[: -1 - length] + postscript + added + bytes([length + 2]))
        with pytest.raises(NotPlain, match="has a field"):
            next(orc_batches(path, part, [column]))
