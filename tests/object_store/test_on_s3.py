"""End to end on S3A: rows are those of plain Spark, and files are really skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import data_skip
import geo_skip
import log_skip
from data_skip import BloomFilter, DataSkipError, MinMax, Prefix, Suffix, ValueList
from tests.object_store.server import BUCKET, Server
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


def test_from_the_first_index_to_the_last(bucket: Bucket) -> None:
    bucket.numbers()
    table = bucket.index(MinMax("x"), Suffix("s", 1), BloomFilter("s"), ValueList("x % 10"))
    assert bucket.check("x = 15", read=1).scans[-1].files_skipped == 3
    bucket.check("s = 'b17'", read=1)
    bucket.check("x % 10 = 11", read=0)
    bucket.check("s LIKE '%7' AND x < 10", read=1)
    assert (table.describe().files, table.describe().files_indexed) == (4, 4)
    assert table.describe().location == f"s3://{BUCKET}/{bucket.folder.name}/.data_skip/_/_/_"
    assert [row["min_max__x"]["min"] for row in table.metadata().orderBy("path").collect()] == [0, 10, 20, 30]
    assert table.files("x >= 30") == [f"{bucket.uri}/3.parquet"]

    bucket.file("4.parquet", {"x": [100], "s": ["b100"]})
    bucket.file("0.parquet", {"x": [200], "s": ["a200"]}, age=3600)
    (bucket.folder / "1.parquet").unlink()
    bucket.check("x = 200", read=2)  # what changed, and what is new, is read
    report = table.refresh()
    assert (report.files_collected, report.files_current) == (2, 2)
    bucket.check("x = 200", read=1)
    bucket.check("x < 20", read=0)
    assert table.refresh().files_collected == 0

    table.drop_index(Suffix("s"))
    bucket.check("s LIKE '%7'", read=4)
    bucket.check("x = 200", read=1)
    with pytest.raises(DataSkipError, match="exists already"):
        table.create_index(MinMax("x"))
    table.drop_index(MinMax("x"), BloomFilter("s"), ValueList("x % 10"))
    bucket.check("x = 200", read=4)
    table.create_index(MinMax("x"))
    bucket.check("x = 200", read=1)


def test_a_place_that_was_seen_empty(bucket: Bucket) -> None:
    bucket.numbers()
    bucket.check("x = 15", read=4)  # no index, and that is remembered for a while
    bucket.index(MinMax("x"))
    bucket.check("x = 15", read=1)


@pytest.fixture(params=["file", "s3a", "s3"])
def elsewhere(request: pytest.FixtureRequest, bucket: Bucket, tmp_path: Path) -> Iterator[Bucket]:
    """The bucket in a session whose indexes lie elsewhere."""
    root = str(tmp_path / "indexes") if request.param == "file" else f"{request.param}://{BUCKET}/indexes/{bucket.folder.name}"
    session = bucket.spark.newSession()
    skipping = data_skip.enable(session, index_root=root)
    bucket.spark, bucket.skipping = session, skipping
    yield bucket
    data_skip.disable(session)


def test_index_root(elsewhere: Bucket) -> None:
    elsewhere.numbers()
    table = elsewhere.index(MinMax("x"))
    elsewhere.check("x = 15", read=1)
    elsewhere.file("4.parquet", {"x": [15], "s": ["b15"]})
    table.refresh()
    elsewhere.check("x = 15", read=2)
    table.drop_index(MinMax("x"))
    elsewhere.check("x = 15", read=5)
    assert not (elsewhere.folder / ".data_skip").exists()


def test_partitions(bucket: Bucket) -> None:
    for p in ("a", "b c", "d%2Fe", "ü"):  # as Spark escapes a slash
        for i in range(2):
            bucket.file(f"p={p}/{i}.parquet", {"x": range(10 * i, 10 * i + 10)})
    table = bucket.index(MinMax("x"), Prefix("cast(x AS string)", 1))
    bucket.check("x = 15", read=4)
    bucket.check("x = 15 AND p = 'd/e'", read=1)
    bucket.check("x = 15 OR p = 'b c'", read=5)
    bucket.check("p = 'ü' AND x > 100", read=0)
    bucket.file("p=f/0.parquet", {"x": [15]})
    table.refresh()
    bucket.check("x = 15", read=5)
    bucket.spark.sql(f"CREATE TABLE of_s3 (x BIGINT, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{bucket.uri}'")
    try:
        bucket.spark.sql("MSCK REPAIR TABLE of_s3")
        bucket.query("SELECT * FROM of_s3 WHERE x = 15 AND p > 'b'", read=4)
    finally:
        bucket.spark.sql("DROP TABLE of_s3")


@pytest.mark.parametrize("root", ["deep er", "50%", "ü+&="])
def test_names(bucket: Bucket, root: str) -> None:
    for i, name in enumerate(("a b.parquet", "50%.parquet", "c%20d.parquet", "e+f&g=h.parquet", "ü.parquet")):
        bucket.file(f"{root}/{name}", {"x": [i]})
    bucket.uri += f"/{root}"
    bucket.folder /= root
    table = bucket.index(MinMax("x"))
    assert (bucket.folder / ".data_skip").is_dir()
    for i in range(5):
        bucket.check(f"x = {i}", read=1)
    assert table.refresh().files_current == 5
    assert bucket.skipping.read(bucket.uri).where("x >= 3").count() == 2


def test_a_root_that_is_misread(bucket: Bucket) -> None:
    """deltalake takes `a%20b` for `a b`, which may be another table."""
    for root in ("a b", "a%20b"):
        bucket.file(f"{root}/0.parquet", {"x": [15]})
    uri, folder = bucket.uri, bucket.folder
    bucket.uri = f"{uri}/a b"
    bucket.index(MinMax("x"))
    bucket.check("x = 16", read=0)
    bucket.uri = f"{uri}/a%20b"
    bucket.check("x = 16", read=1)
    with pytest.raises(DataSkipError, match=r"an escape like %20.*index_root"):
        bucket.table().create_index(MinMax("x"))
    assert (folder / "a b" / ".data_skip").is_dir()
    assert not (folder / "a%20b" / ".data_skip").exists()


def test_json(bucket: Bucket) -> None:
    for i in range(3):
        bucket.text(f"{i}.json", "".join(f'{{"x": {10 * i + j}, "s": "v{j}"}}\n' for j in range(10)))
    bucket.index(MinMax("x"), ValueList("s"), format="json", schema="x BIGINT, s STRING")
    bucket.check("x = 15", read=1, format="json", schema="x BIGINT, s STRING")


def test_text_and_logs(bucket: Bucket) -> None:
    for i in range(3):
        lines = (
            f'10.0.{i}.{j} - - [0{i + 1}/Oct/2024:13:55:36 +0000] "GET /p{i}/{j} HTTP/1.1" 200 12 "-" "curl/{i}.0"\n' for j in range(10)
        )
        bucket.text(f"{i}.log", "".join(lines))
    log_skip.register(bucket.spark)
    bucket.index(*log_skip.recipe("raw_access_log"), format="text")
    log = log_skip.read_access_log(bucket.spark, bucket.uri)
    log.createOrReplaceTempView("t")
    bucket.query("SELECT * FROM t WHERE user_agent LIKE 'curl/2%'", read=1)
    bucket.query("SELECT * FROM t WHERE path LIKE '%/p1/%'", read=1)


def test_places(bucket: Bucket) -> None:
    for i in range(4):
        bucket.file(f"{i}.parquet", {"lat": [10.0 * i, 10.0 * i + 1], "lng": [5.0, 6.0]})
    bucket.index(*geo_skip.recipe("lat", "lng"))
    polygon = "ST_GeomFromWKT('POLYGON((4 19, 7 19, 7 22, 4 22, 4 19))')"
    if not bucket.spark.catalog.functionExists("ST_Contains"):
        from sedona.spark import SedonaContext

        SedonaContext.create(bucket.spark)
    bucket.check(f"ST_Contains({polygon}, ST_Point(lng, lat))", read=1)


def test_contracts(bucket: Bucket) -> None:
    bucket.numbers()
    table = bucket.index(MinMax("x"))
    listed, snapshot, bounded = (bucket.skipping.read(bucket.uri, contract) for contract in ("listing", "snapshot", "bounded(0)"))
    bucket.file("4.parquet", {"x": [15], "s": ["b15"]})
    assert [frame.where("x = 15").count() for frame in (bucket.view(), snapshot)] == [2, 1]
    assert bounded.where("x = 15").count() == 2
    assert snapshot.where("x = 15").count() == 2  # since the index was refreshed
    assert listed.where("x = 15").count() == 1  # as Spark keeps the listing of a DataFrame
    (bucket.folder / "1.parquet").unlink()
    table.refresh()
    assert snapshot.where("x = 15").count() == 1


def test_joins(bucket: Bucket) -> None:
    bucket.numbers(count=30)
    bucket.index(MinMax("x"))
    bucket.view()
    bucket.file("../dim/0.parquet", {"id": [15, 16], "k": [1, 2]})
    bucket.spark.read.parquet(f"s3a://{BUCKET}/dim").createOrReplaceTempView("dim")
    frame = bucket.spark.sql("SELECT * FROM t JOIN dim ON x = id WHERE k = 1")
    assert [row["x"] for row in frame.collect()] == [15]
    report = bucket.skipping.report()
    assert min(scan.files_read for scan in report.scans if scan.files_total == 30) == 1, str(report)


def test_overwritten_within_a_second(bucket: Bucket) -> None:
    """S3 tells seconds: a file of this second may be another one of the same size before the second is over."""
    bucket.numbers()
    second = int(time.time()) + 4  # of the server's clock
    recent = bucket.file("new.parquet", {"x": [15], "s": ["a"]})
    os.utime(recent, (second + 0.1, second + 0.1))
    report = bucket.table().create_index(MinMax("x"))
    assert (report.files_collected, report.files_too_recent) == (4, 1)
    size = recent.stat().st_size
    bucket.file("new.parquet", {"x": [25], "s": ["b"]})
    os.utime(recent, (second + 0.9, second + 0.9))
    assert recent.stat().st_size == size
    bucket.check("x = 25", read=2)
    time.sleep(max(0.0, second + 1.1 - time.time()))
    assert bucket.table().refresh().files_collected == 1
    bucket.check("x = 25", read=2)
    bucket.check("x = 15", read=1)


def test_what_is_stored_has_no_secrets(bucket: Bucket, server: Server) -> None:
    bucket.numbers()
    bucket.index(MinMax("x + 1"))
    stored = b"".join(path.read_bytes() for path in bucket.folder.joinpath(".data_skip").rglob("*") if path.is_file())
    assert b"min_max" in stored
    assert b"the-secret" not in stored and b"the-identity" not in stored and b"fs.s3a" not in stored
