"""What a footer of Parquet says that is not so, or not of this column: counts of NULLs, short bounds, odd names, encrypted columns."""

from __future__ import annotations

import base64
import zlib
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from data_skip import BloomFilter, Index, MinMax, ValueList
from data_skip.footer import Footer
from tests.support import Lake, aged

# x: 1, 2, NULL, written with no count of NULLs, and appended to this file by ParquetFileWriter of parquet-mr 1.15.2.
APPENDED = (
    "c-mD^O>2Wd5S?9R$<athT-bw`hyf#R;u<~nRzeS<|3Hlrq3MTdN`Fj$PkvWsp@$UaG0c0sH^b~7Uo^Vtq4!J;d;kUjoPdBn`Y8$$1qv0qmJMC22Ryl(=JP*`<1mLKm+6x@cg"
    "OzJAP3|N9<m<@gj7<+ph!312}vXp8~ie=xQJ)}H?aE+AX9stjRQKz3f3p$8MOz1WcSfbpO^k?b(*5@emaluZ;{Tl$<|TQUdGo$RGGSOI$fGJuZDWP9U5JjI`1}{wlhPqEsN"
    "X?ZCNd)QWSqB?CCc*3GgSf"
)
# x: decimals of 20 digits, 1, 2, NULL, in 9 bytes each, with a Bloom filter; of smallest and largest value two bytes are told.
SHORT = (
    "c-nPP!D_-l5PiEYi}etyFd++j*h@kRQKHbEJj6eco=YJ}z#dxDsIA9-ieI5Ozs*^xdeLRx&hU6M`(~$;*CBy&$}`ejXwo)%!2glgQiL+S$#=V+V6<8n?xLf@THp-)0R^yy;)"
    "X&2is6)3K04{;%4E-o^l~<@K1-6IfO;e&v57luF3sNj&GJwiYit5bfr&K?D~QQ(CpeP!`0ff4B9bT5#_}xi8{t9FyM59ok=}}*p_4Wzq^>TT?{&56&+58gHqGMK{Z!5JWAWu"
    "iFN1tAG^e%pj46NQ5mU}0Yy"
)


def put(lake: Lake, packed: str) -> None:
    """A file of these bytes."""
    lake.bytes("a.parquet", zlib.decompress(base64.b85decode(packed)))


def test_parquet_mr_counts_minus_one_null_of_files_that_it_appends(lake: Lake) -> None:
    """Where those do not say how many there are. IS NULL was false of such a file."""
    put(lake, APPENDED)
    assert lake.table().create_index(MinMax("x")).files_lifted == 0
    lake.view()
    for where in ("x IS NULL", "x <=> NULL", "coalesce(x, 7) = 7", "x = 1"):
        lake.check(where, read=["a.parquet"])
    lake.check("x = 7", read=[])


@pytest.mark.parametrize(("index", "lifted"), [(MinMax("x"), 0), (BloomFilter("x"), 1)])
def test_bounds_that_are_shorter_than_values(lake: Lake, index: MinMax | BloomFilter, lifted: int) -> None:
    """Spark reads such a file. pyarrow ended the process that asked for its statistics: that of the driver."""
    put(lake, SHORT)
    assert lake.table().create_index(index).files_lifted == lifted
    lake.view()
    for where in ("x IS NULL", "x = 2"):
        lake.check(where, read=["a.parquet"])
    lake.check("x = 7", read=[])


