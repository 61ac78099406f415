"""Extractors: named, versioned functions of a string, registered once as SQL function and index extractor.

    @log_skip.extractor("vendor", version=1)
    def vendor(text: str) -> str | None:
        return text.split("/")[0] or None

    log_skip.register(spark)
    table.create_index(Formatted("user_agent", "vendor"))
    spark.sql("SELECT ... WHERE vendor(user_agent) = 'Mozilla'")

An extractor is a Python function or, where Spark has the function, a SQL expression: then predicates that spell the expression out
are served as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pandas as pd
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import pandas_udf

from data_skip import DataSkipError
from data_skip.functions import versioned
from data_skip.plugin import refuse_no_session

Function = Callable[[str], Any]
F = TypeVar("F", bound=Function)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_known: dict[str, Extractor] = {}
_registered: WeakKeyDictionary[SparkSession, set[Extractor]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Extractor:
    """What finds a value in a string: `function`, or a SQL expression in which {0} stands for the string, {1}, ... for constants.

    version: raise it when the function gives other values than before. What an index collected with another version is not used.
    """

    name: str
    version: int | str
    returns: str
    function: Function | None
    sql: str
    parameters: tuple[str, ...]
    aliases: tuple[str, ...]

    def over(self, column: str, constants: Sequence[Any] = ()) -> str:
        """The SQL expression that extracts from a column (or any SQL expression of a string). ValueError for too few constants."""
        if len(constants) != len(self.parameters) - 1:
            wanted = ", ".join(self.parameters[1:]) or "none"
            raise ValueError(f"extractor {self.name} takes constants: {wanted}; not {list(constants)!r}")
        if self.function is not None:
            return f"{self.name}({column})"
        return self.sql.format(f"({column})", *map(literal, constants))

    @property
    def inner(self) -> str:
        """The name under which the Python function itself is registered."""
        return f"log_skip_{self.name}"

    def register(self, spark: SparkSession) -> None:
        """Makes it a SQL function of the session, by its name and its aliases."""
        if self.function is not None:
            vectorised = pandas_udf(versioned(Distinct(self.function), self.version), self.returns)  # type: ignore[call-overload]
            spark.udf.register(self.inner, vectorised)
        names = [parameter.split()[0] for parameter in self.parameters]
        for name in (self.name, *self.aliases):
            spark.sql(
                f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({', '.join(self.parameters)}) "
                f"RETURNS {self.returns} RETURN {self.sql.format(*names)}"
            )


class Distinct:
    """A function of one string as a function of a batch of strings, called once for each distinct one. Null stays null.

    Where the function raises an error the value is null: no task fails for a string. But where a worker lacks what it needs, as a package,
    a file or memory, it fails: the value would be null of any string.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "extractor")
        self.__annotations__ = {"strings": pd.Series, "return": pd.Series}

    def __reduce__(self) -> tuple[Any, ...]:
        return Distinct, (self.function,)

    def __call__(self, strings: pd.Series) -> pd.Series:
        texts = strings.tolist()  # pandas' own tables of strings take a zero byte for the end of one
        values = {text: self._value(text) for text in dict.fromkeys(texts) if isinstance(text, str)}
        return pd.Series([values.get(text) for text in texts], dtype=object)

    def _value(self, text: str) -> Any:
        try:
            return self.function(text)
        except (ImportError, OSError, MemoryError):
            raise
        except Exception:
            return None


def extractor(name: str, version: int | str = 1, returns: str = "string", aliases: Sequence[str] = ()) -> Callable[[F], F]:
    """Makes a function of one string (never None) an extractor. `returns` is a Spark type; None is NULL.

    Define it in a module that Spark's workers can import: a function of a notebook is known by its code, and is another one after
    every change of it. A later extractor of the same name takes the place of an earlier one.
    """
    if isinstance(aliases, str):
        raise ValueError(f"aliases of extractor {name} are a list of names, not {aliases!r}")

    def mark(function: F) -> F:
        _know(Extractor(name, version, returns, function, f"log_skip_{name}(make_valid_utf8({{0}}))", ("value STRING",), tuple(aliases)))
        return function

    return mark


def sql_extractor(name: str, sql: str, *parameters: str, version: int | str = 1, returns: str = "string") -> None:
    """Makes a SQL expression an extractor: {0} stands for the string, {1}, ... for the constants that `parameters` declares.

    As in sql_extractor("path_prefix", "substring_index({0}, '/', {1} + 1)", "depth INT"). Braces that mean themselves are doubled.
    """
    _know(Extractor(name, version, returns, None, sql, ("value STRING", *parameters), ()))


def _know(new: Extractor) -> None:
    for name in (new.name, *new.aliases):
        if not _NAME.fullmatch(name):
            raise ValueError(f"an extractor is a SQL function, so its name has letters, digits and _ only, not {name!r}")
    if isinstance(new.version, bool) or not isinstance(new.version, int | str):
        raise ValueError(f"the version of extractor {new.name} must be a whole number or a text, not {new.version!r}")
    if new.function is not None and not callable(new.function):
        raise ValueError(f"extractor {new.name} is to be a function of one string, not {new.function!r}")
    _refuse_sql(new)
    for name in (new.name, *new.aliases):
        _known[name] = new


def _refuse_sql(new: Extractor) -> None:
    """ValueError where the string has no place in the SQL of an extractor, or something has one that is not declared."""
    why = "it has no place for the string"
    try:
        if "\0" in new.sql.format("\0", *new.parameters[1:]):
            return
    except (IndexError, KeyError, ValueError) as error:
        why = f"{error}"
    places = "{0} stands for the string, {1}, ... for the constants that are declared; braces that mean themselves are doubled"
    raise ValueError(f"the SQL of extractor {new.name} cannot be {new.sql!r}: {why}; {places}")


def extractors() -> list[Extractor]:
    """All extractors that are known, by name."""
    return sorted(set(_known.values()), key=lambda extractor: extractor.name)


def known(name: str) -> Extractor:
    """The extractor of a name. ValueError where there is none."""
    if name not in _known:
        raise ValueError(f"no extractor is called {name!r}; known are {', '.join(sorted(_known))}; @log_skip.extractor makes one")
    return _known[name]


def register(spark: SparkSession) -> None:
    """Makes every extractor a SQL function of the session. A temporary function of the same name is replaced."""
    refuse_no_session(spark)
    _registered.pop(spark, None)
    register_missing(spark)


def register_missing(spark: SparkSession) -> None:
    """As `register`, but for those that it has registered in this session: Spark warns of each function that is replaced."""
    refuse_no_session(spark)
    given = _registered.setdefault(spark, set())
    for each in extractors():
        if each not in given:
            try:
                each.register(spark)
            except PySparkException as error:
                why = str(error).strip().splitlines()[0]
                raise DataSkipError(f"extractor {each.name} is no function of SQL: {why}; make it known anew, by the same name") from error
            given.add(each)


def literal(value: Any) -> str:
    """A constant as SQL text, whatever a session makes of backslashes and doubled quotes."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"a constant of an extractor is a string or a whole number, not {value!r}")
    if isinstance(value, int):
        return str(value)
    return f"r'{value}'" if "'" not in value else f"decode(X'{value.encode().hex()}', 'UTF-8')"
