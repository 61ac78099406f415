"""A Spark session with S3A, and a server: jars come with a session's JVM, so these tests run in a process of their own (Makefile)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip.spark.java import ensure_java
from tests.conftest import SEDONA, alone, remember_names
from tests.object_store.server import BUCKET, IDENTITY, SECRET, Server, free_port, jars, java
from tests.object_store.table import Bucket
from tests.support import JAVA_OPTIONS

# S3A without the bundle of all of Amazon's services, which is 500 MB.
SDK = "2.25.70"
S3A = ("org.apache.hadoop:hadoop-aws:3.4.1", *(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "sts", "apache-client")))
S3A += tuple(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3-transfer-manager", "netty-nio-client"))
LEFT_OUT = "software.amazon.awssdk:bundle,org.slf4j:*,commons-logging:*,commons-codec:*,io.netty:*,org.apache.httpcomponents:*"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if SparkSession.getActiveSession() is not None:
        pytest.skip("a session of other jars runs in this process: make test ONLY=object_store")
    if not pyspark.__version__.startswith("4.0."):
        pytest.skip("these jars of S3A are of the Hadoop that Spark 4.0 brings")
    ensure_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]  # of whoever runs this
    of_the_jvm = {"AWS_ACCESS_KEY_ID": "of the environment", "AWS_SECRET_ACCESS_KEY": "its secret"}
    os.environ |= of_the_jvm
    port = free_port()
    settings = {
        "spark.jars.packages": ",".join((*S3A, *SEDONA)),
        "spark.jars.excludes": LEFT_OUT,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.minPartitionNum": "1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.session.timeZone": "UTC",
        "spark.data_skip.join.leastBytes": "0",
        "spark.data_skip.join.maxSeconds": "60",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
        "spark.python.daemon.module": "tests.python_workers",
        "spark.sql.codegen.wholeStage": "false",
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": IDENTITY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.change.detection.version.required": "false",  # files are written straight into the server's folder
        "spark.hadoop.fs.s3a.attempts.maximum": "2",
        "spark.hadoop.fs.s3a.retry.limit": "2",
    }
    with alone(tmp_path_factory):
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        for name in of_the_jvm:
            del os.environ[name]
        session.sparkContext.setLogLevel("ERROR")
        classpath = jars(session)
    session.sparkContext._python_includes.clear()
    remember_names()
    server = Server(port)
    try:
        server.start(classpath, java())
        session.s3 = server
        yield session
    finally:
        session.stop()
        server.stop()


@pytest.fixture(scope="session")
def server(spark: SparkSession) -> Server:
    found: Server = spark.s3
    return found


@pytest.fixture(scope="session")
def skipping(spark: SparkSession) -> data_skip.Skipping:
    return data_skip.enable(spark)


@pytest.fixture
def bucket(spark: SparkSession, skipping: data_skip.Skipping, server: Server, request: pytest.FixtureRequest) -> Bucket:
    """An empty folder of the bucket, for a table."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return Bucket(spark, skipping, server, server.bucket / name, f"s3a://{BUCKET}/{name}")
