"""What is left of a claim of monotone.py for one call: its constants and types may add conditions to it, lift some, or leave nothing."""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Callable
from dataclasses import replace
from datetime import date

from data_skip.ask_spark import Rule, Spark
from data_skip.data_types import FRACTIONAL, INTEGRAL, TIMES, is_decimal, precision_and_scale
from data_skip.expression import Call, Literal
from data_skip.proofs.datetime_pattern import parse_pattern
from data_skip.proofs.monotone import CASTS, RULES

_DAYS_OR_LONGER = ("YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK", "DAY", "DD")
_MONTHS_OR_LONGER = ("MONTH", "QUARTER", "YEAR")
_EXACT_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
_DIGITS = 18  # of decimals that fit into bigint
_FAR = 10**8  # days: beyond, a sum of days may wrap round into the calendar
_DAY = 86_400_000_000  # microseconds
_ORDERED_KINDS = ("integral", "fractional", "decimal", "boolean", "string", "binary", *TIMES)


def _kind(type_: str) -> str:
    """`integral`, `fractional`, `decimal` or the type itself."""
    if type_ in INTEGRAL:
        return "integral"
    if type_ in FRACTIONAL:
        return "fractional"
    return "decimal" if is_decimal(type_) else type_


def rule_of(call: Call, spark: Spark) -> Rule | None:
    """What is claimed of a call, with the conditions that its constants leave; None: nothing."""
    rule = CASTS.get((_kind(call.operands[0].type), _kind(call.type))) if call.name == "Cast" else RULES.get(call.name)
    if rule is None:
        return None
    constants = {i: operand for i, operand in enumerate(call.operands) if isinstance(operand, Literal)}
    varying = tuple(i for i in range(len(call.operands)) if i not in constants)
    if not varying or (rule.operands is not None and not set(varying) <= set(rule.operands)):
        return None
    if any(constant.value is None or not _in_calendar(constant) for constant in constants.values()):
        return None
    if any(_kind(call.operands[i].type) not in _ORDERED_KINDS for i in varying):
        return None
    if rule.finite:
        rule = _arithmetic(call, rule, varying, constants)
    elif narrow := _NARROW.get(call.name):
        rule = narrow(call, rule, spark)
    return rule and _in_zone(call, rule, spark)


def _day(time: Literal) -> int:
    """The day of a date or time, in UTC where it is a moment: 1 is the first of the year 1."""
    days: int = time.value if time.type == "date" else time.value // _DAY
    return days + date(1970, 1, 1).toordinal()


def _in_calendar(constant: Literal) -> bool:
    """Whether a constant, if it is a date or time, is one of the years 1 to 9999: differences to others wrap round."""
    return constant.type not in TIMES or date.min.toordinal() <= _day(constant) <= date.max.toordinal()


def _arithmetic(call: Call, rule: Rule, varying: tuple[int, ...], constants: dict[int, Literal]) -> Rule | None:
    if any(_kind(part.type) not in ("integral", "fractional", "decimal") for part in (call, *call.operands)):
        return None
    if 1 in constants and rule.nonzero:
        if constants[1].value == 0:
            return None
        rule = replace(rule, nonzero=False)
    if call.name == "IntegralDivide" and not _fits_bigint(*(operand.type for operand in call.operands)):
        return None
    if not any(operand.type in FRACTIONAL for operand in call.operands):
        return replace(rule, finite=False)
    if not all(math.isfinite(c.value) for c in constants.values()) or (
        call.name == "Multiply" and any(c.value == 0 for c in constants.values())
    ):
        return None
    return replace(rule, finite=len(varying) > 1)


def _fits_bigint(dividend: str, divisor: str) -> bool:
    """Whether the whole quotient of two types fits into bigint; that of decimals wraps round in any mode."""
    if not is_decimal(dividend):
        return True
    (precision, scale), (_, of_divisor) = precision_and_scale(dividend), precision_and_scale(divisor)
    return precision - scale + of_divisor <= _DIGITS


