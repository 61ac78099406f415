"""How a shell spells indexes and recipes: every index that is installed, as describe prints it and as Python has it."""

from __future__ import annotations

import pytest

from data_skip import BloomFilter, GapList, Hybrid, Index, MetricDistance, MinMax, Prefix, Suffix, ValueList
from data_skip.cli.spelling import index_of, recipe_of
from data_skip.index import shown
from data_skip.planning.catalog import kinds_of
from geo_skip import GeoBox, S2Covering
from log_skip import Formatted, NGram

KINDS = kinds_of()
SPELLED = {
    "MinMax(temp)": MinMax("temp"),
    " MinMax ( address.city ) ": MinMax("address.city"),
    "MinMax(coalesce(a, 'x,y)', \"z\"))": MinMax("coalesce(a, 'x,y)', \"z\")"),
    "MinMax(`a, (b`)": MinMax("`a, (b`"),
    "MinMax('temp')": MinMax("temp"),
    "ValueList(m['k'])": ValueList("m['k']"),
    "ValueList(year(time), limit=5)": ValueList("year(time)", limit=5),
    "ValueList(a = b)": ValueList("a = b"),
    "ValueList(a == 'x\\'y')": ValueList("a == 'x\\'y'"),
    "GapList(x, gaps=3)": GapList("x", gaps=3),
    "BloomFilter(id, fpp=0.001)": BloomFilter("id", fpp=0.001),
    "Hybrid(id, threshold=10)": Hybrid("id", threshold=10),
    "Prefix(path)": Prefix("path"),
    "Prefix(path, length=None)": Prefix("path"),
    "Suffix(city, 4)": Suffix("city", 4),
    'Suffix("city", length = 4)': Suffix("city", 4),
    "MetricDistance(name, origin='O, Brien')": MetricDistance("name", origin="O, Brien"),
    "MetricDistance(lat, lng, metric='great_circle', origin=[1.5, -2])": MetricDistance(
        "lat", "lng", metric="great_circle", origin=[1.5, -2]
    ),
    "GeoBox(lat, lng)": GeoBox("lat", "lng"),
    "GeoBox(geom, boxes=8)": GeoBox("geom", boxes=8),
    "S2Covering(lat, lng, max_level=9)": S2Covering("lat", "lng", max_level=9),
    "Formatted(user_agent, is_bot)": Formatted("user_agent", "is_bot"),
    "Formatted(path, 'path_prefix', [2])": Formatted("path", "path_prefix", [2]),
    "NGram(message, n=4)": NGram("message", n=4),
}


@pytest.mark.parametrize("text", SPELLED)
def test_what_is_spelled(text: str) -> None:
    assert index_of(text, KINDS) == SPELLED[text]


@pytest.mark.parametrize("index", SPELLED.values(), ids=str)
def test_what_is_printed_is_spelled_again(index: Index) -> None:
    quoted = [f"`{sql}`" if "'" in sql and "(" not in sql and "[" not in sql else sql for sql in index.expressions]
    if quoted == list(index.expressions):
        assert index_of(str(index), KINDS) == index
        assert index_of(shown(index.kind, index.expressions, index.parameters), KINDS) == index


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("minmax(temp)", "no index is called 'minmax' (perhaps 'MinMax'); there are: BloomFilter, "),
        ("MinMax", "'MinMax' is no index: write it as"),
        ("MinMax(temp", "is no index"),
        ("MinMax(temp))", "its ) closes nothing"),
        ("MinMax(f(temp)", "it lacks a )"),
        ("MinMax('temp)", "it lacks a '"),
        ("MinMax()", "it needs a column"),
        ("MinMax(a,)", "it needs a column"),
        ("MinMax(a, b)", "takes 1 SQL expression(s), not 2"),
        ("MinMax(4)", "non-empty strings, not 4"),
        ("Suffix(city, length=four)", "length=four is no number"),
        ("Suffix(city, length=0)", "whole number of at least 1"),
        ("Suffix(city, length=__import__('os').getpid())", "is no number"),
        ("Formatted(x, 'nothing')", "nothing"),
        ("__import__('os').system('true')", "no index is called '__import__'"),
        ("Index(x)", "no index is called 'Index'"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        index_of(text, KINDS)
    assert why in str(refused.value)


def test_recipes_of_plugins() -> None:
    assert recipe_of("geo:lat,lng") == [GeoBox("lat", "lng"), MinMax("lat"), MinMax("lng")]
    assert recipe_of("geo: lat, lng, boxes=9")[0] == GeoBox("lat", "lng", boxes=9)
    renamed = recipe_of("log:json_events, time=to_timestamp(ts, 'yyyy,MM'), user_id=None")
    assert renamed[0] == MinMax("to_timestamp(ts, 'yyyy,MM')")
    assert not any("user_id" in index.expressions for index in renamed)
    for text, why in {"gei:a": "there are: geo, log", "log:nothing": "no recipe is called 'nothing'", "geo:": "needs a column"}.items():
        with pytest.raises(ValueError, match=why):
            recipe_of(text)
