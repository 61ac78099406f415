"""Rows with skipping are the rows without, on random tables and random predicates.

Every table serves hundreds of predicates: for each, the files that planning keeps are held against the files in which plain Spark
finds a matching row, for a hundred predicates in one job. A file with a matching row that is not kept is a wrong answer. Some predicates
are run end to end as well.

    DATA_SKIP_EXAMPLES=20000 pytest tests/differential                       more predicates, other ones each time
    DATA_SKIP_EXAMPLES=20000 DATA_SKIP_SEED=5 pytest tests/differential      the same again: a failure tells its table, the seed is
                                                                             that number without its last five digits
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from data_skip import BloomFilter, GapList, Hybrid, Index, MinMax, Prefix, Skipping, Suffix, ValueList
from tests.differential.predicates import Leaves, Predicate, every_kind, trees
from tests.differential.tables import RandomTable, drawn, random_file, tables
from tests.differential.truth import UNSIMPLIFIED, Truth
from tests.differential.values import COLUMNS, STRINGS
from tests.support import Lake, aged, same_size, settings_of

EXAMPLES = int(os.environ.get("DATA_SKIP_EXAMPLES", "250"))
SEED = int(os.environ.get("DATA_SKIP_SEED", random.randrange(10**6) if "DATA_SKIP_EXAMPLES" in os.environ else 0))
A_TABLE = 250  # random trees on one table
MANY = "DATA_SKIP_EXAMPLES" in os.environ
A_KIND = 3  # columns that each kind of predicate is about; one, if it skips a file there, where there are few examples
END_TO_END = 5 if MANY else 2
A_SEED = 100_000  # tables that one seed may have

UNINDEXED = ("other", "note")
INDEXED = tuple(column for column in COLUMNS if column not in UNINDEXED)
NEW_YORK = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/New_York"}
EXPRESSIONS = [MinMax("length(s)"), MinMax("year(day)"), MinMax("i + 1"), MinMax("cast(at AS date)"), MinMax("abs(d)"), MinMax("upper(s)")]
EXPRESSIONS += [
    ValueList("upper(s)"),
    ValueList("length(st.name)"),
    ValueList("price > 0"),
    Prefix("lower(s)", 2),
    Suffix("upper(st.name)", 1),
]


@dataclass(frozen=True)
class Profile:
    """The indexes of a table, few kinds each, so that none hides another's mistake; and the session's settings."""

    indexes: list[Index]
    settings: dict[str, str] = field(default_factory=dict)


PROFILES = {
    "min_max": Profile([MinMax(c) for c in INDEXED]),
    "min_max-legacy": Profile([MinMax(c) for c in INDEXED], NEW_YORK),
    "min_max-unsimplified": Profile([MinMax(c) for c in INDEXED], UNSIMPLIFIED),
    "value_list": Profile([ValueList(c) for c in INDEXED]),
    "value_list-unsimplified": Profile([ValueList(c, limit=2) for c in INDEXED], NEW_YORK | UNSIMPLIFIED),
    "affix": Profile([kind(c, n) for kind in (Prefix, Suffix) for c in ("s", "st.name") for n in (1, 3)]),
    "affix-unsimplified": Profile([kind(c, 2, limit=3) for kind in (Prefix, Suffix) for c in ("s", "st.name")], UNSIMPLIFIED),
    "expressions": Profile(EXPRESSIONS, NEW_YORK),
    "gap_list": Profile([GapList(c, gaps=2) for c in INDEXED], UNSIMPLIFIED),
    "bloom": Profile([BloomFilter(c) for c in INDEXED if c != "flag"]),
    "hybrid": Profile([Hybrid(c, threshold=2) for c in INDEXED if c != "flag"], NEW_YORK),
    "everything": Profile(
        [kind(c) for kind in (MinMax, ValueList) for c in INDEXED] + [kind(c) for kind in (Prefix, Suffix) for c in ("s", "st.name")]
    ),
}
CHANGED = ("min_max", "value_list", "affix", "everything")
skips: Counter[tuple[str, str]] = Counter()  # (indexes, kind of predicate) -> skipped files that Spark would have had to read
compared: Counter[str] = Counter()
finished: list[str] = []  # the profiles of the tables that were compared


# The kinds of predicate that each index has to serve; of those between two bars, at least one.
_NULLS = "is_null | is_not_null | <=>null | not is_null | not is_not_null | not <=>null"
_LIKE = "like_prefix | like_both | like_exact | like_escape | like_wildcard"
_UNEQUAL = "<>, not =, not <=> | not in, not in_long"  # these skip files that hold nothing else than the constants
_ORDER = "= | <=> | < | <= | > | >= | between | in | in_null | in_long | literal_left | bare, not bare | is_true | cast | cast_day | year"
_ORDER += f" | not < | not <= | not > | not >= | not <> | not between | not literal_left | not cast | {_UNEQUAL}"
SERVED = {
    "min_max": f"{_ORDER} | {_NULLS} | {_LIKE} | starts_ends | other_type | not like_prefix, not starts_ends | composed | two_columns",
    "value_list": f"{_ORDER} | {_NULLS} | {_LIKE} | like_suffix | like_contains | upper | length | function | wrapped | not function"
    " | not like_prefix, not like_both | not like_suffix, not like_contains, not like_wildcard, not like_exact | not upper, not length",
    "affix": f"= | <=> | in | in_long | in_null | {_NULLS} | {_LIKE} | like_suffix | not = , not like_exact, not in, not in_long | not <>"
    " | not like_prefix, not like_suffix, not starts_ends",
    "expressions": "length | not length | year | not year | upper, not upper",
    "gap_list": "= | <=> | <, <=, not > | >, >=, not < | between | in, in_null, in_long | cast, not cast | like_prefix"
    f" | {_NULLS} | {_UNEQUAL.replace(' | ', ', ')}",  # few files hold one value only
    "bloom": "= | <=> | in | in_null | is_null | <=>null | like_exact",
    "hybrid": f"= | <=> | in | in_null | <, <= | >, >= | between | {_LIKE} | like_suffix | not =, not in, not in_long",
}


def unserved(name: str) -> list[list[str]]:
    """The kinds of predicate that the index has to serve, of which none has skipped a file so far; of those in one list, one will do."""
    alternatives = [[kind.strip() for kind in kinds.split(",")] for kinds in SERVED.get(name, "").split("|") if kinds]
    return [kinds for kinds in alternatives if not any(skips[name, kind] for kind in kinds)]


@pytest.fixture
def random_lake(lake: Lake, request: pytest.FixtureRequest) -> Iterator[tuple[Lake, RandomTable, int]]:
    """A table with the profile's indexes, and the number that its random choices come from."""
    name, turn = request.param
    number = SEED * A_SEED + list(PROFILES).index(name) + 100 * turn
    with settings_of(lake.spark, PROFILES[name].settings):
        table = drawn(tables(), 3, number)[-1]
        for file, rows in table.files.items():
            lake.file(file, rows)
        lake.index(*PROFILES[name].indexes)
        yield lake, table, number


