"""SQL by JDBC, at a Thrift server that Python has started: as in its own session. `test_thrift_server.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from tests.support import aged

FILES = 8


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def session(master: str, folder: Path, port: int) -> SparkSession:
    """With one session for all connections."""
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").enableHiveSupport()
    for key, value in {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.hive.thriftServer.singleSession": "true",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def rows(connection: Any, sql: str) -> list[list[str]]:
    """What a statement gives, as text."""
    found = connection.createStatement().executeQuery(sql)
    columns = range(1, found.getMetaData().getColumnCount() + 1)
    result = []
    while found.next():
        result.append([found.getString(i) for i in columns])
    return result


def main(master: str, folder: Path) -> None:
    """Creates an index, and asks by it, all through JDBC."""
    table = folder / "t"
    table.mkdir()
    for i in range(FILES):
        pq.write_table(pa.table({"id": range(100 * i, 100 * i + 100)}), table / f"{i}.parquet")
        aged(table / f"{i}.parquet")
    port = free_port()
    spark = session(master, folder, port)
    data_skip.enable(spark)
    java: Any = spark._jvm
    java.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext(spark._jsparkSession.sqlContext())
    java.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    connection = java.java.sql.DriverManager.getConnection(f"jdbc:hive2://127.0.0.1:{port}/default", "anyone", "")
    asked = {
        "created": f"CALL data_skip.create_index('{table}', array('MinMax(id)'))",
        "counted": f"SELECT count(*) FROM parquet.`{table}` WHERE id BETWEEN 150 AND 160",
        "reported": "SELECT files_read, files_total FROM data_skip_report()",
        "off": "SET spark.data_skip.enabled=false",
        "counted without": f"SELECT count(*) FROM parquet.`{table}` WHERE id BETWEEN 150 AND 160",
        "described": f"SELECT index, index_files FROM data_skip_describe('{table}')",
    }
    found = {title: rows(connection, sql) for title, sql in asked.items()}
    connection.close()
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
