"""What the claims lab asks about: boundary values of every type, and functions of them with constants of many families."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta, timezone
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from data_skip.data_types import FRACTIONAL, INTEGRAL, is_decimal, precision_and_scale
from data_skip.proofs.preimage import value_at

DAY, SECOND = 86_400_000_000, 1_000_000
DECIMALS = ("decimal(9,2)", "decimal(18,0)", "decimal(18,17)", "decimal(20,18)", "decimal(38,6)", "decimal(38,38)")
NUMBERS = (*INTEGRAL, *FRACTIONAL, *DECIMALS)
MOMENTS = ("timestamp", "timestamp_ntz")
TYPES = (*NUMBERS, "boolean", "date", *MOMENTS, "string", "binary")
ZONES = (
    *("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe"),
    *("Africa/Monrovia", "Europe/Dublin", "America/Sao_Paulo", "Asia/Kathmandu", "Antarctica/Troll", "+14:00", "-12:30"),
)
_DAYS = [
    *(
        "0001-01-01",
        "0001-12-31",
        "0004-02-29",
        "1582-10-04",
        "1582-10-15",
        "1600-02-29",
        "1883-11-18",
        "1900-02-28",
        "1900-03-01",
        "1969-12-31",
    ),
    *(
        "1970-01-01",
        "2000-02-29",
        "2011-12-30",
        "2019-12-30",
        "2020-02-29",
        "2020-12-31",
        "2021-01-01",
        "2021-01-03",
        "2021-01-04",
        "2021-01-29",
    ),
    *(
        "2021-01-30",
        "2021-01-31",
        "2021-02-28",
        "2021-03-01",
        "2021-03-31",
        "2021-04-30",
        "2021-05-15",
        "2021-07-31",
        "2021-10-31",
        "2024-02-29",
    ),
    *("2024-03-10", "2024-11-03", "2100-02-28", "9999-01-31", "9999-12-31"),
]
# Moments at which clocks left out the end of a month, or a whole day, had it twice, or moved by seconds; and the first day of the calendar.
CLOCKS = (
    *(("Europe/Berlin", "1916-04-30T22:00:00"), ("Pacific/Apia", "2011-12-30T10:00:00"), ("Pacific/Kwajalein", "1993-08-21T12:00:00")),
    *(("Asia/Manila", "1844-12-31T15:56:00"), ("America/Juneau", "1867-10-18T15:33:32"), ("Africa/Monrovia", "1972-01-07T00:44:30")),
    *(("Europe/Amsterdam", "1937-06-30T22:40:28"), ("America/St_Johns", "2006-10-29T02:31:00"), ("UTC", "1582-10-15T00:00:00")),
)
_TIMES = ("00:00:00", "00:00:00.000001", "01:30:00", "02:30:00", "12:00:00", "23:59:59.999999")


def _epoch_day(text: str) -> int:
    return date.fromisoformat(text).toordinal() - 719163


def _changes(zone: str) -> Iterator[int]:
    """Seconds since 1970 at which the clocks of a zone change, to a minute."""
    if zone[0] in "+-":
        return
    known, month = ZoneInfo(zone), 30 * 86400

    def offset(at: int) -> timedelta | None:
        return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=at)).astimezone(known).utcoffset()

    for start in range(-3_000_000_000, 2_200_000_000, month):
        low, high = start, start + month
        if offset(low) != offset(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
            yield high


def ordinals(type_: str, zone: str, random: Random, count: int, around: str = "") -> list[int]:
    """Boundary values of an ordered type by their numbers (see Domain.java), ascending: neighbours of what is hard, and some at random.

    around: a moment, in UTC, near which or some months from which all of them are, of dates and times, and of seconds since 1970.
    """
    smallest, largest = _ends(type_)
    if around:
        return sorted(_around(around, type_, random, count))
    points = list(_points(type_, zone))
    found: set[int] = set()
    while len(found) < min(count, largest - smallest + 1):
        near = random.choice((0, 0, 1, -1, 2, -2, random.randrange(-100, 100)))
        if type_ in MOMENTS:
            near = random.choice((near, near * SECOND, near * 60 * SECOND, near * 3600 * SECOND, near * 30 * 60 * SECOND, near * DAY))
        at_random = random.choice((1, -1)) * random.getrandbits(random.randrange(1, 128))
        chosen = at_random if random.random() < 0.2 else random.choice(points) + near
        found.add(chosen if smallest <= chosen <= largest else random.randint(smallest, largest))
    return sorted(found)


def _around(moment: str, type_: str, random: Random, count: int) -> set[int]:
    at = round((datetime.fromisoformat(moment) - datetime(1970, 1, 1)) / timedelta(microseconds=1))
    unit = {"date": DAY, "bigint": SECOND}.get(type_, 1)
    found = set()
    for _ in range(count):
        near = random.choice((0, 0, 1, -1, 2)) * random.choice((28, 30, 31, 61, 365)) * DAY + random.randrange(-3, 4) * DAY // 2
        found.add((at + near + random.choice((0, 1, SECOND, 1800 * SECOND, 3600 * SECOND)) * random.randrange(-3, 4)) // unit)
    return found


def _ends(type_: str) -> tuple[int, int]:
    if type_ in FRACTIONAL:
        return -_ordinal(math.inf, type_), _ordinal(math.inf, type_)
    if is_decimal(type_):
        largest = 10 ** precision_and_scale(type_)[0] - 1
        return -largest, largest
    bits = INTEGRAL.get(type_, 32 if type_ == "date" else 64)
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _ordinal(value: float, type_: str) -> int:
    real, whole = (">f", ">i") if type_ == "float" else (">d", ">q")
    try:
        found: int = struct.unpack(whole, struct.pack(real, abs(value)))[0]
    except OverflowError:
        return _ordinal(math.inf, type_)
    return found if value >= 0 else -found


def _points(type_: str, zone: str) -> Iterator[int]:
    powers = [0, *(2**k for k in range(65)), *(10**k for k in range(38)), *(5 * 10**k for k in range(37)), 46340, 3037000499]
    times = [9223372036854775, 9223372036854, 253402300799, 253402300800, 62135596800, 719162, 2932896, 2932897, 1 << 31]
    if type_ in FRACTIONAL:
        halves = [k / 2 for k in range(12)] + [0.05, 0.1, 0.005, 1.005, 2.675, 709.8, 1e300, math.inf, 5e-324, math.pi, math.e]
        yield from (_ordinal(sign * float(v), type_) for v in (*powers, *times, *halves) for sign in (1, -1))
    elif is_decimal(type_):
        one = 10 ** precision_and_scale(type_)[1]
        wholes = [m * one for m in (*range(12), 99, 100, 127, 128, 255, 32767, 32768, 2**31 - 1, 2**31, 2**63, *times)]
        yield from (sign * v for v in (*powers, *wholes, one // 2, one + one // 2, 2 * one + one // 2, one // 20) for sign in (1, -1))
    elif type_ in INTEGRAL:
        yield from (sign * v for v in (*powers, *times) for sign in (1, -1))
    elif type_ == "date":
        yield from (*map(_epoch_day, _DAYS), *(change // 86400 for change in _changes(zone)), *_ends(type_))
    else:
        yield from (_epoch_day(day) * DAY for day in _DAYS)
        yield from (change * SECOND for change in _changes(zone))
        yield from _ends(type_)


def texts(random: Random, count: int) -> list[str]:
    """Strings in Spark's order, many with a common beginning."""
    letters = ["a", "b", "A", " ", "é", "0", "\ue000", "😀", "\U0010ffff", "\x00"]
    found = {"".join(random.choices(letters, k=random.randrange(6))) for _ in range(2 * count)}
    return sorted(random.sample(sorted(found), min(count, len(found))), key=lambda text: text.encode())


