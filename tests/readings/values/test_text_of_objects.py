"""Text that expressions make of what is no text, or of capitals: it depends on a setting, on Java, or on which object holds a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake, settings_of

STYLE = "spark.sql.binaryOutputStyle"
PROVIDERS = "java.locale.providers"


def test_csv_shows_bytes_as_a_setting_has_it(lake: Lake) -> None:
    """Not only what is shown to people follows it."""
    lake.file("abc", {"b": [b"abc"]})
    lake.file("def", {"b": [b"def"]})
    lake.index(MinMax("to_csv(struct(b))"), ValueList("b"))
    lake.check("to_csv(struct(b)) = '[61 62 63]'", {"abc"})
    with settings_of(lake.spark, {STYLE: "UTF-8"}):
        scan = lake.check("to_csv(struct(b)) = 'abc'", {"abc"})
        assert any("is not used" in note and STYLE in note for note in scan.notes), scan


@pytest.mark.parametrize("value", ["array(i)", "map(i, i)", "array(array(i))", "struct(array(i))"])
def test_text_of_an_object_is_of_the_object(lake: Lake, value: str) -> None:
    """Generated code holds an array of numbers as bytes, of which Java writes a name and a hash; what evaluates it here, as numbers."""
    lake.file("one", {"i": [1]})
    lake.file("two", {"i": [2]})
    lake.index(ValueList("i"), MinMax("i"))
    lake.check(f"format_string('%s', {value}) LIKE '%@%'", {"one", "two"})
    lake.check("format_string('%s', i) = '1'", {"one"})


def test_such_text_is_not_indexed(lake: Lake) -> None:
    lake.file("one", {"i": [1], "b": [b"x"]})
    for value in ("array(i)", "b", "struct(i)"):
        with pytest.raises(DataSkipError, match="FormatString"):
            lake.index(ValueList(f"format_string('%s', {value})"))


def test_names_are_those_that_java_was_told_to_take(lake: Lake) -> None:
    """Of one moment in Paris, `zzzz` is Central European Standard Time or Central European Time, as its locales are from here or there."""
    lake.file("a", {"n": [1]})
    lake.file("b", {"n": [2]})
    lake.index(ValueList("date_format(timestamp_seconds(n), 'zzzz')"), MinMax("n"))
    system: Any = lake.spark._jvm.java.lang.System  # type: ignore[union-attr]
    assert system.getProperty(PROVIDERS) is None
    where = "date_format(timestamp_seconds(n), 'zzzz') = 'Another Time'"
    lake.check(where, set())
    system.setProperty(PROVIDERS, "COMPAT")
    try:
        scan = lake.check(where)
        assert any("is not used" in note and PROVIDERS in note for note in scan.notes), scan
        lake.check("n = 1", {"a"})
    finally:
        system.clearProperty(PROVIDERS)


@contextmanager
def locale(lake: Lake, tag: str) -> Iterator[None]:
    java: Any = lake.spark._jvm
    locales = java.java.util.Locale
    before = locales.getDefault()
    locales.setDefault(locales.forLanguageTag(tag))
    try:
        yield
    finally:
        locales.setDefault(before)


def test_the_language_of_the_machine_makes_other_capitals(lake: Lake) -> None:
    lake.file("small", {"s": ["éi"]})
    lake.file("large", {"s": ["ÉI"]})
    with locale(lake, "tr"):
        lake.index(ValueList("upper(s)"), MinMax("s"))
    lake.view()
    lake.query("SELECT * FROM t WHERE upper(s) = 'ÉI'", read=["small", "large"])
    lake.query("SELECT * FROM t WHERE s = 'éi'", read=["small"])  # what is no function has no language
    with locale(lake, "tr"):
        lake.query("SELECT * FROM t WHERE upper(s) = 'ÉİI'", read=[])


def test_another_java_makes_other_text(lake: Lake) -> None:
    """Since its version 19, Java writes some doubles with fewer digits (JDK-4511638); Unicode's tables grow as well."""
    lake.file("a", {"x": [2e-3]})
    lake.index(ValueList("cast(x AS string)"))
    lake.check("cast(x AS string) = 'x'", read=[])
    java: Any = lake.spark._jvm
    system, key = java.java.lang.System, "java.specification.version"
    before = system.getProperty(key)
    system.setProperty(key, "999")
    try:
        lake.check("cast(x AS string) = 'x'", read=["a"])
    finally:
        system.setProperty(key, before)