# x: 300, said to be of 8 bits; y: 70000, of 16, by parquet-mr 1.15.2, which does not look, with Bloom filters.
TOO_LARGE = (
    "c-n1~y-UMD6u@83pivjA-jP6%TT&FXG_{GX1kp{zL7YWM+Y}0o)>yS}-CP`<9Yh!LKXGvq1sB0V#mU*hce#GVk6iM;^Sj)8WMgI1ra(1ZS8wl+gC-@?1(;O;I;qq1%h%yVs*zH<s"
    "pqGguhB&6<bE8C6ftyFyx&oj7z_-Cl5~=S&{2PrF+-{!Nt0>RWdOoj>RC-`(Ph&F=sx07Z~-g>v{7j?M&cWQ|0-8Sa7-2m71y_AG5?RwyGS1IBsWoG3pIZB`l=GrK|Fv3y3(?y)^"
    "8@Xlpw`{V~b;8tRJXYBUGi@?3R!i#Uq=Bmj-ODVQJV7rA0BwT;`@VPqtM`2Ga=-J3_^52(YsOx^2$L-T`|cbdp^wbP<x!;~sR$ljD$5K>J<-`uPL;A)qh6p_LxA>B%ulDWH8X0li"
    "a`(DndA&j~`=g~CW$Lp3SN_0&;RYX(s!+^q!l%#I%h`cTmF!$v&-eXZd~dj~;tE{ynL5bf7?cetIgolK5Tmkw(63NJXtz%SdbQ_2>q#oR*GxARUhTb`dUm7QvS!Odr#YRN6k7@in"
    "(e8Vjse*^!LZ+X9L2m"
)


@pytest.mark.parametrize("index", [BloomFilter, MinMax, ValueList])
@pytest.mark.parametrize(("column", "equal"), [("x", 44), ("y", 4464)])
def test_numbers_for_which_their_type_has_no_room(lake: Lake, index: type[Index], column: str, equal: int) -> None:
    """Of them Spark reads the lowest bits, and the filter in the file is of what lies there: such a file was skipped."""
    put(lake, TOO_LARGE)
    lake.file("b.parquet", {"x": pa.array([1], pa.int8()), "y": pa.array([1], pa.int16())})
    lake.table().create_index(index(column))
    lake.view()
    lake.query(f"SELECT * FROM t WHERE {column} = {equal}", read=["a.parquet"])
    lake.query(f"SELECT * FROM t WHERE {column} = 1", read=["b.parquet"])


# items: list<struct<price: bigint>>, [[{1}], []], by pyarrow 25.0.1: its footer counts no NULL, and two values.
BY_ARROW_25 = (
    "c-oaxu};G<5Iq~$WMJuVku7D&(x^yoMUk>)VPjyZ7+6shEMX~WgA?GN82J`Hh;u?jB`T!aC;R;F{O<YW?aloL0Sy|1f*gr5Q4xo6sEGY|F)WXu^EoX67Hop1"
    "q`#!>C@K4glqSI01;7+Sq3ax!?5bzmlqd*TaK+sd<Xp{MZ<`J|%DaMcbD>1-x*mB5p4-|sb{9^=omuN$Wg!+i(I$h0m=_Xs;6g&<4@Q<n#Yw%;35IubC@!VW"
    "2KB$xx1+v6)1+opaZvD+6(=?7pkgLKKZL#oY4I12MHbNp%d{>1%d72IRokvg@AvQNoAsUB@6zjheYM_blK_yxBQbC3Lwo}Vf;r&"
)


@pytest.mark.parametrize("index", [MinMax("items.price"), BloomFilter("items.price")])
def test_nulls_of_lists_of_structs(lake: Lake, index: MinMax | BloomFilter) -> None:
    """Arrow 12 to 25 counts no NULL for an array without elements (apache/arrow#51097), so such a file was skipped."""
    path = lake.folder / "a.parquet"
    path.write_bytes(zlib.decompress(base64.b85decode(BY_ARROW_25)))
    aged(path)
    assert lake.table().create_index(index).files_lifted == 0
    lake.view()
    lake.check("forall(items.price, p -> p > 100)", read=["a.parquet"])
    lake.check("NOT exists(items.price, p -> p < 100)", read=["a.parquet"])
    lake.check("exists(items.price, p -> p = 100)", read=[])


def test_a_footer_that_tells_what_another_writer_counted() -> None:
    """parquet-mr's rewriter copies counts, and writes itself in as who created the file."""

    def told(created_by: str, **said: str) -> tuple[bool, bool]:
        metadata = SimpleNamespace(created_by=created_by, metadata={key.encode(): text.encode() for key, text in said.items()})
        footer = Footer(Path("a.parquet"), metadata)  # type: ignore[arg-type]
        return footer._counts_nulls(of_lists=False), footer._counts_nulls(of_lists=True)

    spark, mr, arrow = {"org.apache.spark.version": "4.0.1"}, "parquet-mr version 1.15.2 (build x)", "parquet-cpp-arrow version 26.0.1"
    assert told(mr, **spark) == (True, True)
    assert told(mr) == told(mr, **spark, **{"ARROW:schema": "x"}) == told(arrow) == told(arrow, **spark) == (True, False)
    assert told(mr, **spark, **{"original.created.by": arrow}) == told("parquet-mr version 1.8.3 (build x)", **spark) == (False, False)