def literal(value: Any, type_: str) -> str:
    """A constant in SQL, of a value in Spark's own representation."""
    if type_ == "date":
        return f"date_from_unix_date({value})"
    if type_ == "timestamp":
        return f"timestamp_micros({value})"
    if type_ == "timestamp_ntz":
        moment = datetime(1970, 1, 1) + timedelta(microseconds=value)
        return f"TIMESTAMP_NTZ'{moment.year:04}{moment.isoformat(sep=' ')[4:]}'"
    if type_ == "string":
        return f"cast(X'{value.encode().hex()}' AS string)"
    if type_ == "binary":
        return f"X'{value.hex()}'"
    return f"cast('{value}' AS {type_})"


def functions(type_: str, random: Random, constants: int) -> list[str]:
    """Functions of column v (and u, of the same type), in SQL; of each that has a constant, with so many of them."""
    found = []
    for template, families in _templates(type_):
        choices = list(families)
        found += [template.replace("{}", k) for k in (random.sample(choices, min(constants, len(choices))) if choices else [""])]
    return list(dict.fromkeys(found))


def _templates(type_: str) -> Iterator[tuple[str, Iterable[str]]]:
    """Functions, and the constants that each is asked with in place of {}."""
    if type_ in NUMBERS:
        yield from _of_numbers(type_)
    if type_ in INTEGRAL:
        yield from _to_times()
    if type_ == "boolean":
        yield from ((f"cast(v AS {to})", ()) for to in (*INTEGRAL, *FRACTIONAL, "decimal(3,1)"))
    if type_ == "date":
        yield from _of_dates()
    if type_ in ("date", *MOMENTS):
        yield from _of_times(type_)
    if type_ in MOMENTS:
        yield from _of_moments(type_)
    if type_ in ("string", "binary"):
        yield (
            "substr(v, {})",
            ("0, 1", "1, 1", "1, 2", "1, 0", "1, -1", "0, -1", "2", "2, 1", "3, 2", "-1, 1", "1, 2147483647", "0, 2147483647"),
        )
        yield "left(v, {})", ("1", "3")
        yield "concat({})", ("'a', v", "v, ''", "v, 'b'", "'a', 'é', v, ''", "v, u")


