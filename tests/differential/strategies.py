"""Random tables and predicates, shared by the differential tests.

A table has a column of every type that Spark orders. Each column has a small pool of values (extremes, neighbours, the values that
break things), from which files take some: so values repeat across files, and literals that are drawn from the pool, or from next to it,
hit often. A predicate is SQL text, with the kind of each leaf, so that the tests can tell which kinds ever skipped a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.falsifiable.functions import BY_COLUMN, NUMBERS

NAN, INF = float("nan"), float("inf")
EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_FIRST, _LAST = -62135596800000000, 253402300799999999  # the microseconds of the years 1 to 9999
_YEARS = (-719162, 2932896)  # the same in days


def drawn(strategy: st.SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """`count` examples of a strategy, the same ones for the same number."""
    examples: list[Any] = []

    def keep(example: Any) -> None:
        examples.append(example)

    quiet = settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    quiet(seed(number)(given(strategy)(keep)))()
    return examples


# --- Types and literals ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A type: how pyarrow writes it, random values of it, values next to one, and its literals in SQL."""

    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    near: Callable[[Any], list[Any]]
    sql: Callable[[Any], str]


def text_sql(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _integer(bits: int, cast: str) -> Kind:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    values = st.one_of(st.integers(-20, 20), st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high]), st.integers(low, high))
    near = lambda v: [n for n in (v - 1, v + 1) if low <= n <= high]  # noqa: E731
    arrow = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
    return Kind(arrow, values, near, lambda v: f"cast('{v}' AS {cast})" if v == low else f"{v}{'L' if bits == 64 else ''}")


def _float_sql(cast: str) -> Callable[[float], str]:
    def sql(value: float) -> str:
        if value != value or value in (INF, -INF):
            return f"{cast}('{value}')"
        return f"{value!r}{'D' if cast == 'double' else 'F'}"

    return sql


def _floating(width: int) -> Kind:
    specials = [0.0, -0.0, NAN, INF, -INF, 1.5, -1.5, 2.0, 0.5]
    values = st.one_of(st.sampled_from(specials), st.integers(-20, 20).map(float), st.floats(width=width))
    near = lambda v: [n for n in (v - 0.5, v + 0.5, -v) if width == 64 or abs(n) < 1e30 or n != n]  # noqa: E731
    return Kind(pa.float32() if width == 32 else pa.float64(), values, near, _float_sql("float" if width == 32 else "double"))


def _decimal(precision: int, scale: int) -> Kind:
    most = 10**precision - 1
    unscaled = st.one_of(st.integers(-2000, 2000), st.sampled_from([most, -most, 0, 1, -1, 50, -50]), st.integers(-most, most))
    number = lambda n: Decimal(f"{n}E-{scale}")  # noqa: E731
    unscale = lambda v: int(str(v.scaleb(scale, _WIDE).to_integral_value(context=_WIDE)).split("E")[0]) if v else 0  # noqa: E731
    near = lambda v: [number(n) for n in (unscale(v) - 1, unscale(v) + 1) if abs(n) <= most]  # noqa: E731
    return Kind(pa.decimal128(precision, scale), unscaled.map(number), near, lambda v: f"cast('{v:f}' AS decimal({precision},{scale}))")


def _wide() -> Any:
    from decimal import Context

    return Context(prec=60)


