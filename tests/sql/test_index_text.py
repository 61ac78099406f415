"""Indexes as text: what describe() prints is read again as the same index, nothing is evaluated, and errors say what to write."""

from __future__ import annotations

import re

import pytest

from data_skip import BloomFilter, DataSkipError, GapList, Hybrid, Index, MetricDistance, MinMax, Prefix, Suffix, ValueList
from data_skip.building.index_text import parse_index
from data_skip.planning.catalog import Catalog
from geo_skip.geo_box import GeoBox
from geo_skip.s2_covering import S2Covering
from log_skip.formatted import Formatted
from log_skip.ngram import NGram

KINDS = Catalog(None).knowledge.kinds


@pytest.mark.parametrize(
    "index",
    [
        MinMax("temp"),
        MinMax("address.city"),
        MinMax("`odd, name (`.`it's`"),
        MinMax("concat(a, ',', b)"),
        MinMax("regexp_extract(s, '\\d+,', 0)"),
        MinMax("if(s = 'it\\'s, (', 1, 2)"),
        ValueList("year(time)"),
        ValueList("a = b"),
        ValueList("a == 1"),
        ValueList("m['k']", limit=3),
        ValueList("s LIKE '%)%'"),
        ValueList("x -> 1"),
        GapList("x", gaps=3),
        BloomFilter("x", fpp=1e-05),
        Hybrid("x", threshold=10, fpp=0.5),
        Prefix("city", 4),
        Suffix("city"),
        MetricDistance("name", origin='O\'Hara, "J"'),
        MetricDistance("lat", "lng", metric="great_circle", origin=[1.5, -2.0]),
        GeoBox("lat", "lng", boxes=2),
        S2Covering("lat", "lng"),
        Formatted("agent", "get_agent_name"),
        NGram("line", n=4),
    ],
    ids=str,
)
def test_reads_what_describe_prints(index: Index) -> None:
    assert parse_index(str(index), KINDS) == index


@pytest.mark.parametrize(
    ("text", "index"),
    [
        (" MinMax ( temp ) ", MinMax("temp")),
        ("MinMax('temp')", MinMax("temp")),
        ('MinMax("year(time)")', MinMax("year(time)")),
        ("Suffix(city, 4)", Suffix("city", 4)),
        ("Suffix('city', length=4, limit = 7)", Suffix("city", 4, 7)),
        ("Suffix(city, None)", Suffix("city")),
        ("Suffix(length=3, expression='city')", Suffix("city", 3)),
        ("ValueList('limit = 5')", ValueList("limit = 5")),
        ("Formatted(agent, 'get_agent_name')", Formatted("agent", "get_agent_name")),
        ("Formatted(agent, get_agent_name)", Formatted("agent", "get_agent_name")),
        ("MinMax(coalesce(a, 'x,y)', \"z\"))", MinMax("coalesce(a, 'x,y)', \"z\")")),
        ("MinMax(`a, (b`)", MinMax("`a, (b`")),
        ("Prefix(path, length=None)", Prefix("path")),
        ("S2Covering(lat, lng, max_level=9)", S2Covering("lat", "lng", max_level=9)),
        ("Formatted(path, 'path_prefix', [2])", Formatted("path", "path_prefix", [2])),
        ("MinMax(a\n+ b)", MinMax("a\n+ b")),
        ("MinMax(__import__('os').system('x'))", MinMax("__import__('os').system('x')")),  # an expression: Spark will not know it
    ],
)
def test_reads_what_people_write(text: str, index: Index) -> None:
    assert parse_index(text, KINDS) == index


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("temp", "'temp' is no index; write it as 'MinMax.temp.' or 'Suffix.city, length=4.'"),
        ("", "is no index"),
        ("MinMax(temp", "is no index"),
        ("MinMax(temp); MinMax(lat)", "closes what was not opened"),
        ("MinMax(temp) MinMax(lat)", "closes what was not opened"),
        ("MinMax()", "an SQL expression is missing"),
        ("MinMax(a,)", "an SQL expression is missing"),
        ("MinMax((a)", r"a '\)' is missing"),
        ("MinMax(a])", "closes what was not opened"),
        ("MinMax('a)", "a ' is missing"),
        ("MinMax(a, b)", r"MinMax takes 1 SQL expression\(s\), not 2"),
        ("MinMax(4)", "not 4"),
        ("MinMax(a, foo=3)", "not 2"),
        ("Minmax(a)", "names no kind of index that this session knows; did you mean MinMax[?] these are: BloomFilter, .*ValueList"),
        ("os.system(a)", "is no index"),
        ("eval(a)", "these are: BloomFilter"),
        ("Index(a)", "these are: BloomFilter"),
        ("Suffix(a, limit=0)", "limit is the largest number"),
        ("Suffix(a, limit=b)", "limit=b is no literal"),
        ("Suffix(a, limit=open('x'))", r"limit=open\('x'\) is no literal"),
        ("Suffix(a, limit=1, limit=2)", "says limit twice"),
        ("Suffix(limit=1, a)", "'a' stands behind limit=...; SQL expressions come first"),
        ("Suffix(a, 1, 2, 3)", "is no index"),
        ("ValueList(a, limt=3)", r"not 2: .*; did you mean limit=\.\.\.\?"),
        ("Suffix(a, length='4')", "length is how many"),
    ],
)
def test_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(DataSkipError, match=message) as raised:
        parse_index(text, KINDS)
    assert re.search(re.escape(repr(text)), str(raised.value))


def test_what_others_are_derived_from_is_no_kind() -> None:
    assert {"MinMax", "GeoBox", "S2Covering", "Formatted"} <= set(KINDS) and not {"Index", "PlaceIndex"} & set(KINDS)
