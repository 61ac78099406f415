"""What plans keep of Spark's own savings: TPC-DS and TPC-H planned and run without skipping, with no index, and with many.

    make bench BENCH=plans      or      python -m benchmarks.plans [query ...]

For each of the 121 queries: rows, the files that were read, exchanges and sub-queries that were used again, and scans whose partitions
a join prunes, each where skipping made it worse; and the sums. Skipping may lack a reuse only where it reads fewer files for it.

Then what planning takes of CPU, with and without skipping: that of Spark's JVM and of Python, from the text to the lists of files of all
scans, with no small side run. The goal: at most 5 % more in sum, and 20 % for each query.

Data and texts are those of DuckDB's extensions (pip install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5 duckdb-extension-tpch==1.5.5), at
scale 0.01. Facts are partitioned by their date, brought to the first of its month so that files stay few, and each partition has two files.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import data_skip
from benchmarks.overhead import date_back, session
from data_skip import MinMax

BENCHMARKS = {"tpcds": "dsdgen", "tpch": "dbgen"}
FILES = 8  # of a table that is not partitioned
PLANNINGS = 5
MOST_OF_ONE = 1.2
SITUATIONS = ("of tables of which nothing is known", "of tables that others have asked of, for the first time", "once more")
DECIDE = "spark.data_skip.decideSeconds"
PLANNED = {"spark.sql.adaptive.enabled": "false", "spark.data_skip.join.maxBytes": "0"}
STRATEGIES = {"broadcasts": {}, "shuffles": {"spark.sql.autoBroadcastJoinThreshold": "-1"}}
PRUNING = ("SubqueryBroadcast", "ProjectedBroadcastValueSubquery")  # the second since Spark 4.3


@dataclass
class Ran:
    """What one run of a query did; more is worse of the first, and better of the others."""

    files: int = 0
    exchanges: int = 0
    subqueries: int = 0
    pruned: int = 0


def main(titles: list[str]) -> None:
    """Prints what each query lost, and the sums."""
    spark = session()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    skipping = data_skip.enable(spark)
    with tempfile.TemporaryDirectory() as folder:
        for name in BENCHMARKS:
            queries = {title: sql for title, sql in write(Path(folder), name) if not titles or title in titles}
            for table in sorted((Path(folder) / name).iterdir()):
                spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
            plain = {strategy: run_all(spark, skipping, queries, strategy, "plain") for strategy in STRATEGIES}
            for indexes in ("no index", "indexes"):
                if indexes == "indexes":
                    create_indexes(spark, skipping, Path(folder) / name)
                planning(spark, skipping, queries, f"{name}, {indexes}")
                for strategy in STRATEGIES:
                    compare(plain[strategy], run_all(spark, skipping, queries, strategy, indexes), f"{name}, {strategy}, {indexes}")
    spark.stop()


def write(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Writes the tables; title and text of each query."""
    import duckdb  # type: ignore[import-not-found]

    spec = find_spec(f"duckdb_extension_{name}")
    assert spec is not None and spec.origin is not None, f"pip install duckdb-extension-{name}"
    (extension,) = Path(spec.origin).parent.rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'").execute(f"CALL {BENCHMARKS[name]}(sf = 0.01)")
    if name == "tpcds":
        months = "SELECT d_date_sk AS day, min(d_date_sk) OVER (PARTITION BY d_month_seq) AS first FROM date_dim"
        connection.execute(f"CREATE TEMP VIEW months AS {months}")
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        write_table(connection, table, folder / name / table)
    for number, sql in connection.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall():
        yield f"{name[3:]}{number}", sql.rstrip("; \n")


