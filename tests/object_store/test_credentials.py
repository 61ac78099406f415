"""Whoever provides S3A's credentials: deltalake is given the same."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import data_skip
from data_skip import DataSkipError, MinMax
from data_skip.spark.object_stores import ObjectStores
from data_skip.store.storage_options import storage_options
from tests.object_store.server import BUCKET, IDENTITY, SECRET, Request
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]

OF_HADOOP = "org.apache.hadoop.fs.s3a."
OF_AMAZON = "software.amazon.awssdk.auth.credentials."


def told(skipping: data_skip.Skipping, bucket: str, **settings: str) -> dict[str, str]:
    """What deltalake is told of a bucket with settings of its own."""
    hadoop: Any = skipping.spark.sparkContext._jsc.hadoopConfiguration()
    for key, value in settings.items():
        hadoop.set(f"fs.s3a.bucket.{bucket}.{key.replace('__', '-').replace('_', '.')}", value)
    found = storage_options(f"s3a://{bucket}/t", ObjectStores(skipping.spark))
    return {key.removeprefix("aws_"): value for key, value in found.items()}


def test_of_the_session(skipping: data_skip.Skipping) -> None:
    found = told(skipping, BUCKET)
    assert (found["access_key_id"], found["secret_access_key"], found["region"]) == (IDENTITY, SECRET, "us-east-1")
    assert found["endpoint"].startswith("http://127.0.0.1:")
    assert found["virtual_hosted_style_request"] == "false"


def test_of_a_bucket(skipping: data_skip.Skipping) -> None:
    found = told(skipping, "other", access_key="a", secret_key="b", endpoint="https://s3.other", path_style_access="false")
    assert (found["access_key_id"], found["secret_access_key"], found["endpoint"]) == ("a", "b", "https://other.s3.other")
    assert "session_token" not in found


def test_temporary_ones(skipping: data_skip.Skipping) -> None:
    provider = f"{OF_HADOOP}TemporaryAWSCredentialsProvider"
    found = told(skipping, "temporary", aws_credentials_provider=provider, access_key="a", secret_key="b", session_token="c")
    assert (found["access_key_id"], found["secret_access_key"], found["session_token"]) == ("a", "b", "c")


def test_none(skipping: data_skip.Skipping) -> None:
    found = told(skipping, "anonymous", aws_credentials_provider=f"{OF_HADOOP}AnonymousAWSCredentialsProvider")
    assert found["skip_signature"] == "true"
    assert "access_key_id" not in found


def test_of_the_environment(skipping: data_skip.Skipping) -> None:
    name = "EnvironmentVariableCredentialsProvider"
    for i, provider in enumerate((f"com.amazonaws.auth.{name}", f"{OF_AMAZON}{name}")):
        found = told(skipping, f"environment{i}", aws_credentials_provider=provider)
        assert (found["access_key_id"], found["secret_access_key"]) == ("of the environment", "its secret")


def test_of_a_profile(skipping: data_skip.Skipping, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = p\naws_secret_access_key = q\n")
    system: Any = skipping.spark._jvm.java.lang.System
    system.setProperty("aws.sharedCredentialsFile", str(file))
    try:
        found = told(skipping, "profile", aws_credentials_provider=f"{OF_AMAZON}ProfileCredentialsProvider")
    finally:
        system.clearProperty("aws.sharedCredentialsFile")
    assert (found["access_key_id"], found["secret_access_key"]) == ("p", "q")


def test_of_a_store_of_passwords(skipping: data_skip.Skipping, tmp_path: Path) -> None:
    jvm: Any = skipping.spark._jvm
    provider = f"localjceks://file{tmp_path}/keys.jceks"
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in (("fs.s3a.access.key", "j"), ("fs.s3a.secret.key", "k")):
        arguments = skipping.spark.sparkContext._gateway.new_array(jvm.java.lang.String, 6)
        for i, word in enumerate(("create", name, "-value", value, "-provider", provider)):
            arguments[i] = word
        assert jvm.org.apache.hadoop.util.ToolRunner.run(conf, jvm.org.apache.hadoop.security.alias.CredentialShell(), arguments) == 0
    found = told(skipping, "jceks", security_credential_provider_path=provider)
    assert (found["access_key_id"], found["secret_access_key"]) == ("j", "k")


@pytest.fixture
def session(bucket: Bucket) -> Iterator[Bucket]:
    """The bucket in a session of its own, in which nothing is known of indexes."""
    bucket.spark = bucket.spark.newSession()
    bucket.skipping = data_skip.enable(bucket.spark)
    yield bucket
    data_skip.disable(bucket.spark)


def test_settings_for_deltalake_alone(bucket: Bucket, session: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    """With a wrong key the index cannot be read: rows are right, nothing is skipped, one warning says why, and nobody sees keys."""
    bucket.numbers()
    session.spark.conf.set("spark.data_skip.storage.aws_secret_access_key", "a-wrong/secret")
    with pytest.raises(DataSkipError, match=r"cannot be read.*SignatureDoesNotMatch.*index_root") as raised:
        session.table().create_index(MinMax("x"))
    session.spark.conf.unset("spark.data_skip.storage.aws_secret_access_key")
    session.index(MinMax("x"))
    session.check("x = 15", read=1)

    session.spark.conf.set("spark.data_skip.storage.aws_secret_access_key", "a-wrong/secret")
    session.skipping.catalog.forget()
    with caplog.at_level(logging.DEBUG, "data_skip"), caplog.at_level(logging.DEBUG, "py4j"):
        for _ in range(2):
            session.view()
            assert session.spark.sql("SELECT * FROM t WHERE x = 15").count() == 1
    report = session.skipping.report()
    assert report.scans[-1].files_read == 4
    assert len([record for record in caplog.records if record.name == "data_skip" and record.levelno >= logging.WARNING]) == 1
    shown = "".join([caplog.text, str(report), repr(report), str(raised.value), repr(session.skipping.catalog.__dict__)])
    assert "cannot be read" in caplog.text
    assert "cannot be read" in str(report)
    assert "wrong/secret" not in shown and SECRET not in shown and IDENTITY not in shown


def _of_index(request: Request) -> bool:
    return request.of_index


def test_no_rights_to_write_beside_the_data(bucket: Bucket) -> None:
    bucket.numbers()
    with (
        bucket.server.refusing(lambda request: request.of_index and request.what in ("PUT", "POST")),
        pytest.raises(DataSkipError, match="index_root") as raised,
    ):
        bucket.table().create_index(MinMax("x"))
    assert SECRET not in str(raised.value) and IDENTITY not in str(raised.value)
    bucket.check("x = 15", read=4)
    bucket.index(MinMax("x"))
    bucket.check("x = 15", read=1)


def test_no_rights_to_read_the_index(session: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    session.numbers()
    session.index(MinMax("x"))
    session.skipping.catalog.forget()
    with session.server.refusing(_of_index), caplog.at_level(logging.WARNING, "data_skip"):
        with session.server.counted() as asked:
            for _ in range(3):
                session.view()
                assert session.spark.sql("SELECT * FROM t WHERE x = 15").count() == 1
        assert session.skipping.report().scans[-1].files_read == 4
    assert len(caplog.records) == 1
    assert len([request for request in asked if request.of_index and request.whose == "deltalake"]) <= 4  # and not again with each query


def test_credentials_that_end(session: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of roles and instances do: deltalake is given the next ones."""
    session.numbers()
    session.index(MinMax("x"))
    session.check("x = 15", read=1)
    session.spark.conf.set("spark.data_skip.storage.aws_secret_access_key", "of-yesterday")
    session.skipping.catalog.forget()
    session.view()
    assert session.spark.sql("SELECT * FROM t WHERE x = 15").count() == 1
    session.spark.conf.unset("spark.data_skip.storage.aws_secret_access_key")
    now = time.monotonic
    monkeypatch.setattr("data_skip.store.object_place.now", lambda: now() + 100)
    session.check("x = 15", read=1)
