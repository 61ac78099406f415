"""Statements of SQL that Python answers: table functions, and procedures for CALL."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.spark.answering import Answering
from data_skip.spark.errors import SPARK_ERRORS, first_line
from data_skip.spark.janino import instance
from data_skip.spark.jvm import load_plugin

SOURCES = tuple(f"spark/sql/{name}.java" for name in ("Statement", "Arguments", "AnswerTable", "TableFunction", "Procedures", "SqlShim"))


@dataclass(frozen=True)
class Statement:
    """A table function; or a procedure of the catalog `data_skip`, where its name begins with that and a dot."""

    name: str
    parameters: pa.Schema  # those that are not nullable have to be given
    columns: pa.Schema | None  # None: those of the answer, which is then asked for while a query is analysed; of table functions only
    # Of the arguments by their names, with None for what is left out, and of the query's number.
    answer: Callable[[Mapping[str, Any], str], pa.Table]
    description: str  # a line


class Statements:
    """The statements of one session. It holds no state of a query."""

    def __init__(self, spark: SparkSession, statements: Sequence[Statement]) -> None:
        self._spark = spark
        self._statements = {statement.name: statement for statement in statements}
        self._asked = Answering(spark.sparkContext._gateway, lambda question, answer: self.apply(question, answer))

    def install(self) -> None:
        """From now on the session knows them. DataSkipWarning where this Spark has no place for them."""
        try:
            for name, statement in self._statements.items():
                columns = None if statement.columns is None else _json(statement.columns)
                self._shim.install(self._java_session, self._asked, name, _json(statement.parameters), columns, statement.description)
        except SPARK_ERRORS as error:
            advice = "what Python does by itself is not touched by that"
            message = f"this Spark takes no statements of SQL from data-skip; {advice}: {first_line(error)}"
            warnings.warn(message, DataSkipWarning, stacklevel=4)

    def forget(self) -> None:
        """Nothing is answered any more."""
        self._asked.answer = lambda question, answer: "data-skip was disabled in this session"

    def uninstall(self) -> None:
        """It no longer does."""
        for name in self._statements:
            self._shim.uninstall(self._java_session, name)

    def apply(self, question: str, answer: Any) -> str | None:
        """Has a reference of the JVM refer to the answer of a statement, a DataFrame; where there is none, says why."""
        asked = json.loads(question)
        active = SparkSession._activeSession  # which createDataFrame changes; of the JVM's own, Statement.java takes care
        try:
            statement = self._statements[asked["name"]]
            given = {name: asked["arguments"].get(name) for name in statement.parameters.names}
            answer.set(self._spark.createDataFrame(statement.answer(given, asked["query"]))._jdf)
            return None
        except DataSkipError as error:
            return str(error)
        except SPARK_ERRORS as error:
            return first_line(error)
        except (Exception, KeyboardInterrupt) as error:  # the second, raised further, would leave the JVM without an answer
            return f"{type(error).__name__}: {error}"
        finally:
            SparkSession._activeSession = active

    @property
    def _java_session(self) -> Any:
        return self._spark._jsparkSession

    @property
    def _shim(self) -> Any:
        return _shim(self._spark.sparkContext._gateway)


def _json(schema: pa.Schema) -> str:
    return from_arrow_schema(schema).json()


@cache
def _shim(gateway: Any) -> Any:
    """The SqlShim object of this JVM."""
    return instance(gateway, load_plugin(gateway, "data_skip", SOURCES), "java.lang.Object", ())