def write_table(connection: Any, table: str, target: Path) -> None:
    """Facts in partitions of months, two files each by their item; other tables in files by their key."""
    target.mkdir(parents=True)
    columns = [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
    date = next((c for c in columns if c.endswith(("sold_date_sk", "returned_date_sk", "inv_date_sk"))), None)
    if date is not None:
        month = f"(SELECT first FROM months WHERE day = {date})"
        item = next(c for c in columns if c.endswith("item_sk"))
        rows = f"SELECT * REPLACE ({month} AS {date}), {item} > 90 AS {table}_half FROM {table}"
        connection.execute(f"COPY ({rows}) TO '{target}' (FORMAT parquet, PARTITION_BY ({date}, {table}_half), OVERWRITE_OR_IGNORE)")
    else:
        numbered = f"SELECT *, ntile({FILES}) OVER (ORDER BY {columns[0]}) AS file FROM {table}"
        for i in range(FILES):
            rows = f"SELECT * EXCLUDE file FROM ({numbered}) WHERE file = {i + 1}"
            connection.execute(f"COPY ({rows}) TO '{target}/{i}.parquet' (FORMAT parquet)")
    for file in target.rglob("*.parquet"):
        date_back(file)


def create_indexes(spark: SparkSession, skipping: data_skip.Skipping, folder: Path) -> None:
    """MinMax on every key and date of each table."""
    for table in sorted(folder.iterdir()):
        columns = [f.name for f in spark.table(table.name).schema if f.name.endswith(("_sk", "key", "date")) or f.name.startswith("d_")]
        partitions = {part.name.split("=")[0] for part in table.rglob("*=*")}
        if columns := [c for c in columns if c not in partitions]:
            skipping.table(str(table)).create_index(*map(MinMax, columns))


def run_all(
    spark: SparkSession, skipping: data_skip.Skipping, queries: dict[str, str], strategy: str, title: str
) -> dict[str, tuple[Counter[str], Ran]]:
    """What each query gives and does, as far as Spark takes its text."""
    found, start = {}, time.perf_counter()
    for key, value in STRATEGIES[strategy].items():
        spark.conf.set(key, value)
    for name, sql in queries.items():
        try:
            if title == "plain":
                with skipping.disabled():
                    found[name] = run(spark.sql(sql))
            else:
                found[name] = run(spark.sql(sql))
        except PySparkException as error:
            print(f"{name} fails, {title}: {(error.getCondition() or str(error))[:150]}", flush=True)
    for key in STRATEGIES[strategy]:
        spark.conf.unset(key)
    print(f"{len(found)} queries, {strategy}, {title}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def run(frame: DataFrame) -> tuple[Counter[str], Ran]:
    """The rows of a query, and what running it did."""
    rows = Counter(str(row) for row in frame.collect())
    ran = Ran()
    count(frame._jdf.queryExecution().executedPlan(), ran)
    return rows, ran


def count(plan: Any, ran: Ran) -> None:
    """Adds up what a physical plan did, each part once."""
    name = plan.nodeName()
    if name.startswith("AdaptiveSparkPlan"):
        return count(plan.executedPlan(), ran)
    if name.endswith("QueryStage"):
        return count(plan.plan(), ran)
    ran.exchanges += name == "ReusedExchange"
    ran.subqueries += name == "ReusedSubquery"
    ran.pruned += name in PRUNING
    if name in ("ReusedExchange", "ReusedSubquery", *PRUNING):
        return None
    if name.startswith("Scan parquet"):
        ran.files += plan.metrics().apply("numFiles").value()
    for below in (plan.children(), plan.subqueries()):
        for i in range(below.size()):
            count(below.apply(i), ran)
    return None


def compare(plain: dict[str, tuple[Counter[str], Ran]], found: dict[str, tuple[Counter[str], Ran]], title: str) -> None:
    """Prints each query that lost something, and the sums."""
    worse = 0
    for name, (rows, before) in plain.items():
        after = found[name][1] if name in found else Ran(files=-1)
        if name not in found or rows != found[name][0]:
            print(f"{title}: {name} gives other rows")
        lost = after.exchanges < before.exchanges or after.subqueries < before.subqueries or after.pruned < before.pruned
        if after.files > before.files or lost:
            worse += 1
            print(f"{title}: {name} {before} -> {after}{' MORE FILES' if after.files > before.files else ''}")
    sums = ([sum(column) for column in zip(*(astuple(r) for _, r in ran.values()), strict=True)] for ran in (plain, found))
    counted = "files, exchanges, sub-queries, pruned"
    print(f"== {title}: {worse} of {len(plain)} queries lost something; {counted}: {' -> '.join(map(str, sums))}", flush=True)


def planning(spark: SparkSession, skipping: data_skip.Skipping, queries: dict[str, str], title: str) -> None:
    """Prints what planning each query takes of CPU, without skipping and in each of the SITUATIONS."""
    for key, value in PLANNED.items():
        spark.conf.set(key, value)
    sums = [0.0] * (1 + len(SITUATIONS))
    beyond = [0] * len(SITUATIONS)
    for number, (name, sql) in enumerate(queries.items()):
        taken = [0.0] * len(sums)
        try:
            for repetition in range(1 + PLANNINGS):
                found = plan_each_way(spark, skipping, sql, repetition * len(queries) + number)
                if repetition:  # the first warms up
                    taken = [before + now for before, now in zip(taken, found, strict=True)]
        except PySparkException:
            continue  # run_all says which queries Spark does not take
        sums = [before + now for before, now in zip(sums, taken, strict=True)]
        beyond = [before + (now > taken[0] * MOST_OF_ONE) for before, now in zip(beyond, taken[1:], strict=True)]
        if max(taken[1:]) > taken[0] * MOST_OF_ONE:
            print(f"{title}: planning {name} takes {' -> '.join(f'{milliseconds / PLANNINGS:.0f}' for milliseconds in taken)} ms of CPU")
    for key in (*PLANNED, DECIDE):
        spark.conf.unset(key)
    print(f"== {title}: of {len(queries)} queries, CPU of planning in sum, and how many take over {MOST_OF_ONE - 1:.0%} more:")
    for situation, now, many in zip(SITUATIONS, sums[1:], beyond, strict=True):
        print(f"     {situation}: {ratio([sums[0], now])}, {many}", flush=True)


def plan_each_way(spark: SparkSession, skipping: data_skip.Skipping, sql: str, number: int) -> list[float]:
    """The CPU of planning a query without skipping, and in each of the SITUATIONS. number: another one each time."""
    with skipping.disabled():
        plain = cpu_of_planning(spark, sql)
    skipping.catalog.knowledge = replace(skipping.catalog.knowledge)  # all is forgotten
    anew = cpu_of_planning(spark, sql)
    spark.conf.set(DECIDE, str(5 + number / 1e6))  # by a setting that was never seen nothing is decided yet, and the rest is known still
    return [plain, anew, cpu_of_planning(spark, sql), cpu_of_planning(spark, sql)]


def ratio(taken: list[float]) -> str:
    """What the second is more than the first."""
    return f"{taken[1] / taken[0] - 1:+.0%}" if taken[0] else "nothing planned"


def cpu_of_planning(spark: SparkSession, sql: str) -> float:
    """Milliseconds of CPU of this process and of Spark's, from a query's text until all files of its scans are listed."""
    start = cpu(spark)
    list_files(spark.sql(sql)._jdf.queryExecution().executedPlan())
    return cpu(spark) - start


def list_files(plan: Any) -> None:
    """Has all scans of a physical plan list their files."""
    if plan.nodeName().startswith("Scan parquet"):
        plan.selectedPartitions()
    for below in (plan.children(), plan.subqueries()):
        for i in range(below.size()):
            list_files(below.apply(i))


def cpu(spark: SparkSession) -> float:
    """Milliseconds of CPU that this process and Spark's have taken, of Spark's as Linux counts them: in steps of ten."""
    java: Any = spark.sparkContext._gateway
    fields = Path(f"/proc/{java.proc.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK") + time.process_time() * 1000


if __name__ == "__main__":
    main(sys.argv[1:])
