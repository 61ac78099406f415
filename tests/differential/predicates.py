"""Random predicates: SQL text, with the kind of each leaf, so that the tests can tell which kinds ever skipped a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.differential.tables import RandomTable, drawn
from tests.differential.values import COLUMNS, NAN, NUMERIC, STRINGS, kind_of, text_sql
from tests.falsifiable.functions import BY_COLUMN, NUMBERS


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


def every_kind(leaves: Leaves, number: int, columns: int = 3) -> list[Predicate]:
    """Every kind of predicate a few times, on that many different columns if it can be, and NOT of it."""
    found: dict[str, Predicate] = {}
    for kind in sorted({kind for column in leaves.columns for kind in leaves.kinds(column)}):
        able = [column for column in leaves.columns if kind in leaves.kinds(column)]
        chosen = Random(f"{kind}{number}").sample(able, min(columns, len(able)))
        times = 1 if len(able) > 3 else 2
        for predicates in drawn(st.tuples(*(leaves.of(kind, column) for column in chosen)), 4, number)[-times:]:
            found |= {predicate.sql: predicate for predicate in predicates}
    return [form for predicate in found.values() for form in (predicate, negated(predicate))]
