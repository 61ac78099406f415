"""Which functions are monotone, and where: the one thing about Spark that we claim ourselves.

A claim (`Rule`) is about a call of which some operands may vary, the others being constants: in each operand that may vary, all
others being held, the function never turns, and the values at which it has a value (neither raises an error nor gives NULL) are
one stretch. Every claim is made under the conditions that stand in it, and for dates and times of the years 1 to 9999 only. What is left
of a claim for the constants and types of one call, narrowing.py says. It is used twice:

- preimage.py: `f(x) op c` as a range of x, found by bisection, asking Spark for f at some 64 points. For claims without conditions.
- ranges.py: the range of f in a file, from Spark's answers at the corners of the ranges of its operands there.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from data_skip.ask_spark import Rule

_ALWAYS = Rule()
_FIRST = Rule((0,))
_ARITHMETIC = Rule(checked=True, finite=True)  # of infinities, a sum or product may be NaN
_ONE: int = struct.unpack(">q", struct.pack(">d", 1.0))[0]  # the ordinal of 1.0
_LOGARITHM = Rule((0,), inexact=True, cuts=(1,))  # NULL up to 0

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
    **dict.fromkeys(("LastDay", "NextDay", "TruncDate", "Year", "YearOfWeek", "UnixDate"), _FIRST),
    "DateFromUnixDate": replace(_FIRST, calendar=True),
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
    "TimestampDiff": Rule(offset=True),  # of months it turns in the first operand where the second is at an end of one: see _difference
    **dict.fromkeys(("FromUTCTimestamp", "ToUTCTimestamp"), replace(_FIRST, offset=True)),  # in the zone of the second operand
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
    ("fractional", "decimal"): _FIRST,  # of its shortest text, which keeps weak order, rounds half up
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
    ("timestamp", "decimal"): _FIRST,
    ("integral", "timestamp"): _FIRST,
    ("fractional", "timestamp"): _FIRST,
    ("date", "string"): replace(_FIRST, text=True),
    ("timestamp_ntz", "string"): replace(_FIRST, text=True),
    ("timestamp", "string"): replace(_FIRST, text=True, offset=True),
}
