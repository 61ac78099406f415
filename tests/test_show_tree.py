"""show_tree: what is printed of a predicate matches it, when it is pasted into a filter."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, filters
from data_skip.expression import Call, Literal
from data_skip.testing import show_tree

SCHEMA = "name string, city string, n int, x double, at timestamp, `odd name` int, node int, tags array<string>, b boolean, i int"


def test_what_is_printed(spark: SparkSession) -> None:
    assert str(show_tree(spark, "levenshtein(name, 'x') <= 2 AND city LIKE '%pur'", SCHEMA)).splitlines() == [
        "And",
        "  LessThanOrEqual",
        "    Levenshtein: int",
        "      name: string",
        "      'x': string",
        "    2: int",
        "  EndsWith",
        "    city: string",
        "    'pur': string",
        "  IsNotNull",
        "    name: string",
        "  IsNotNull",
        "    city: string",
        "",
        '@filters.on("LessThanOrEqual")',
        "def filter_1(node: Call, indexes: Indexes) -> Iterator[Clause]:",
        "    match node:",
        "        case Call(\"Levenshtein\", [name, Literal(a)]), Literal(b):  # a = 'x', b = 2",
        "            ...",
        "",
        '@filters.on("EndsWith")',
        "def filter_2(node: Call, indexes: Indexes) -> Iterator[Clause]:",
        "    match node:",
        "        case city, Literal(a):  # a = 'pur'",
        "            ...",
    ]


@pytest.mark.parametrize(
    "predicate",
    [
        "NOT (city LIKE 'a#_%' ESCAPE '#')",
        "n IN (1, 2, 3) OR n IS NULL",
        "n IN (1, n + 1, NULL) AND cast(n AS string) > 'a'",
        "name IS NOT NULL",
        "upper(city) = city AND n + n > 2 * i",
        "hour(at) = 5 AND `odd name` = node",
        "array_contains(tags, 'a') AND size(tags) > 2",
        "exists(tags, t -> t LIKE 'a%')",
        "NOT b AND rand() < 0.5",
        "x <=> double('NaN') AND city RLIKE 'a+'",
        "n = (SELECT max(id) FROM range(3))",
    ],
)
def test_what_is_printed_matches(spark: SparkSession, predicate: str) -> None:
    shown = show_tree(spark, predicate, SCHEMA)
    names: dict[str, Any] = {"filters": filters, "Call": Call, "Literal": Literal}
    text = str(shown)[str(shown).index("@filters") :]
    exec("from __future__ import annotations\n" + text.replace("...", "return True"), names)
    found = [names[f"filter_{i}"] for i in range(1, 20) if f"filter_{i}" in names]
    leaves = [leaf for leaf in dict.fromkeys(shown.leaves) if isinstance(leaf, Call)]
    leaves = [leaf for leaf in leaves if leaf.name != "IsNotNull"] or leaves
    assert len(found) == len(leaves) > 0
    for function, leaf in zip(found, leaves, strict=True):
        assert function(leaf, None) is True, text
        others = [other for other in leaves if other != leaf and other.name == leaf.name]
        assert not any(function(other, None) for other in others if len(other) != len(leaf) and leaf.name != "In")


def test_what_a_pattern_does_not_tell(spark: SparkSession) -> None:
    shown = str(show_tree(spark, "city IN ('a', upper(city)) AND n + 1L > 5", SCHEMA))
    assert "        case city, *others:  # others: Literals, of NULL too, or other expressions" in shown
    assert "# a = 1, b = 5, a Cast to bigint" in shown


@pytest.mark.parametrize(("predicate", "message"), [("nothing = 1", "does not understand"), ("1 = 1", "without looking at a row")])
def test_predicates_that_have_none(spark: SparkSession, predicate: str, message: str) -> None:
    with pytest.raises(DataSkipError, match=message):
        show_tree(spark, predicate, SCHEMA)
