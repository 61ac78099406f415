"""Which functions are monotone, and where: the one thing about Spark that we claim ourselves.

A claim (`Rule`) is about a call of which some operands may vary, the others being constants: in each operand that may vary, all
others being held, the function never turns, and the values at which it has a value (neither raises an error nor gives NULL) are
one stretch. Every claim is made under what stands in it, and for dates and times of the years 1 to 9999 only. It is used twice:

- preimage.py: `f(x) op c` as a range of x, found by bisection, asking Spark for f at some 64 points. For claims without conditions.
- ranges.py: the range of f in a file, from Spark's answers at the corners of the ranges of its operands there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from data_skip.datetime_pattern import parse_pattern
from data_skip.expression import Call, Expression, Literal
from data_skip.spark_types import FRACTIONAL, INTEGRAL, TIMES, is_decimal

if TYPE_CHECKING:
    from data_skip.preimage import Bisection


class AskSpark(Protocol):
    """The Spark that planned the query; see Evaluator.java."""

    def bisect(self, function: Expression, constant: Literal, target: Expression, checked: list[Call]) -> Bisection | None:
        """Where a monotone function of the target reaches and passes a constant; None where Spark cannot say.

        The calls `checked` are evaluated in the form that raises an error where they overflow."""

    def dates_ascend(self, zone: str) -> bool:
        """Whether local dates never go back in a time zone."""

    def fixed_offset(self, zone: str) -> bool:
        """Whether a time zone has one offset from UTC, always."""


@dataclass(frozen=True)
class Rule:
    """Where a function is monotone.

    operands: which may vary, None: all. checked: where it overflows it may wrap round, so Spark is asked in ANSI mode. inexact: it is
    right to one unit in the last place, and may turn within that. cuts: ordinals (see Domain.java) of the only varying operand at which it
    may turn: it is monotone, or NULL throughout, from one to just before the next. The rest are conditions (see Conditions.java):
    finite: no infinity. nonzero: not for the second operand. offset: the time zone has one offset in the range. period: the range lies
    within one, in local time. seconds: the operand is seconds since 1970. text: years of four digits, which order as text. shared: that
    many first characters are the same in the whole range. truncated, floored: divided by that, the range has one whole quotient, by
    cutting or by rounding down. And how much wider the range of the result is than between its corners: days: to whole local days.
    slack: by that much on either side.
    """

    operands: tuple[int, ...] | None = None
    checked: bool = False
    inexact: bool = False
    cuts: tuple[int, ...] = ()
    finite: bool = False
    nonzero: bool = False
    offset: bool = False
    period: str = ""
    seconds: bool = False
    text: bool = False
    shared: int = 0
    truncated: int = 0
    floored: int = 0
    days: bool = False
    slack: float = 0
    zone: str | None = None

    @property
    def everywhere(self) -> bool:
        """Whether it holds on the whole domain, and exactly, so that a preimage can be found."""
        return replace(self, operands=None, checked=False, zone=None) == Rule()


_ALWAYS = Rule()
_FIRST = Rule((0,))
_ARITHMETIC = Rule(checked=True, finite=True)  # of infinities, a sum or product may be NaN
_ONE: int = struct.unpack(">q", struct.pack(">d", 1.0))[0]  # the ordinal of 1.0
_LOGARITHM = Rule((0,), inexact=True, cuts=(1,))  # NULL up to 0
_DAYS_OR_LONGER = ("YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK", "DAY", "DD")
_FAR = 10**8  # days: beyond, a sum of days may wrap round into the calendar

RULES: dict[str, Rule] = {
    # Numbers. Floating point arithmetic rounds to nearest, which keeps weak order.
    "Add": _ARITHMETIC,
    "Subtract": _ARITHMETIC,
    "Multiply": _ARITHMETIC,  # by a negative number it descends; a corner is a corner
    "Divide": replace(_ARITHMETIC, nonzero=True),
    "IntegralDivide": replace(_ARITHMETIC, nonzero=True),  # truncates
    **dict.fromkeys(("Remainder", "Pmod"), _FIRST),
    "UnaryMinus": replace(_FIRST, checked=True),
    "BitwiseNot": _FIRST,  # -x - 1
    "ShiftRight": _FIRST,  # rounds down
    "Abs": replace(_FIRST, checked=True, cuts=(0,)),
    "Signum": _FIRST,
    "NaNvl": _ALWAYS,  # NaN is a corner of its own
    **dict.fromkeys(("Floor", "Ceil", "Rint"), _FIRST),  # of a double beyond bigint: its end
    **dict.fromkeys(("Round", "BRound", "RoundCeil", "RoundFloor"), replace(_FIRST, checked=True)),
    "Sqrt": replace(_FIRST, cuts=(0,)),  # exact; NaN below 0
    **dict.fromkeys(("Exp", "Expm1", "Cbrt", "Atan", "Sinh", "Tanh"), replace(_FIRST, inexact=True)),
    "Cosh": replace(_FIRST, inexact=True, cuts=(0,)),
    **dict.fromkeys(("Asin", "Acos", "Atanh"), replace(_FIRST, inexact=True, cuts=(-_ONE, _ONE + 1))),  # NaN outside of [-1, 1]
    **dict.fromkeys(("Log", "Log2", "Log10"), _LOGARITHM),
    "Logarithm": replace(_LOGARITHM, operands=(1,)),  # descends for a base below 1
    "Log1p": replace(_LOGARITHM, cuts=(-_ONE + 1,)),
    "Pow": Rule((0,), inexact=True, cuts=(0, 1)),  # x^c turns at 0 for an even c; for a fraction it is NaN below
    **dict.fromkeys(("ToDegrees", "ToRadians"), _FIRST),  # a product
    # Dates. The proleptic Gregorian calendar: no day comes back.
    **dict.fromkeys(("DateAdd", "DateSub", "DateDiff", "SubtractDates"), _ALWAYS),
    **dict.fromkeys(("AddMonths", "DateAddYMInterval"), _FIRST),  # cut to the end of the month
    "TimestampAddYMInterval": replace(_FIRST, days=True, offset=True),  # as are days, but each keeps its hour
    "MonthsBetween": Rule((0, 1), slack=1, offset=True),  # a difference of days, over 31; of ends of months, of months
    **dict.fromkeys(("LastDay", "NextDay", "TruncDate", "Year", "YearOfWeek", "UnixDate", "DateFromUnixDate"), _FIRST),
    **dict.fromkeys(("Month", "Quarter", "DayOfYear"), replace(_FIRST, period="year")),
    "DayOfMonth": replace(_FIRST, period="month"),
    "DayOfWeek": replace(_FIRST, period="week from sunday"),
    "WeekDay": replace(_FIRST, period="week from monday"),
    "WeekOfYear": replace(_FIRST, period="year of weeks"),
    # Moments. What looks at local time goes back where the clocks do.
    "Hour": replace(_FIRST, period="day"),
    "Minute": replace(_FIRST, period="hour"),
    **dict.fromkeys(("Second", "SecondWithFraction"), replace(_FIRST, period="minute")),
    "TruncTimestamp": Rule((1,), offset=True),
    **dict.fromkeys(("UnixSeconds", "UnixMillis", "UnixMicros"), _FIRST),
    **dict.fromkeys(("UnixTimestamp", "ToUnixTimestamp"), _FIRST),  # of a date or timestamp: rounds towards 1970
    **dict.fromkeys(("SecondsToTimestamp", "MillisToTimestamp", "MicrosToTimestamp"), _FIRST),
    **dict.fromkeys(("TimeAdd", "TimestampAddInterval"), replace(_FIRST, offset=True)),  # a day is not 24 hours where the clocks change
    "TimestampAdd": Rule((1,), offset=True),
    "TimestampDiff": Rule(offset=True),
    "SubtractTimestamps": Rule(offset=True),
    # Text: UTF-8 orders as its code points do.
    "Substring": _FIRST,
    "Concat": Rule(),  # after a constant
    "DateFormatClass": replace(_FIRST, offset=True, text=True),
    "FromUnixTime": replace(_FIRST, offset=True, text=True, seconds=True),
}

# (from, to) -> where it holds. All raise, or give NULL, outside of one stretch, or take the nearest value.
CASTS: dict[tuple[str, str], Rule] = {
    ("integral", "integral"): replace(_FIRST, checked=True),  # widening is the identity; narrowing may wrap
    ("integral", "fractional"): _FIRST,  # rounds to nearest, which keeps weak order
    ("integral", "decimal"): _FIRST,
    ("fractional", "fractional"): _FIRST,  # rounds to nearest, infinity beyond
    ("fractional", "integral"): replace(_FIRST, checked=True),  # truncates
    ("decimal", "decimal"): _FIRST,  # rounds half up
    ("decimal", "integral"): replace(_FIRST, checked=True),
    ("decimal", "fractional"): _FIRST,
    **{("boolean", to): _FIRST for to in ("integral", "fractional", "decimal")},
    ("date", "timestamp"): _FIRST,  # the start of the day: a later day never starts earlier
    ("date", "timestamp_ntz"): _FIRST,
    ("timestamp_ntz", "date"): _FIRST,
    ("timestamp_ntz", "timestamp"): _FIRST,  # where local times are never left out: see _cast
    ("timestamp", "date"): replace(_FIRST, offset=True),
    ("timestamp", "timestamp_ntz"): replace(_FIRST, offset=True),
    ("timestamp", "integral"): replace(_FIRST, checked=True),  # seconds, rounded down
    ("timestamp", "fractional"): _FIRST,
    ("integral", "timestamp"): _FIRST,
    ("fractional", "timestamp"): _FIRST,
    ("date", "string"): replace(_FIRST, text=True),
    ("timestamp_ntz", "string"): replace(_FIRST, text=True),
    ("timestamp", "string"): replace(_FIRST, text=True, offset=True),
}


def kind(type_: str) -> str:
    """`integral`, `fractional`, `decimal` or the type itself."""
    if type_ in INTEGRAL:
        return "integral"
    if type_ in FRACTIONAL:
        return "fractional"
    return "decimal" if is_decimal(type_) else type_


def rule_of(call: Call, spark: AskSpark) -> Rule | None:
    """What is claimed of a call, with the conditions that its constants leave; None: nothing."""
    rule = CASTS.get((kind(call.operands[0].type), kind(call.type))) if call.name == "Cast" else RULES.get(call.name)
    if rule is None:
        return None
    constants = {i: operand for i, operand in enumerate(call.operands) if isinstance(operand, Literal)}
    varying = tuple(i for i in range(len(call.operands)) if i not in constants)
    if not varying or (rule.operands is not None and not set(varying) <= set(rule.operands)):
        return None
    if any(constant.value is None for constant in constants.values()):
        return None
    if any(kind(call.operands[i].type) not in _ORDERED_KINDS for i in varying):
        return None
    if rule.finite:
        rule = _arithmetic(call, rule, varying, constants)
    elif narrow := _NARROW.get(call.name):
        rule = narrow(call, rule, spark)
    return rule and _in_zone(call, rule, spark)


_ORDERED_KINDS = ("integral", "fractional", "decimal", "boolean", "string", "binary", *TIMES)


def _arithmetic(call: Call, rule: Rule, varying: tuple[int, ...], constants: dict[int, Literal]) -> Rule | None:
    if any(kind(part.type) not in ("integral", "fractional", "decimal") for part in (call, *call.operands)):
        return None
    if 1 in constants and rule.nonzero:
        if constants[1].value == 0:
            return None
        rule = replace(rule, nonzero=False)
    if not any(operand.type in FRACTIONAL for operand in call.operands):
        return replace(rule, finite=False)
    if not all(math.isfinite(c.value) for c in constants.values()) or (
        call.name == "Multiply" and any(c.value == 0 for c in constants.values())
    ):
        return None
    return replace(rule, finite=len(varying) > 1)


def _in_zone(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    """The rule for the call's own time zone."""
    if not rule.offset and not rule.period and not rule.days:
        return rule
    if not rule.seconds and "timestamp" not in (call.type, *(operand.type for operand in call.operands)):
        return replace(rule, offset=False)  # dates, and times without a zone
    zone = call.time_zone
    if zone is None:
        return None
    return replace(rule, zone=zone, offset=rule.offset and not spark.fixed_offset(zone))


