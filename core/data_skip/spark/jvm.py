"""The JVM side: Java sources that ship with this package, compiled inside the running session, and what Python asks of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JError
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from data_skip.errors import DataSkipError
from data_skip.spark.answering import Answering
from data_skip.spark.bridge import Scan
from data_skip.spark.errors import SPARK_ERRORS
from data_skip.spark.janino import instance, load
from data_skip.spark.kept import gone

SOURCES = tuple(
    "/".join(filter(None, ("spark", room, f"{name}.java")))
    for room, names in (
        ("trees", "PythonResults"),
        ("", "Connection Kept UserSettings Meddling Plans Relations Determinism Substitution Unshared TaskJvm"),
        ("values", "Doubtful"),
        ("plans", "SameColumns ScannedFiles SideCost Alike Repeatable PoolThreads TimeLimit SessionWindows SmallSide"),
        ("trees", "Code TreeEncoder Foreign Variants"),
        ("values", "TimeZones ValueRange Claim Conditions Domain Repeated Bisection AnsiForm"),
        ("trees", "ReadableSql"),
        ("values", "Undated Backtracking Bounded Localized InTime PythonBatches PythonWorkers Evaluator Members Ranges"),
        (
            "files",
            "StorageSettings FilesNow Folders KnownFiles Freshness ListedFiles EvaluationJob Listing Answers ChosenFiles ExplainedPath",
        ),
        ("files", "SameFiles SnapshotTable CatalogPartitions SnapshotVersion SnapshotFiles SnapshotFileIndex"),
        ("plans", "Compared KeyPredicates SideRows RuntimeFilter SideTime RuntimeFilters Indexed Tables"),
        ("files", "HadoopSettings SessionSettings Description ScanTrees Told AskedScan Decisions SkippingFileIndex"),
        ("plans", "Callers Writes Contracts Groups Generators PushedDown Operators Place PruningValues Sampled AsRun FoldersReadTwice"),
        ("plans", "FilesRead OrderOfGroups OrderOfRows Descent FileScans LeftScans SkippingRule"),
        ("", "Shim"),
    )
    for name in names.split()
)


class Jvm:
    """The JVM of one session: all that data-skip asks it about plans, and about DataFrames by their plans."""

    def __init__(self, spark: SparkSession, callback: Any, libraries: tuple[str, ...]) -> None:
        """callback: its `apply` is what the JVM calls while it plans and runs queries, as a java.util.function.BiFunction.

        libraries: with what the keys of Hadoop begin by which the libraries that read files are set.

        DataSkipError where what Python asks back runs on other threads of the JVM, as with PYSPARK_PIN_THREAD=false.
        """
        gateway: Any = spark.sparkContext._gateway
        if not isinstance(gateway, ClientServer):
            raise DataSkipError(
                "this Python was started with PYSPARK_PIN_THREAD=false: Spark would answer data-skip on threads that do not know the"
                " query's settings, and rows might be lost; unset PYSPARK_PIN_THREAD and start Python anew"
            )
        ensure_callback_server_started(gateway)
        self._session = spark._jsparkSession
        self._callback = Answering(gateway, lambda question, java: callback.apply(question, java))
        self._shim = shim(gateway)
        self._shim.calls(_callback_client(gateway), ",".join(libraries))

    def kept(self, number: str) -> Any:
        """What the JVM keeps under a number; None where it is nothing."""
        return self._shim.kept(number)

    def install(self) -> None:
        """From now on the session's queries skip files."""
        self._rule = self._shim.install(self._session, self._callback)

    def look_again(self) -> None:
        """What Python has said of indexes may be otherwise by now: it is asked again. Where Spark was stopped, nobody asks."""
        with suppress(Py4JError):
            self._rule.tables().forget()

    def decided_again(self) -> str:
        """As Answers.takeUntold."""
        return str(self._rule.answers().takeUntold(gone()))

    def last_left_alone(self, but: str = "") -> str:
        """Spark's number of the last query, but one that runs, for which skipping was off; "" where there is none."""
        return str(self._rule.lastLeftAlone(but))

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Within, queries for which skipping is off are ours, not the user's."""
        before = self.last_left_alone()
        try:
            yield
        finally:
            self._rule.setLastLeftAlone(before)

    def answer(self, answer: Callable[[str, Any], Any]) -> None:
        """What the JVM is told from now on, in place of what the callback says."""
        self._callback.answer = answer

    def uninstall(self) -> None:
        """They no longer do, nor those that are planned already."""
        self._rule.answers().close()
        self._shim.uninstall(self._session)

    def qualified(self, path: str) -> str:
        """The path that Spark reads for a path as users write it: an escaped URI without a slash at its end."""
        return str(self._shim.qualified(self._session, path)).rstrip("/")

    @property
    def local_files(self) -> bool:
        """Whether Spark reads what a `file:` URI names as any program on this machine does."""
        return bool(self._shim.localFiles(self._session))

    def table_format(self, path: str) -> str | None:
        """The system to which a folder of files, or of a partition, belongs: Delta, Hudi, Iceberg; None without a sign that can be read."""
        try:
            found = self._shim.tableFormat(self._session, path)
        except SPARK_ERRORS:
            return None
        return None if found is None else str(found)

    def is_of_stream(self, root: str) -> bool:
        """Whether a stream wrote the folder at a root: then its log says which files are there, to those who name the folder."""
        return bool(self._shim.isOfStream(self._session, root))

    def format_name(self, file_format: Any) -> str:
        """What a FileFormat of the JVM is called in descriptions of scans: "parquet", or the class of one that Spark does not bring."""
        return str(self._shim.formatName(file_format))

    def files_now(self, root: str, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        """The size and the modification time of each of some files below a root, by paths as of an index; None where it is gone."""
        told = str(self._shim.filesNow(self._session, root, "\n".join(paths))).split("\n") if paths else []
        return [(int(size), int(time)) if size else None for size, _, time in (one.partition(" ") for one in told)]

    def of_snapshot(self, frame: DataFrame, root: str, contract: str, schema: StructType | str | None) -> DataFrame:
        """A DataFrame of one file of the table at a root, over all files of the last version of its index.

        schema: as the user gave it; the values of partitions that it names are read by it.
        """
        told = schema.json() if isinstance(schema, StructType) else schema
        java = self._shim.snapshotFrame(frame._jdf.queryExecution().analyzed(), root, contract, told, self._callback)
        return DataFrame(java, frame.sparkSession)

    def of_catalog(self, frame: DataFrame, contract: str) -> DataFrame:
        """A DataFrame that merely selects from a table of the catalog, over all files of the last version of its index."""
        java = self._shim.snapshotOfCatalog(frame._jdf.queryExecution().analyzed(), contract, self._callback)
        return DataFrame(java, frame.sparkSession)

    def scan(self, frame: DataFrame) -> Scan | None:
        """The scan of a DataFrame that merely selects from one table of files, with no predicate; None for another DataFrame."""
        java = self._shim.scan(frame._jdf.queryExecution().analyzed())
        return None if java is None else Scan(java)

    def scans(self, frame: DataFrame) -> list[Scan]:
        """The scans of a DataFrame that stand below a predicate, whether or not there is an index, as Spark optimised it."""
        plan, session = frame._jdf.queryExecution().optimizedPlan(), frame.sparkSession._jsparkSession
        found = self._shim.skippingScans(session, plan, self._callback)
        # py4j ends the iteration over a list by an exception, and PySpark takes longer to translate that than all of this takes.
        return [Scan(java) for java in found.toArray()]

    def is_empty(self, frame: DataFrame) -> bool:
        """Whether Spark knows, of the plan alone, that a DataFrame has no rows."""
        most = frame._jdf.queryExecution().optimizedPlan().maxRows()
        return bool(most.isDefined() and most.get() == 0)

    def expression(self, frame: DataFrame) -> dict[str, Any] | None:
        """The last column of a DataFrame, as a tree over its table's columns; None where it is more than an expression over one row."""
        encoded = self._shim.expression(frame._jdf.queryExecution())
        return None if encoded is None else dict(json.loads(encoded))

    def mixes_environments(self, frame: DataFrame) -> bool:
        """Whether Spark runs at once Python functions of a DataFrame that were given different environments: all in that of one."""
        return bool(self._shim.mixesEnvironments(frame._jdf.queryExecution().optimizedPlan()))

    def mistakes(self, frame: DataFrame) -> bool:
        """Whether Spark may take expressions of a DataFrame for each other, and evaluate one for both, as `a + b + c` for `c + b + a`."""
        return bool(self._shim.mistakes(frame._jdf.queryExecution().optimizedPlan()))

    def asks_who_and_when(self, frame: DataFrame) -> bool:
        """Whether a DataFrame asks when, by whom or in which session it is run, as by current_date() or current_database()."""
        return bool(self._shim.asksWhoAndWhen(frame._jdf.queryExecution().analyzed()))

    def why_not_evaluated(self, sql: str) -> str:
        """Why the text of an expression, which somebody else may have written, may not be handed to Spark; "" where it may.

        It is parsed, and nothing in it is looked up. Spark's error for a text that is no expression.
        """
        return str(self._shim.whyNotEvaluated(self._session, sql))

    def is_named(self, sql: str) -> bool:
        """Whether the text of an expression gives it a name, as `Airport Name` does. Spark's error for a text that is no expression."""
        parsed = self._session.sessionState().sqlParser().parseExpression(sql)
        return str(parsed.getClass().getSimpleName()) == "Alias"

    def restricted(
        self, frame: DataFrame, listing: Any, malformed: str | None = None, number: str | None = None, part: int | None = None
    ) -> DataFrame:
        """The DataFrame over the kept files of a Listing of the JVM.

        malformed: the column for text that cannot be parsed. number: a further one for each file's place in the listing. part: the most
        bytes of the parts into which files are cut, if not those of the session.
        """
        java = self._shim.restricted(frame._jdf.queryExecution().analyzed(), listing, malformed, number, _text(part))
        return DataFrame(java, frame.sparkSession)

    def first_rows(self, frame: DataFrame, count: int) -> DataFrame:
        """So many rows of a DataFrame, at most, of each part of it that a task makes."""
        return DataFrame(self._shim.firstRows(frame._jdf, str(count)), frame.sparkSession)

    def lines(self, frame: DataFrame, listing: Any, line: str, number: str, encoding: str, part: int | None) -> DataFrame:
        """The lines of the kept files of a Listing of the JVM, as they lie, in the column `line`; `number`, `part`: as of `restricted`.

        encoding: of the separator of lines, which is that of the DataFrame's reader.
        """
        java = self._shim.lines(frame._jdf.queryExecution().analyzed(), listing, line, number, encoding, _text(part))
        return DataFrame(java, frame.sparkSession)


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _callback_client(gateway: Any) -> Any:
    """By what the JVM calls Python; None where a gateway does not say, and answers take as long as they do."""
    try:
        return gateway.java_gateway_server.getCallbackClient()
    except (AttributeError, Py4JError):
        return None


def refuse_no_session(spark: Any) -> None:
    """DataSkipError for what is no session of Spark, and for one whose JVM cannot be reached."""
    if not hasattr(spark, "_jsparkSession"):
        raise DataSkipError(f"data-skip takes a running, classic SparkSession, not {spark!r}: Spark Connect gives no access to its JVM")


def session_id(spark: SparkSession) -> str:
    """Spark's own id of a session. DataSkipError for what is none, and one whose JVM cannot be reached."""
    refuse_no_session(spark)
    return str(spark._jsparkSession.sessionUUID())


def session_alone(spark: SparkSession) -> SparkSession:
    """A session as this one is now, with its settings, functions and views, of which nobody else knows.

    What is a new SparkSession for PySpark becomes the one that `RDD.toDF` uses: so this one is made as a copy.
    """
    session = SparkSession.__new__(SparkSession)
    session.__dict__.update({name: vars(spark)[name] for name in ("_sc", "_jsc", "_jvm")})
    session._jsparkSession = spark._jsparkSession.cloneSession()
    session._jsparkSession.clearTags()  # which this thread's jobs would lose with its first query: they are those of `jobs_of`
    return session


def is_command(spark: SparkSession, sql: str) -> bool:
    """Whether a statement is a command, as INSERT, CREATE TABLE or CALL, rather than a query. Spark's error for a text that is none."""
    jvm = spark._jvm
    assert jvm is not None
    names = [f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Command", "ParsedStatement")]
    commands = [jvm.java.lang.Class.forName(name) for name in names]

    def holds(plan: Any) -> bool:  # below a WITH, or several below `FROM t INSERT ... INSERT ...`
        name, parts = plan.getClass().getSimpleName(), plan.children()
        if name == "Call" or "ExecuteImmediate" in name or any(one.isInstance(plan) for one in commands):
            return True
        return any(holds(parts.apply(i)) for i in range(parts.length()))

    return holds(spark._jsparkSession.sessionState().sqlParser().parsePlan(sql))


def stopped(spark: SparkSession) -> bool:
    """Whether the session's JVM side is gone."""
    return spark.sparkContext._jsc is None


def refuse_stopped(spark: SparkSession) -> None:
    """DataSkipError for a session whose JVM side is gone."""
    if stopped(spark):
        advice = "data_skip.enable() it, and ask that for its tables"
        raise DataSkipError(f"this SparkSession was stopped; make another with SparkSession.builder.getOrCreate(), {advice}")


def load_plugin(gateway: Any, package: str, sources: tuple[str, ...]) -> Any:
    """The class of the last of some Java sources of a plugin's package, as `("RegionBoxes.java",)`; these may use `data_skip.Plans`.

    They see each other. Their Java package has the name of the Python package. Loaded once for each JVM.
    """
    return load(gateway, package, sources, ("data_skip", SOURCES))


@cache
def shim(gateway: Any) -> Any:
    """The Shim object of this JVM."""
    return instance(gateway, load(gateway, "data_skip", SOURCES), "java.lang.Object", ())