_WIDE = _wide()
_LETTERS = "abAB%_\\ßéＡ😀\U0010ffff \n'"
_WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "abca",
    "Abc",
    "b",
    "ba",
    "a%b",
    "a_b",
    "a\\b",
    "%",
    "_",
    "😀",
    "Ａ",
    "a😀",
    "\U0010ffff",
    "a\U0010ffff",
    "ab ",
    "x" * 200,
]
_WORDS += ["x" * 127 + "\U0010ffff" * 5, "\ue000", "\ud7ff", "strasse", "straße", "7", "007", "1e1", "2024-01-09"]
_texts = st.one_of(st.sampled_from(_WORDS), st.text(_LETTERS, max_size=6))
_binaries = st.one_of(st.sampled_from([b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\xff" * 140, b"ab"]), st.binary(max_size=4))
_days = st.one_of(
    st.sampled_from([*_YEARS, 0, -1, 19723, 19724, 19782, -141427, -141428, 2**31 - 1, -(2**31)]),
    st.integers(18000, 20000),
    st.integers(*_YEARS),
)
# Days on which clocks change, the first and last microsecond that Spark can hold, and the years 1 and 9999.
_moments = [0, -1, 1, _FIRST, _LAST, 1710054000000000, 1710054000000000 - 1, 1730613600000000, 1704067199999999, 1704067200000000]
_micros = st.one_of(st.sampled_from(_moments), st.integers(18000 * _DAY, 20000 * _DAY), st.integers(_FIRST, _LAST))


def _day_sql(value: int) -> str:
    far = not _YEARS[0] <= value <= _YEARS[1]
    return f"date_from_unix_date({value})" if far else f"DATE'{(date(1970, 1, 1) + timedelta(days=value)).isoformat()}'"


def _moment_sql(prefix: str) -> Callable[[int], str]:
    zone = "Z" if prefix == "TIMESTAMP" else ""

    def sql(value: int) -> str:
        far = not _FIRST <= value <= _LAST
        return f"timestamp_micros({value})" if far else f"{prefix}'{(EPOCH + timedelta(microseconds=value)).isoformat(sep=' ')}{zone}'"

    return sql


def _moment_kind(arrow: pa.DataType, prefix: str, values: st.SearchStrategy[int]) -> Kind:
    near = lambda v: [n for n in (v - 1, v + 1, v - v % _DAY, v + _DAY) if _FIRST <= n <= _LAST]  # noqa: E731
    return Kind(arrow, values, near, _moment_sql(prefix))


KINDS = {
    "tiny": _integer(8, "tinyint"),
    "small": _integer(16, "smallint"),
    "i": _integer(32, "int"),
    "long": _integer(64, "bigint"),
    "f": _floating(32),
    "d": _floating(64),
    "price": _decimal(10, 2),
    "huge": _decimal(38, 10),
    "s": Kind(pa.string(), _texts, lambda v: [v + "a", v[:-1], v.upper()], text_sql),
    "bin": Kind(pa.binary(), _binaries, lambda v: [v + b"\x00", v[:-1]], lambda v: f"X'{v.hex()}'"),
    "flag": Kind(pa.bool_(), st.booleans(), lambda v: [not v], lambda v: str(v).lower()),
    "day": Kind(
        pa.date32(),
        _days,
        lambda v: [n for n in (v - 1, v + 1) if _YEARS[0] <= n <= _YEARS[1]],
        _day_sql,
    ),
    "at": _moment_kind(pa.timestamp("us", "UTC"), "TIMESTAMP", st.one_of(_micros, _micros, st.sampled_from([2**63 - 1, -(2**63)]))),
    "local": _moment_kind(pa.timestamp("us"), "TIMESTAMP_NTZ", _micros),
}
# Columns that are not one to one with a kind: an un-indexed one of each sort, and fields inside a struct.
SAME_AS = {"other": "i", "note": "s", "st.a": "i", "st.name": "s", "st.deep.x": "d"}
COLUMNS = {**{name: name for name in KINDS}, **SAME_AS}
STRINGS = ("s", "note", "st.name")
NUMERIC = ("tiny", "small", "i", "long", "f", "d", "price", "huge", "other", "st.a", "st.deep.x")
INTEGERS = ("tiny", "small", "i", "long", "other", "st.a")


def kind_of(column: str) -> Kind:
    return KINDS[COLUMNS[column]]


# --- Tables ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RandomTable:
    """The values that each column takes, and the rows of each file."""

    pools: dict[str, list[Any]]
    files: dict[str, pa.Table]


@st.composite
def tables(draw: st.DrawFn, files: int = 16) -> RandomTable:
    pools = {name: draw(st.lists(kind_of(name).values, min_size=5, max_size=9)) for name in COLUMNS}
    random = Random(draw(st.integers(0, 2**32)))
    made = {"empty.parquet": arrow_table({name: [] for name in COLUMNS}, random), "nulls.parquet": rows_of_nulls(4, random)}
    for i in range(files):
        made[f"{i:02d}.parquet"] = random_file(pools, random)
    return RandomTable(pools, made)


def random_file(pools: dict[str, list[Any]], random: Random) -> pa.Table:
    """A file whose every column takes one to three values of its pool, with or without nulls, some columns only nulls."""
    rows = random.choice((1, 3, 12))
    columns = {}
    for name, pool in pools.items():
        chosen = random.sample(pool, min(len(pool), random.choice((1, 1, 2, 3))))
        if pa.types.is_floating(kind_of(name).arrow):
            chosen = random.choice((chosen, chosen, chosen, [*chosen, NAN], [chosen[0], NAN], [NAN], [0.0, -0.0]))
        nulls = random.choice((0.0, 0.0, 0.3, 1.0 if random.random() < 0.3 else 0.0))
        columns[name] = [None if random.random() < nulls else random.choice(chosen) for _ in range(rows)]
    return arrow_table(columns, random)


def rows_of_nulls(rows: int, random: Random) -> pa.Table:
    return arrow_table({name: [None] * rows for name in COLUMNS}, random)


def arrow_table(columns: dict[str, list[Any]], random: Random) -> pa.Table:
    """The file's rows; where all fields of a struct are null, the struct itself sometimes is."""
    arrays = {name: pa.array(columns[name], kind_of(name).arrow) for name in COLUMNS}
    deep = pa.StructArray.from_arrays([arrays["st.deep.x"]], ["x"])
    absent = [
        a is None and b is None and c is None and random.random() < 0.5
        for a, b, c in zip(*(columns[n] for n in ("st.a", "st.name", "st.deep.x")), strict=True)
    ]
    struct = pa.StructArray.from_arrays([arrays["st.a"], arrays["st.name"], deep], ["a", "name", "deep"], mask=pa.array(absent, pa.bool_()))
    flat = {name: array for name, array in arrays.items() if "." not in name}
    first = random.randrange(2**50)  # ids are unique among files, all but surely
    return pa.table({"id": pa.array(range(first, first + len(struct)), pa.int64()), **flat, "st": struct})


# --- Predicates ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicate:
    """SQL text; a leaf has a kind and the column that it is about, anything else the predicates that it is made of."""

    sql: str
    kind: str = ""
    column: str = ""
    parts: tuple[Predicate, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.sql

    def below(self) -> list[Predicate]:
        """All smaller predicates inside, the smallest first."""
        return sorted({p.sql: p for part in self.parts for p in (part, *part.below())}.values(), key=lambda p: len(p.sql))


_MIRRORED = {"=": "=", "<=>": "<=>", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _applied(template: str, operand: str) -> str:
    return template.replace("{}", f"({operand})")


LIKES = ("like_prefix", "like_suffix", "like_contains", "like_both", "like_wildcard", "like_exact", "like_anything", "like_escape")
SIMPLE = (
    "=",
    "<=>",
    "<",
    "<=",
    ">",
    ">=",
    "<>",
    "between",
    "in",
    "in_long",
    "in_null",
    "is_null",
    "is_not_null",
    "<=>null",
    "literal_left",
)
NUMBERS_ONLY = ("other_type", "cast", "function", "two_columns")
STRINGS_ONLY = (*LIKES, "upper", "length", "starts_ends")


class Leaves:
    """Strategies for single predicates over one table."""

    def __init__(self, table: RandomTable, columns: tuple[str, ...] = tuple(COLUMNS)) -> None:
        self.pools, self.columns = table.pools, columns

    def value(self, column: str) -> st.SearchStrategy[Any]:
        """A value of the column's pool, one next to it, or any of its type."""
        kind, pool = kind_of(column), self.pools[column]
        special = st.sampled_from([NAN, 0.0, -0.0]) if pa.types.is_floating(kind.arrow) else kind.values
        return st.one_of(st.sampled_from(pool), st.sampled_from([n for v in pool for n in (kind.near(v) or [v])]), kind.values, special)

    def literal(self, column: str) -> st.SearchStrategy[str]:
        return self.value(column).map(kind_of(column).sql)

    def any(self) -> st.SearchStrategy[Predicate]:
        return st.sampled_from(self.columns).flatmap(
            lambda column: st.sampled_from(self.kinds(column)).flatmap(lambda kind: self.of(kind, column))
        )

    def kinds(self, column: str) -> tuple[str, ...]:
        more = STRINGS_ONLY if column in STRINGS else NUMBERS_ONLY if column in NUMERIC else ()
        flag = ("bare", "is_true") if column == "flag" else ()
        calendar = ("cast_day", "year") if column in ("day", "at", "local") else ()
        composed = ("composed",) if column in BY_COLUMN else ()
        return (*SIMPLE, *more, *flag, *calendar, *composed, "opaque", "wrapped", "anything")

    def of(self, kind: str, column: str) -> st.SearchStrategy[Predicate]:
        build = getattr(self, "_" + kind, None)
        if kind == "<=>null":
            sql = st.just(f"{column} <=> NULL")
        elif kind in _MIRRORED:
            sql = self.literal(column).map(lambda c: f"{column} {kind} {c}")
        elif kind in LIKES:
            sql = self._like(kind, column)
        else:
            assert build, kind
            sql = build(column)
        return sql.map(lambda text: Predicate(text, kind, column))

    def _literal_left(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(lambda c, op: f"{c} {op} {column}", self.literal(column), st.sampled_from(sorted(_MIRRORED)))

    def _between(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(lambda a, b: f"{column} BETWEEN {a} AND {b}", self.literal(column), self.literal(column))

    def _in(self, column: str) -> st.SearchStrategy[str]:
        return st.lists(self.literal(column), min_size=1, max_size=4).map(lambda items: f"{column} IN ({', '.join(items)})")

    def _in_null(self, column: str) -> st.SearchStrategy[str]:
        return st.lists(self.literal(column), min_size=1, max_size=12).map(lambda items: f"{column} IN ({', '.join([*items, 'NULL'])})")

    def _in_long(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(
            lambda some, number: self._long_list(column, some, number), st.lists(self.value(column), max_size=3), st.integers(0, 2**32)
        )

    def _long_list(self, column: str, some: list[Any], number: int) -> str:
        kind, random = kind_of(column), Random(number)
        items = [*some, *(random.choice(kind.near(v) or [v]) for v in self.pools[column])]
        for _ in range(random.choice((15, 40, 300))):
            near = kind.near(random.choice(items))
            items.append(random.choice(near) if near else items[0])
        if random.random() < 0.3 and COLUMNS[column] in ("i", "long"):
            items += range(1000, 1400)
        return f"{column} IN ({', '.join(kind.sql(v) for v in items)})"

    def _is_null(self, column: str) -> st.SearchStrategy[str]:
        return st.just(f"{column} IS NULL")

    def _is_not_null(self, column: str) -> st.SearchStrategy[str]:
        return st.just(f"{column} IS NOT NULL")

    def _bare(self, column: str) -> st.SearchStrategy[str]:
        return st.just(column)

    def _is_true(self, column: str) -> st.SearchStrategy[str]:
        return st.sampled_from([f"{column} IS {no}{value}" for no in ("", "NOT ") for value in ("TRUE", "FALSE", "UNKNOWN")])

    def _like(self, kind: str, column: str) -> st.SearchStrategy[str]:
        text = st.one_of(self.value(column), st.text("ab", min_size=1, max_size=2)).map(lambda v: v[:20])
        plain = text.map(lambda v: v.replace("\\", "").replace("%", "").replace("_", ""))
        escaped = text.map(lambda v: v.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_"))
        cut = st.integers(0, 3)
        match kind:
            case "like_prefix":
                pattern = st.builds(lambda v, n: v[: n + 1] + "%", plain, cut)
            case "like_suffix":
                pattern = st.builds(lambda v, n: "%" + v[-(n + 1) :], plain, cut)
            case "like_contains":
                pattern = st.builds(lambda v, n: "%" + v[n : n + 2] + "%", plain, cut)
            case "like_both":
                pattern = st.builds(lambda v, w, n: v[: n + 1] + "%" + w[-(n + 1) :], plain, plain, cut)
            case "like_wildcard":
                pattern = st.builds(lambda v, n, mark: v[:n] + mark + v[n + 1 :], plain, cut, st.sampled_from(["_", "_%", "%_", "__"]))
            case "like_exact":
                pattern = plain
            case "like_anything":
                pattern = st.sampled_from(["%", "%%", "_%", ""])
            case _:
                either = st.one_of(escaped, st.builds(lambda v, n: v[: n + 1] + "%", escaped, cut), escaped.map(lambda v: "%" + v))
                return st.one_of(
                    either.filter(lambda v: _well_escaped(v, "\\")).map(lambda v: f"{column} LIKE {text_sql(v)}"),
                    either.map(lambda v: v.replace("#", "").replace("\\", "#"))
                    .filter(lambda v: _well_escaped(v, "#"))
                    .map(lambda v: f"{column} LIKE {text_sql(v)} ESCAPE '#'"),
                )
        return pattern.map(lambda v: f"{column} LIKE {text_sql(v)}")

    def _starts_ends(self, column: str) -> st.SearchStrategy[str]:
        part = st.builds(lambda v, n: text_sql(v[:n]), self.value(column), st.integers(0, 4))
        return st.builds(lambda f, p: f"{f}({column}, {p})", st.sampled_from(["startswith", "endswith", "contains"]), part)

    def _upper(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(
            lambda f, op, c: f"{f}({column}) {op} {c}",
            st.sampled_from(["upper", "lower"]),
            st.sampled_from(["=", "<", "<>", "LIKE"]),
            self.literal(column).filter(lambda c: "\\" not in c),
        )

    def _length(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(lambda op, n: f"length({column}) {op} {n}", st.sampled_from(sorted(_MIRRORED)), st.integers(0, 8))

    def _other_type(self, column: str) -> st.SearchStrategy[str]:
        """A literal of another type than the column: Spark casts one of them."""
        literal = st.sampled_from(NUMERIC).flatmap(self.literal)
        return st.builds(lambda op, c: f"{column} {op} {c}", st.sampled_from(sorted(_MIRRORED)), literal)

    def _cast(self, column: str) -> st.SearchStrategy[str]:
        targets = ["bigint", "double", "float", "decimal(20,1)", "decimal(38,10)", "int", "smallint", "decimal(4,0)"]
        literal = st.one_of(st.integers(-20, 20).map(str), st.sampled_from(NUMERIC).flatmap(self.literal))
        form = st.sampled_from(["cast({} AS {})", "try_cast({} AS {})"])
        return st.builds(
            lambda f, t, op, c: f"{f.format(column, t)} {op} {c}",
            form,
            st.sampled_from(targets),
            st.sampled_from(sorted(_MIRRORED)),
            literal,
        )

    def _cast_day(self, column: str) -> st.SearchStrategy[str]:
        choice = st.sampled_from([("date", "day"), ("timestamp", "at"), ("timestamp_ntz", "local")])
        comparison = st.sampled_from(sorted(_MIRRORED))
        return choice.flatmap(lambda to: st.builds(lambda op, c: f"cast({column} AS {to[0]}) {op} {c}", comparison, self.literal(to[1])))

    def _year(self, column: str) -> st.SearchStrategy[str]:
        return st.builds(
            lambda op, n: f"year({column}) {op} {n}",
            st.sampled_from(sorted(_MIRRORED)),
            st.sampled_from([1, 1582, 1969, 1970, 2019, 2023, 2024, 9999]),
        )

    def _function(self, column: str) -> st.SearchStrategy[str]:
        forms = ["abs({}) {} {}", "{} % 3 {} {}", "-({}) {} {}", "coalesce({}, 5) {} {}", "ceil({}) {} {}", "{} + 1 {} {}"]
        return st.builds(
            lambda f, op, n: f.format(column, op, n),
            st.sampled_from(forms),
            st.sampled_from(["=", "<", ">=", "<=>", "<>"]),
            st.integers(-3, 20),
        )

    def _composed(self, column: str) -> st.SearchStrategy[str]:
        """f(g(x)) compared with f(g(c)), which Spark folds; of a column of its own type, g may be any function of it."""
        inner = st.sampled_from(BY_COLUMN[column])
        outer = st.sampled_from(NUMBERS if column in NUMERIC else ["{}"])
        operators = st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=>"])
        build = lambda f, g, op, c: f"{_applied(f, _applied(g, column))} {op} {_applied(f, _applied(g, c))}"  # noqa: E731
        simple = lambda g, op, c: build("{}", g, op, c)  # noqa: E731
        return st.one_of(
            st.builds(simple, inner, operators, self.literal(column)), st.builds(build, outer, inner, operators, self.literal(column))
        )

    def _two_columns(self, column: str) -> st.SearchStrategy[str]:
        forms = ["{} {} {}", "{} {} {} + 1", "{} {} -{}", "{} {} coalesce({}, 1)", "abs({}) {} {}", "greatest({}, 2) {} {}"]
        operators = st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=>"])
        return st.builds(
            lambda form, op, other: form.format(column, op, other), st.sampled_from(forms), operators, st.sampled_from(NUMERIC)
        )

    def _opaque(self, column: str) -> st.SearchStrategy[str]:
        """What no index is expected to understand, whatever the column."""
        some = [
            "rand() < 2",
            "rand() >= 0",
            "input_file_name() <> ''",
            f"hash({column}) % 2 = 0",
            "i > other",
            "s = note",
            "day < cast(at AS date)",
            "length(s) = i",
        ]
        some += [
            f"{column} IS NULL OR rand() < 2",
            f"{column} IN ({column})",
            "(i, s) = (other, note)",
            "s RLIKE '^a|b'",
            f"string({column}) LIKE '1%'",
            "true",
            "NULL",
            "false",
        ]
        return st.sampled_from(some)

    def _wrapped(self, column: str) -> st.SearchStrategy[str]:
        """A predicate as the operand of something else than AND, OR and NOT."""
        forms = [
            "({}) = false",
            "({}) IS NULL",
            "({}) IS NOT TRUE",
            "({}) <=> true",
            "if({}, false, true)",
            "CASE WHEN {} THEN flag ELSE i > 0 END",
            "coalesce({}, true)",
            "({}) <> (i > 3)",
        ]
        inner = st.sampled_from(["=", "<", "in", "is_null"]).flatmap(lambda kind: self.of(kind, column))
        return st.builds(lambda f, p: f.format(p), st.sampled_from(forms), inner)

    def _anything(self, column: str) -> st.SearchStrategy[str]:
        """A literal of any type whatever: Spark refuses some, and some raise at run time."""
        return st.builds(
            lambda op, c: f"{column} {op} {c}", st.sampled_from(sorted(_MIRRORED)), st.sampled_from(sorted(COLUMNS)).flatmap(self.literal)
        )


def _well_escaped(pattern: str, escape: str) -> bool:
    i = 0
    while i < len(pattern):
        if pattern[i] == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("%", "_", escape):
                return False
        i += 1
    return True


def negated(predicate: Predicate) -> Predicate:
    kind = f"not {predicate.kind}" if predicate.kind and not predicate.kind.startswith("not ") else ""
    return Predicate(f"NOT ({predicate})", kind, predicate.column, (predicate,))


def joined(word: str, parts: list[Predicate]) -> Predicate:
    return replace(Predicate(f" {word} ".join(f"({p})" for p in parts)), parts=tuple(parts))


def trees(leaves: Leaves) -> st.SearchStrategy[Predicate]:
    """Half of them single leaves, or NOT of one; the others trees of AND, OR and NOT of any depth."""
    leaf = leaves.any()

    def deeper(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        return st.one_of(st.builds(joined, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3)), inner.map(negated))

    return st.one_of(leaf, leaf.map(negated), st.recursive(leaf, deeper, max_leaves=12), st.recursive(leaf, deeper, max_leaves=12))


def every_kind(leaves: Leaves, number: int) -> list[Predicate]:
    """Every kind of predicate a few times, on different columns if it can be, and NOT of it."""
    found: dict[str, Predicate] = {}
    for kind in sorted({kind for column in leaves.columns for kind in leaves.kinds(column)}):
        able = [column for column in leaves.columns if kind in leaves.kinds(column)]
        chosen = Random(f"{kind}{number}").sample(able, min(3, len(able)))
        times = 1 if len(able) > 3 else 2
        for predicates in drawn(st.tuples(*(leaves.of(kind, column) for column in chosen)), 4, number)[-times:]:
            found |= {predicate.sql: predicate for predicate in predicates}
    return [form for predicate in found.values() for form in (predicate, negated(predicate))]
