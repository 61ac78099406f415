"""What a footer says of NULLs that cannot be, and bounds that pyarrow cannot hold; found by a reader who changed footers."""

from __future__ import annotations

import base64
import zlib

import pytest

from data_skip import BloomFilter, MinMax
from tests.support import Lake

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