def _of_numbers(type_: str) -> Iterator[tuple[str, Iterable[str]]]:
    smallest, largest = _ends(type_)
    chosen = (0, 1, 2, 3, 7, 10, 100, 127, 128, largest, largest // 2, largest // 3) if type_ not in FRACTIONAL else ()
    known = (*(sign * o for o in chosen if o <= largest for sign in (1, -1)), smallest)
    own = [literal(value_at(o, type_), type_) for o in known]
    floats = ("0", "-0.0", "1", "-1", "2", "0.5", "-2.5", "3", "0.1", "1e300", "-1e300", "5e-324", "infinity", "-infinity", "NaN", "1e-5")
    halves = [f"{sign}{v}" for v in ("0.5D", "1.5", "2.5BD", "1e3D", "0.001BD", "99999999999BD", "3", "7L") for sign in ("", "-")]
    constants = [*own, *halves, *(f"double('{v}')" for v in floats), *(f"float('{v}')" for v in floats)]
    for operator in "+-*/%":
        yield f"v {operator} {{}}", constants
        yield f"{{}} {operator} v", constants
        yield f"v {operator} u", ()
    for name in ("try_add", "try_subtract", "try_multiply", "try_divide", "pmod", "nanvl"):
        yield f"{name}(v, {{}})", constants
        yield f"{name}(v, u)", ()
    yield "v div {}", [*own, "3", "-7L", "2.5BD", "0.001BD"]
    yield "{} div v", [*own, "3", "-7L", "2.5BD", "0.001BD"]
    yield "v div u", ()
    places = [str(n) for n in (-39, -19, -10, -2, -1, 0, 1, 2, 5, 17, 40)]
    for name in ("round", "bround", "ceil", "floor"):
        yield f"{name}(v, {{}})", places
    names = "- ~ abs sign floor ceil rint sqrt exp expm1 cbrt atan sinh tanh cosh asin acos atanh ln log2 log10 log1p degrees radians"
    yield from ((f"{name}(v)", ()) for name in names.split())
    yield "log({}, v)", (*halves, *(f"double('{v}')" for v in floats), "10", "1", "1.0000001D")
    yield "pow(v, {})", (*halves, *(f"double('{v}')" for v in floats), "2", "3", "-1", "-2", "0", "1", "0.3333333333333333D")
    yield "shiftright(v, {})", ("0", "1", "2", "31", "32", "63", "64", "-1")
    for to in (*INTEGRAL, *FRACTIONAL, *DECIMALS, "decimal(10,0)", "decimal(3,1)", "timestamp", "string", "boolean"):
        yield f"cast(v AS {to})", ()
        yield f"try_cast(v AS {to})", ()


def _to_times() -> Iterator[tuple[str, Iterable[str]]]:
    yield from ((f"{name}(v)", ()) for name in ("timestamp_seconds", "timestamp_millis", "timestamp_micros", "date_from_unix_date"))
    yield "date_trunc('{}', timestamp_micros(v))", ("SECOND", "MILLISECOND", "HOUR", "DAY", "YEAR")
    yield "timestamp_micros(v) + INTERVAL {}", ("1 DAY", "1 MONTH", "-1 HOUR", "0.000001 SECOND")
    yield "{}(timestamp_micros(v))", ("year", "unix_seconds", "date", "unix_millis", "last_day", "hour")
    yield "from_unixtime(v{})", ("", ", 'yyyy-MM'", ", 'yyyyMMdd'", ", 'HH:mm'", ", 'dd.MM.yyyy'")
    yield "{}", (f"{name}({day}, cast(v AS int))" for day in ("DATE'2021-01-31'", "DATE'0001-01-01'") for name in ("date_add", "date_sub"))
    units = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
    yield "timestampadd({}, cast(v AS int), TIMESTAMP'2021-01-31 12:00:00')", units
    yield "date_add(date_from_unix_date(cast(v AS int)), {})", ("1", "100000000", "-2147483648")
    yield "datediff(date_from_unix_date(cast(v AS int)), date_from_unix_date(cast(u AS int)))", ()


def _dates() -> list[str]:
    extremes = (-(2**31), 2**31 - 1, 800_000 - 2**31, 2**31 - 800_000, -719163, 2932897)
    return [*(f"DATE'{day}'" for day in _DAYS), *(literal(days, "date") for days in extremes)]


def _of_dates() -> Iterator[tuple[str, Iterable[str]]]:
    steps = [str(n) for n in (0, 1, -1, 5, -40, 366, 100_000, 99_999_999, -100_000_001, 2**31 - 1, -(2**31))]
    for name in ("date_add", "date_sub", "add_months"):
        yield f"{name}(v, {{}})", steps
    for template in ("datediff(v, {})", "datediff({}, v)", "v - {}", "{} - v"):
        yield template, _dates()
    yield from (("datediff(v, u)", ()), ("v - u", ()), ("last_day(v)", ()), ("unix_date(v)", ()), ("cast(v AS timestamp)", ()))
    yield "v + INTERVAL {}", ("1 MONTH", "-1 MONTH", "13 MONTH", "1 YEAR", "-100 YEAR", "1 DAY", "1 HOUR", "178956970 YEAR")
    yield "next_day(v, '{}')", ("MON", "SUN", "xx")
    yield "trunc(v, '{}')", ("WEEK", "MONTH", "QUARTER", "YEAR", "xx")
    yield "cast(v AS timestamp_ntz)", ()


def _of_times(type_: str) -> Iterator[tuple[str, Iterable[str]]]:
    names = "year quarter month day dayofyear dayofweek weekday weekofyear last_day unix_timestamp to_unix_timestamp"
    yield from ((f"{name}(v)", ()) for name in (*names.split(), "date", "timestamp", "string"))
    yield "extract({} FROM v)", ("YEAROFWEEK", "WEEK", "DOW")
    units = ["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "xx"]
    yield "date_trunc('{}', v)", units
    names = "yyyy yyyy-MM yyyy-MM-dd yyyyMMdd yyyy.MM.dd_HH dd.MM.yyyy MM/dd/yyyy HH:mm mm:ss yyyy-dd MMM ss.SSSSSS yyyy'x'MM"
    patterns = [*names.split(), "yyyy-MM-dd HH:mm:ss.SSS", "HH:mm dd.MM.", "yyyy-MM-dd HH:mm:ss.S"]
    yield 'date_format(v, "{}")', patterns
    kind = "TIMESTAMP_NTZ" if type_ == "timestamp_ntz" else "TIMESTAMP"
    moments = [f"{kind}'{day} {time}'" for day in _DAYS for time in _TIMES]
    odd = [f"timestamp_micros({m})" for m in (-(2**63), 2**63 - 1, 253402300800000000, -62135596800000001)]
    for template in ("months_between(v, {})", "months_between({}, v)", "months_between(v, {}, false)"):
        yield template, moments
    yield "months_between(v, u)", ()
    for unit in units[:-1]:
        yield f"timestampdiff({unit}, v, {{}})", [*moments, *odd]
        yield f"timestampdiff({unit}, {{}}, v)", [*moments, *odd]
        yield f"timestampdiff({unit}, v, u)", ()
        yield f"timestampadd({unit}, {{}}, v)", [str(n) for n in (0, 1, -1, 5, -13, 100_000, 2**31 - 1, -(2**31))]


def _of_moments(type_: str) -> Iterator[tuple[str, Iterable[str]]]:
    kind = "TIMESTAMP" if type_ == "timestamp" else "TIMESTAMP_NTZ"
    moments = [f"{kind}'{day} {time}'" for day in _DAYS for time in _TIMES]
    yield from ((f"{name}(v)", ()) for name in ("hour", "minute", "second"))
    yield "extract(SECOND FROM v)", ()
    steps = (
        "1 DAY",
        "-1 DAY",
        "30000 DAY",
        "90 MINUTE",
        "-1 HOUR",
        "0.000001 SECOND",
        "1 MONTH",
        "-1 MONTH",
        "-13 MONTH",
        "999 YEAR",
        "100000000 DAY",
    )
    yield "v + INTERVAL {}", (*steps, "1 MONTH 1 DAY")
    for template in ("v - {}", "{} - v"):
        yield template, moments
    yield "v - u", ()
    for name in ("from_utc_timestamp", "to_utc_timestamp"):
        yield f"{name}(v, '{{}}')", ("Europe/Berlin", "America/New_York", "Pacific/Apia", "UTC", "+05:30")
    to = (
        ("timestamp_ntz", *INTEGRAL, *FRACTIONAL, "decimal(20,6)", "decimal(38,0)", "decimal(10,2)")
        if type_ == "timestamp"
        else ("timestamp",)
    )
    yield "cast(v AS {})", to
    yield from ((f"{name}(v)", ()) for name in ("unix_seconds", "unix_millis", "unix_micros"))