def _by_days(call: Call, rule: Rule, spark: AskSpark) -> Rule:
    """What depends on the local date only goes on growing where dates do."""
    zone = call.time_zone
    return replace(rule, offset=False) if rule.offset and zone is not None and spark.dates_ascend(zone) else rule


def _cast(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    if (call.operands[0].type, call.type) == ("timestamp_ntz", "timestamp"):  # a time that the clocks leave out is a later one
        zone = call.time_zone
        return rule if zone is not None and spark.fixed_offset(zone) else None
    return _by_days(call, rule, spark) if call.type == "date" else rule


def _some_days(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    return None if any(isinstance(o, Literal) and o.type in INTEGRAL and abs(o.value) > _FAR for o in call.operands) else rule


def _exact_interval(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    return None if call.operands[1].type == "interval" else rule  # of months besides


def _unit(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    unit = str(call.parameter("unit")).upper()
    if call.name == "TimestampAdd" and unit in ("MONTH", "QUARTER", "YEAR"):
        return _by_days(call, replace(rule, operands=(1,), days=True), spark)
    return rule if unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK") else None


def _divided(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    """The remainder of a division by a positive whole number."""
    match call.operands:
        case [_, Literal(int() as by)] if call.type in INTEGRAL and by > 0:
            return replace(rule, truncated=by) if call.name == "Remainder" else replace(rule, floored=by)
    return None


def _of_time(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    return rule if call.operands[0].type in TIMES else None


def _truncated(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    unit = str(call.operands[0].value).upper() if isinstance(call.operands[0], Literal) else ""
    if unit in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return replace(rule, offset=False)
    return _by_days(call, rule, spark) if unit in _DAYS_OR_LONGER else rule if unit in ("HOUR", "MINUTE") else None


def _from_start(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    """From the first character, or from one before which all texts of a range are the same."""
    match call.operands[1:]:
        case [Literal(0 | 1), Literal(int())] if call.type in ("string", "binary"):
            return rule
        case [Literal(int() as first), Literal(int())] if call.type == "string" and first > 1:
            return replace(rule, shared=first - 1)
    return None


def _after_constants(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    """Of one text, before which there are constants, and after which there is nothing."""
    place = next(i for i, operand in enumerate(call.operands) if not isinstance(operand, Literal))
    after = call.operands[place + 1 :]
    return rule if call.type == "string" and all(isinstance(o, Literal) and o.value == "" for o in after) else None


def _positive(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    """A power by, or a logarithm to, a positive number: others have poles, or are NULL, and tell 0.0 from -0.0."""
    constant = call.operands[1 if call.name == "Pow" else 0]
    held = isinstance(constant, Literal) and 0 < constant.value < math.inf and (call.name == "Pow" or constant.value != 1)
    return rule if held else None


def _formatted(call: Call, rule: Rule, spark: AskSpark) -> Rule | None:
    match call.operands[1]:
        case Literal(str() as text) if (pattern := parse_pattern(text)) is not None:
            if pattern.period:
                return replace(rule, period=pattern.period)
            return rule if pattern.clock else _by_days(call, rule, spark)
    return None


# What a call's constants and types leave of a rule.
_NARROW: dict[str, Callable[[Call, Rule, AskSpark], Rule | None]] = {
    "Cast": _cast,
    **dict.fromkeys(("Remainder", "Pmod"), _divided),
    **dict.fromkeys(("TimestampAddYMInterval", "MonthsBetween"), _by_days),
    **dict.fromkeys(("DateAdd", "DateSub"), _some_days),
    **dict.fromkeys(("TimeAdd", "TimestampAddInterval"), _exact_interval),
    **dict.fromkeys(("TimestampAdd", "TimestampDiff"), _unit),
    **dict.fromkeys(("UnixTimestamp", "ToUnixTimestamp"), _of_time),
    **dict.fromkeys(("Pow", "Logarithm"), _positive),
    "TruncTimestamp": _truncated,
    "Substring": _from_start,
    "Concat": _after_constants,
    **dict.fromkeys(("DateFormatClass", "FromUnixTime"), _formatted),
}
