"""What readers of the building of indexes and of the store's writers found: counts of NULLs in footers, links, `~`; and the claims lab."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from data_skip import BloomFilter, DataSkipError, MinMax, ValueList
from data_skip.planning.catalog import places_of
from tests.support import Lake, aged

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


@pytest.mark.parametrize("name", ["at=01%3A00", "a[b", "a\x7fb"])
def test_a_link_to_a_folder_that_deltalake_misreads(lake: Lake, name: str) -> None:
    """deltalake follows links first. Version 0 was written, and each query told of an index that cannot be read."""
    real = lake.folder.parent / name
    lake.folder.rename(real)
    lake.folder.symlink_to(real)
    lake.file("a.parquet", {"x": [1]})
    with pytest.raises(DataSkipError, match=r"deltalake cannot write to .*index_root"):
        lake.table().create_index(MinMax("x"))
    assert not list(lake.folder.glob(".data_skip/**/*.json"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 2").collect()
    assert "cannot be read" not in str(lake.skipping.report())


@pytest.mark.parametrize("index_root", ["~/indexes", "FILE:{home}/indexes", "indexes"])
def test_where_an_index_root_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_root: str) -> None:
    """As the user's shell has it, to all libraries, whatever the folder is later in which the process is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store = places_of("file:/table", index_root.format(home=tmp_path), None)
    monkeypatch.chdir("/")
    assert store.snapshot() is None
    assert Path(store.location).parents[0] == tmp_path / "indexes"


def test_files_of_what_holds_nowhere(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    assert lake.table().files("false") == lake.table().files("x = 1 AND x = 2") == []
    assert len(lake.table().files("true")) == 1


def test_an_error_of_a_map_that_is_caught(lake: Lake) -> None:
    """By Spark's own fault the pairs before it are in the map of the job's next row, too: 'b:1' has two there."""
    lake.file("a.parquet", {"s": ["z:1,z:2", "b:1"]})
    lake.file("0.parquet", {"s": ["b:1"]})
    lake.index(ValueList("s"))
    wheres = [f"try_add(DATE'2020-01-01', size(str_to_map(s))) = DATE'2020-01-0{day}'" for day in (2, 3)]
    assert lake.reads(*wheres, "s = 'z:1,z:2'")[2] == {"a.parquet"}