@pytest.mark.parametrize(
    ("index", "text", "odd"),
    [
        (MinMax("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (BloomFilter("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (MinMax("x"), b"unread", b"unrea\xff"),
        (ValueList("s.y"), b"unread", b"unrea\xff"),
        (MinMax("d"), b"9.9.9", b"9.9.\xff"),
    ],
)
def test_a_footer_with_names_that_are_no_text(lake: Lake, index: Index, text: bytes, odd: bytes) -> None:
    """Spark reads such a file; to index it beside others was a raw error, each time."""
    types = [("x", pa.int32()), ("d", pa.date32()), ("s", pa.list_(pa.struct([("y", pa.int32())]))), ("unread", pa.int32())]
    schema = pa.schema(types, {"org.apache.spark.version": "9.9.9"})
    for i in (1, 2):
        day = date(2020, 1, i)
        pq.write_table(pa.table({"x": [i], "d": [day], "s": [[{"y": i}]], "unread": [i]}, schema), lake.folder / f"{i}.parquet")
    path = lake.folder / "2.parquet"
    assert text in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(text, odd))
    for file in lake.folder.glob("*.parquet"):
        aged(file)
    table = lake.skipping.table(str(lake.folder), schema="x int, d date, s array<struct<y: int>>")
    table.create_index(index)
    lake.file("3.parquet", {"x": pa.array([3], pa.int32())})
    assert table.refresh().files_collected == 1
    frame = lake.spark.read.schema("x int, d date, s array<struct<y: int>>").parquet(str(lake.folder))
    for where in ("x = 2", "d = DATE'2020-01-02'", "array_contains(s.y, 2)"):
        assert frame.where(where).count() == 1


STRUCT = pa.struct([("b", pa.int64())])


def test_a_column_with_a_dot_is_no_field_in_a_footer(lake: Lake) -> None:
    """A file without the struct `s` has a column `s.b`, whose path in the footer is that of the field: its bounds were taken for it."""
    lake.file("field", {"k": [1], "s": pa.array([{"b": 1}], STRUCT)})
    lake.file("column", {"k": [2], "s.b": [100]})
    schema = "k bigint, s struct<b: bigint>"
    report = lake.table(schema=schema, format="parquet").create_index(MinMax("s.b"))
    assert report.files_lifted == 1
    lake.view(schema=schema)
    for where, read in (("s.b IS NULL", "column"), ("coalesce(s.b, 0) = 0", "column"), ("s.b = 1", "field")):
        lake.query(f"SELECT k FROM t WHERE {where}", read=[read])
    lake.query("SELECT k FROM t WHERE s.b = 100", read=[])


class KeepsKeys(encryption.KmsClient):
    """A key is kept in the file, behind the name of the one that should protect it."""

    def __init__(self, connection: encryption.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
        return base64.b64decode(wrapped)


def test_encrypted_columns_beside_a_plain_footer(lake: Lake) -> None:
    """pyarrow ended the process when it was asked for what the footer says of one."""
    rows = pa.table({"id": [1, 2], "secret": [3, 4]})
    keys = encryption.EncryptionConfiguration(footer_key="f", column_keys={"k": ["secret"]}, plaintext_footer=True)
    properties = encryption.CryptoFactory(KeepsKeys).file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    with pq.ParquetWriter(lake.folder / "a", rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows)
    aged(lake.folder / "a")
    lake.file("b", {"id": [100], "secret": [5]})
    assert lake.table().create_index(MinMax("secret")).files_unreadable == 1
    report = lake.table().create_index(MinMax("id"))
    assert report.files_lifted == 1
    lake.view()
    lake.query("SELECT id FROM t WHERE id > 50", read=["b"])
    lake.query("SELECT id FROM t WHERE id < 50", read=["a"])