TABLES = -(-EXAMPLES // (A_TABLE * len(PROFILES)))  # of each profile


@pytest.mark.parametrize(
    ("random_lake", "name"),
    [
        pytest.param((name, turn), name, id=f"{name}-{turn}", marks=() if name == "everything" else pytest.mark.long)
        for turn in range(TABLES)
        for name in PROFILES
    ],
    indirect=["random_lake"],
)
def test_every_file_with_a_matching_row_is_kept(random_lake: tuple[Lake, RandomTable, int], name: str) -> None:
    lake, table, number = random_lake
    leaves = Leaves(table, (*STRINGS, "i") if name.startswith("affix") else tuple(COLUMNS))
    kinds = every_kind(leaves, number, A_KIND if MANY else 1)
    alike = [profile for profile in PROFILES if profile.split("-")[0] == name.split("-")[0]]
    # Where there are few examples, these share the kinds: each takes its part of them, a kind and NOT of it together.
    asked = [p for i, p in enumerate(kinds) if MANY or i // 2 % len(alike) == alike.index(name)]
    predicates = asked + drawn(trees(leaves), -(-EXAMPLES // (TABLES * len(PROFILES))), number)
    frame = lake.spark.read.parquet(str(lake.folder))
    truth = Truth(lake.skipping, frame)
    for predicate, skipped in truth.skipped(predicates, number):
        count(name, predicate, skipped, table)
    if not MANY and name == alike[-1]:
        wanted = {kind for kinds in unserved(alike[0]) for kind in kinds}
        more = [p for p in every_kind(leaves, number, A_KIND) if p.kind in wanted]
        for predicate, skipped in truth.skipped(more, number):
            count(name, predicate, skipped, table)
    compared.update(truth.outcomes)
    for predicate in random.Random(number).sample(predicates, END_TO_END):
        rows_are_equal(lake.skipping, frame, predicate)
    finished.append(name)


def count(profile: str, predicate: Predicate, skipped: set[str], table: RandomTable) -> None:
    """Counts the skipped files that have a value of the column: those without one are too easy."""
    if predicate.kind:
        about_null = predicate.kind.removeprefix("not ") in ("is_null", "is_not_null", "<=>null", "is_true")
        skips[profile.split("-")[0], predicate.kind] += sum(
            about_null or has_value(table.files[file], predicate.column) for file in skipped
        )


def has_value(rows: pa.Table, column: str) -> bool:
    values = rows.flatten().flatten()[column] if "." in column else rows[column]
    return values.null_count < len(values)


def rows_are_equal(skipping: Skipping, frame: DataFrame, predicate: Predicate) -> None:
    """Skipping may hide an error; it never raises a new one."""

    def rows() -> list[object]:
        return sorted(frame.where(predicate.sql).select("id", F.xxhash64(*frame.columns)).collect())

    try:
        with skipping.disabled():
            expected = rows()
    except PySparkException:
        return
    assert rows() == expected, f"skipping changed the rows of {predicate}"


@pytest.mark.parametrize(
    "random_lake",
    [pytest.param((name, 0), marks=() if name == "everything" else pytest.mark.long) for name in CHANGED],
    indirect=True,
    ids=CHANGED,
)
def test_changed_files_are_kept_until_refresh(random_lake: tuple[Lake, RandomTable, int]) -> None:
    lake, table, number = random_lake
    chance = random.Random(number)
    leaves = Leaves(table, (*STRINGS, "i"))
    predicates = every_kind(leaves, number + 1)[:: 6 if MANY else 12] + drawn(trees(leaves), 40 if MANY else 10, number + 1)
    changed = change_files(lake, table, chance)
    frame = lake.spark.read.parquet(str(lake.folder))
    truth = Truth(lake.skipping, frame)
    found = list(truth.skipped(predicates, number))
    assert sum(len(skipped) for _, skipped in found) > 0
    assert not [(p, skipped & changed) for p, skipped in found if skipped & changed]
    rows_are_equal(lake.skipping, frame, predicates[-1])
    lake.table().refresh()
    found = list(truth.skipped(predicates, number))
    assert [p for p, skipped in found if skipped & changed]
    compared.update(truth.outcomes)


def change_files(lake: Lake, table: RandomTable, chance: random.Random) -> set[str]:
    """Rewrites, appends, deletes, touches and restores files; the names of those whose records say nothing any more."""

    def other() -> pa.Table:
        return random_file(table.pools, chance)

    for name in ("00", "01"):
        lake.file(f"{name}.parquet", other())
    lake.file("appended.parquet", other())
    (lake.folder / "02.parquet").unlink()
    os.utime(lake.folder / "03.parquet", (1_700_000_000, 1_700_000_000))
    restored = lake.folder / "04.parquet"
    same_size(restored, other())
    aged(restored, 1800)
    resized = lake.folder / "05.parquet"
    moment = resized.stat().st_mtime_ns
    pq.write_table(pa.concat_tables([other(), other()]).replace_schema_metadata({"pad": "x" * 5000}), resized)
    os.utime(resized, ns=(moment, moment))
    lake.file("nulls.parquet", other())
    return {f"{name}.parquet" for name in ("00", "01", "appended", "03", "04", "05", "nulls")}


@pytest.mark.skipif(EXAMPLES < 250, reason="too few predicates for each kind to skip something")
def test_every_kind_of_predicate_skipped_files() -> None:
    """A clause that never skips is sound, and of no use."""
    if len(finished) < TABLES * len(PROFILES):
        pytest.skip("tells something after all comparisons only")
    never = [f"{index}: {', '.join(kinds)}" for index in SERVED for kinds in unserved(index)]
    assert not never
    assert compared["compared"] > 0.9 * sum(compared.values()), compared