def _in_zone(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """The rule for the call's own time zone."""
    if not rule.offset and not rule.period and not rule.days:
        return rule
    if rule.zone is None and not rule.seconds and "timestamp" not in (call.type, *(operand.type for operand in call.operands)):
        return replace(rule, offset=False)  # dates, and times without a zone
    zone = rule.zone or call.time_zone
    if zone is None:
        return None
    return replace(rule, zone=zone, offset=rule.offset and not spark.fixed_offset(zone))


def _by_days(call: Call, rule: Rule, spark: Spark) -> Rule:
    """What depends on the local date only goes on growing where dates do."""
    zone = call.time_zone
    return replace(rule, offset=False) if rule.offset and zone is not None and spark.dates_ascend(zone) else rule


def _cast(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    if (call.operands[0].type, call.type) == ("timestamp_ntz", "timestamp"):  # a time that the clocks leave out is a later one
        zone = call.time_zone
        return rule if zone is not None and spark.fixed_offset(zone) else None
    narrower = call.type in INTEGRAL and INTEGRAL.get(call.operands[0].type, 0) > INTEGRAL[call.type]
    if narrower and call.parameter("evalMode") == "TRY":  # NULL beyond the narrower type
        end = 1 << (INTEGRAL[call.type] - 1)
        return replace(rule, checked=False, cuts=(-end, end))
    return _by_days(call, rule, spark) if call.type == "date" else rule


def _in_other_zone(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    zone = call.operands[1]
    return replace(rule, zone=zone.value) if isinstance(zone, Literal) and isinstance(zone.value, str) else None


def _some_days(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    days = call.operands[1]
    if not isinstance(days, Literal):
        return replace(rule, calendar=True)
    return None if abs(days.value) > _FAR else rule


def _exact_interval(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    return None if call.operands[1].type == "interval" else rule  # of months besides


def _unit(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    unit = str(call.parameter("unit")).upper()
    if unit in _MONTHS_OR_LONGER:
        return _by_days(call, replace(rule, days=True), spark)
    return rule if unit in _EXACT_UNITS else None


def _difference(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """Of whole months, one that has begun counts by the time of day; a day goes from the end to the start by no more than that.

    The day before the first of a month, or after the last, is as far away as the months are short: then the difference may turn by one.
    """
    unit = str(call.parameter("unit")).upper()
    if unit not in _MONTHS_OR_LONGER:
        return rule if unit in _EXACT_UNITS else None
    start, end = call.operands
    return rule if isinstance(start, Literal) or (isinstance(end, Literal) and _within_month(end)) else replace(rule, slack=1)


def _within_month(time: Literal) -> bool:
    """Whether it is neither on the first nor on the last day of a month, in any time zone where it is a moment."""
    day = date.fromordinal(_day(time))
    margin = 1 if time.type == "timestamp" else 0
    return 1 + margin < day.day < monthrange(day.year, day.month)[1] - margin


def _divided(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """The remainder of a division by a positive whole number."""
    match call.operands:
        case [_, Literal(int() as by)] if call.type in INTEGRAL and by > 0:
            return replace(rule, truncated=by) if call.name == "Remainder" else replace(rule, floored=by)
    return None


def _of_time(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    return rule if call.operands[0].type in TIMES else None


def _truncated(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    unit = str(call.operands[0].value).upper() if isinstance(call.operands[0], Literal) else ""
    if unit in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return replace(rule, offset=False)
    return _by_days(call, rule, spark) if unit in _DAYS_OR_LONGER else rule if unit in ("HOUR", "MINUTE") else None


def _from_start(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """From the first character, or from one before which all texts of a range are the same."""
    match call.operands[1:]:
        case [Literal(0 | 1), Literal(int())] if call.type in ("string", "binary"):
            return rule
        case [Literal(int() as first), Literal(int())] if call.type == "string" and first > 1:
            return replace(rule, shared=first - 1)
    return None


def _after_constants(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """Of one text, before which there are constants, and after which there is nothing."""
    place = next(i for i, operand in enumerate(call.operands) if not isinstance(operand, Literal))
    after = call.operands[place + 1 :]
    return rule if call.type == "string" and all(isinstance(o, Literal) and o.value == "" for o in after) else None


def _positive(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    """A power by, or a logarithm to, a positive number: others have poles, or are NULL, and tell 0.0 from -0.0."""
    constant = call.operands[1 if call.name == "Pow" else 0]
    held = isinstance(constant, Literal) and 0 < constant.value < math.inf and (call.name == "Pow" or constant.value != 1)
    return rule if held else None


def _formatted(call: Call, rule: Rule, spark: Spark) -> Rule | None:
    match call.operands[1]:
        case Literal(str() as text) if (pattern := parse_pattern(text)) is not None:
            if pattern.period:
                return replace(rule, period=pattern.period)
            return rule if pattern.clock else _by_days(call, rule, spark)
    return None


# What a call's constants and types leave of a rule.
_NARROW: dict[str, Callable[[Call, Rule, Spark], Rule | None]] = {
    "Cast": _cast,
    **dict.fromkeys(("Remainder", "Pmod"), _divided),
    **dict.fromkeys(("TimestampAddYMInterval", "MonthsBetween"), _by_days),
    **dict.fromkeys(("DateAdd", "DateSub"), _some_days),
    **dict.fromkeys(("TimeAdd", "TimestampAddInterval"), _exact_interval),
    "TimestampAdd": _unit,
    "TimestampDiff": _difference,
    **dict.fromkeys(("UnixTimestamp", "ToUnixTimestamp"), _of_time),
    **dict.fromkeys(("Pow", "Logarithm"), _positive),
    **dict.fromkeys(("FromUTCTimestamp", "ToUTCTimestamp"), _in_other_zone),
    "TruncTimestamp": _truncated,
    "Substring": _from_start,
    "Concat": _after_constants,
    **dict.fromkeys(("DateFormatClass", "FromUnixTime"), _formatted),
}
