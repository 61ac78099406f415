"""Expressions that go by what a JVM has by default, on executors that are told another. `test_text.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax, ValueList
from tests.support import aged

DRIVER = "-Duser.timezone=UTC -Duser.language=en -Duser.country=US"
OTHERS = {"spark.executor.extraJavaOptions": "-Duser.timezone=UTC -Duser.language=tr -Duser.country=TR -Djava.locale.providers=COMPAT"}
UNTOLD = {"spark.executor.extraJavaOptions": "-Dx=1", "spark.executorEnv.TZ": "America/Los_Angeles"}
ROWS = "VALUES ('aa', 1), ('iı', 3), ('<d>1,5</d>', 5), ('zz', 8) AS v(s, n)"
LOUD = """
public class Loud implements org.apache.spark.sql.api.java.UDF1 {
  public Object call(Object s) { return ((String) s).toUpperCase(); }
}"""
ASKED = ("upper(s)", "loud(s)", "from_xml(x, 'd double').d", "date_format(t, 'zzzz')")


def session(of_executors: dict[str, str]) -> SparkSession:
    conf = {"spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.driver.extraJavaOptions": DRIVER, **of_executors}
    conf["spark.sql.session.timeZone"] = "Europe/Berlin"
    return SparkSession.builder.master("local-cluster[1,1,600]").config(map=conf).getOrCreate()


def register(spark: SparkSession, jar: Path) -> None:
    """A function of Java, that asks for the default locale."""
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(LOUD)
    with ZipFile(jar, "w") as file:
        file.writestr("Loud.class", bytes(compiler.getBytecodes()["Loud"]))
    spark.sql(f"ADD JAR '{jar}'")
    session: Any = spark._jsparkSession
    loud = session.sharedState().jarClassLoader().loadClass("Loud").newInstance()
    session.udf().register("loud", loud, jvm.org.apache.spark.sql.types.DataTypes.StringType)


def main(folder: Path) -> None:
    """Of executors of another language which values of expressions are not found; and what is said of those that are told nothing."""
    spark = session(OTHERS)
    skipping = data_skip.enable(spark)
    selected = f"SELECT s, concat('<r>', s, '</r>') AS x, make_date(2020, n, 1)::timestamp AS t, n FROM {ROWS}"
    rows = spark.sql(selected).repartitionByRange(4, "n")
    for format_ in ("parquet", "orc"):
        rows.write.format(format_).save(str(folder / format_))
        for file in (folder / format_).glob(f"*.{format_}"):
            aged(file)
    skipping.table(str(folder / "parquet")).create_index(ValueList("s"), ValueList("x"), ValueList("t"))
    skipping.table(str(folder / "parquet")).create_index(ValueList("substr(upper(s), 1, 9)"))
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("p")
    register(spark, folder / "loud.jar")
    lost = []
    for asked in ASKED:
        with skipping.disabled():
            values = [row for row in spark.sql(f"SELECT n, CAST({asked} AS STRING) AS value FROM p").collect() if row.value is not None]
        for n, value in values:
            found = spark.sql(f"SELECT n FROM p WHERE CAST({asked} AS STRING) = '{value}'").collect()
            if n not in [row.n for row in found]:
                lost.append([asked, value])
    spark.sql("SELECT n FROM p WHERE upper(s) = 'ZZ'").collect()
    skipped = skipping.report().scans[0].files_skipped
    spark.stop()

    spark = session(UNTOLD)
    skipping = data_skip.enable(spark)
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("p")
    spark.sql("SELECT n FROM p WHERE substr(upper(s), 1, 9) = 'ZZ' AND substr(upper(s), 1, 9) > 'B'").collect()
    notes = "; ".join(skipping.report().scans[0].notes)
    orc = skipping.table(str(folder / "orc"), format="orc")
    orc.create_index(MinMax("n"))
    try:
        orc.create_index(MinMax("t"))
        refused = ""
    except DataSkipError as error:
        refused = str(error)
    spark.stop()
    print(json.dumps({"lost": lost, "skipped": skipped, "notes": notes, "refused": refused}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
