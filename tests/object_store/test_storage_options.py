"""What deltalake is told of object stores, by what Hadoop is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from data_skip.store.environment import asks_otherwise, meaning
from data_skip.store.layout import StoreError
from data_skip.store.storage_options import StorageOptions, storage_options

COMMITS = {"aws_conditional_put": "etag", "aws_s3_allow_unsafe_rename": "false", "aws_s3_express": "false"}
PATIENCE = {"retry_timeout": "30s", "timeout": "30s", "connect_timeout": "5s"}
KEYS = {"access_key": "AKIA", "secret_key": "s/e+c"}
ACCOUNT = "acct.dfs.core.windows.net"


def storage_options_of(hadoop: Mapping[str, str], uri: str = "s3a://lake/t", **told: Any) -> StorageOptions:
    class Told:
        def told(self, asked: str, keys: Iterable[str], secrets: Iterable[str]) -> Mapping[str, Any]:
            assert asked == uri
            known = {*keys, *secrets}
            set_ = {key: value for key, value in hadoop.items() if key in known}
            return {"overrides": {}, "set": set_, "file_system": "org.apache.hadoop.fs.s3a.S3AFileSystem", **told}

        def holds(self, uri: str) -> None:
            raise AssertionError(uri)

        identity = listed = contents = holds  # type: ignore[assignment]

    return storage_options(uri, Told())


def options(uri: str, hadoop: Mapping[str, str], **told: Any) -> dict[str, str]:
    found = storage_options_of(hadoop, uri, **told)
    return {key: value for key, value in found.items() if PATIENCE.get(key) != value}


def s3(hadoop: Mapping[str, str], bucket: str = "lake", **told: Any) -> dict[str, str]:
    found = options(f"s3a://{bucket}/t", {f"fs.s3a.{key}": value for key, value in hadoop.items()}, **told)
    assert found.items() >= COMMITS.items()
    return {key: value for key, value in found.items() if key not in COMMITS}


def test_local_files_ask_nobody() -> None:
    assert dict(storage_options("file:/lake/t", None)) == {}
    assert options("file:/lake/t", {}) == {}


def test_credentials_of_s3() -> None:
    virtual = {"aws_virtual_hosted_style_request": "true"}
    given = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "s/e+c", "aws_skip_signature": "false"}
    assert s3({}, credentials=KEYS) == given | virtual
    assert s3({}, credentials={**KEYS, "session_token": "tok"}) == given | virtual | {"aws_session_token": "tok"}
    assert s3({}, credentials={}) == virtual | {"aws_skip_signature": "true"}
    assert s3({}) == virtual  # another file system, or no provider has any: deltalake looks for itself


@pytest.mark.parametrize(
    ("hadoop", "bucket", "expected"),
    [
        ({"endpoint": "s3.amazonaws.com"}, "lake", {"aws_virtual_hosted_style_request": "true"}),
        ({"endpoint": "s3.amazonaws.com"}, "my.lake", {}),
        (
            {"endpoint": "https://s3.eu-west-1.amazonaws.com"},
            "lake",
            {"aws_region": "eu-west-1", "aws_virtual_hosted_style_request": "true"},
        ),
        ({"endpoint": "s3-us-gov-west-1.amazonaws.com", "path.style.access": "true"}, "lake", {"aws_region": "us-gov-west-1"}),
        (
            {"endpoint": "s3.cn-north-1.amazonaws.com.cn"},
            "lake",
            {
                "aws_region": "cn-north-1",
                "aws_endpoint": "https://lake.s3.cn-north-1.amazonaws.com.cn",
                "aws_virtual_hosted_style_request": "true",
            },
        ),
        (
            {"endpoint": "http://127.0.0.1:9000", "endpoint.region": "here"},
            "lake",
            {
                "aws_region": "here",
                "aws_endpoint": "http://127.0.0.1:9000",
                "aws_allow_http": "true",
                "aws_virtual_hosted_style_request": "false",
            },
        ),
        (
            {"endpoint": "minio.here:9000/", "path.style.access": "true", "connection.ssl.enabled": "false"},
            "lake",
            {"aws_endpoint": "http://minio.here:9000", "aws_allow_http": "true", "aws_virtual_hosted_style_request": "false"},
        ),
        (
            {"endpoint": "minio.here"},
            "lake",
            {"aws_endpoint": "https://lake.minio.here", "aws_virtual_hosted_style_request": "true"},
        ),
        (
            {"endpoint": "minio.here"},
            "The_Lake",
            {"aws_endpoint": "https://minio.here", "aws_virtual_hosted_style_request": "false"},
        ),
    ],
)
def test_where_s3_is(hadoop: Mapping[str, str], bucket: str, expected: Mapping[str, str]) -> None:
    assert s3(hadoop, bucket) == expected


def test_region_that_nobody_says_is_that_of_the_bucket() -> None:
    assert s3({}, region="eu-central-1")["aws_region"] == "eu-central-1"
    assert "aws_region" not in s3({}, region="")


def test_encryption_and_payment_of_s3() -> None:
    found = s3({"encryption.algorithm": "SSE-KMS", "encryption.key": "arn:key", "requester.pays.enabled": "true"})
    assert found["aws_server_side_encryption"] == "aws:kms"
    assert found["aws_sse_kms_key_id"] == "arn:key"
    assert found["aws_request_payer"] == "true"
    assert s3({"server-side-encryption-algorithm": "AES256"})["aws_server_side_encryption"] == "AES256"
    assert s3({"encryption.algorithm": "SSE-C", "encryption.key": "a2V5"})["aws_sse_customer_key_base64"] == "a2V5"


@pytest.mark.parametrize(
    ("hadoop", "expected"),
    [
        ({f"account.key.{ACCOUNT}": "k"}, {"azure_storage_account_key": "k"}),
        ({"account.key": "k"}, {"azure_storage_account_key": "k"}),
        ({f"account.auth.type.{ACCOUNT}": "SAS", f"sas.fixed.token.{ACCOUNT}": "sig=x"}, {"azure_storage_sas_key": "sig=x"}),
        (
            {"account.auth.type": "SAS", f"sas.fixed.token.box.{ACCOUNT}": "sig=y", "sas.fixed.token": "sig=x"},
            {"azure_storage_sas_key": "sig=y"},
        ),
        (
            {
                "account.auth.type": "OAuth",
                "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
                "account.oauth2.client.id": "id",
                "account.oauth2.client.secret": "secret",
                "account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            {
                "azure_client_id": "id",
                "azure_client_secret": "secret",
                "azure_tenant_id": "tenant",
                "azure_authority_host": "https://login.microsoftonline.com",
            },
        ),
        (
            {
                "account.auth.type": "OAuth",
                "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider",
                "account.oauth2.client.id": "id",
            },
            {"azure_client_id": "id"},
        ),
        (
            {
                "account.auth.type": "OAuth",
                "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.WorkloadIdentityTokenProvider",
                "account.oauth2.client.id": "id",
                "account.oauth2.msi.tenant": "tenant",
                "account.oauth2.token.file": "/var/token",
            },
            {"azure_client_id": "id", "azure_tenant_id": "tenant", "azure_federated_token_file": "/var/token"},
        ),
        ({"account.auth.type": "Custom", "account.key": "k"}, {}),
        ({}, {}),
    ],
)
def test_azure(hadoop: Mapping[str, str], expected: Mapping[str, str]) -> None:
    set_ = {f"fs.azure.{key}": value for key, value in hadoop.items()}
    assert options(f"abfss://box@{ACCOUNT}/t", set_) == expected


@pytest.mark.parametrize(
    ("hadoop", "expected"),
    [
        ({"google.cloud.auth.service.account.json.keyfile": "/k.json"}, {"google_service_account": "/k.json"}),
        (
            {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", "fs.gs.auth.service.account.json.keyfile": "/k.json"},
            {"google_service_account": "/k.json"},
        ),
        ({"fs.gs.auth.type": "APPLICATION_DEFAULT", "fs.gs.auth.service.account.json.keyfile": "/k.json"}, {}),
        ({"fs.gs.auth.type": "UNAUTHENTICATED"}, {"google_skip_signature": "true"}),
        ({"fs.gs.storage.root.url": "http://127.0.0.1:4443/"}, {"google_base_url": "http://127.0.0.1:4443"}),
        ({}, {}),
    ],
)
def test_google(hadoop: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert options("gs://lake/t", hadoop) == expected


def test_what_the_user_sets_for_deltalake_counts() -> None:
    overrides = {"AWS_ACCESS_KEY_ID": "mine", "aws_conditional_put": "disabled"}
    found = options("s3://lake/t", {}, credentials=KEYS, overrides=overrides)
    assert found["aws_access_key_id"] == "mine"
    assert found["aws_conditional_put"] == "disabled"
    assert "AWS_ACCESS_KEY_ID" not in found
    assert options("oss://lake/t", {}, overrides={"some_key": "k"}) == {"some_key": "k"}


@pytest.mark.parametrize("name", ["aws_endpoint_url", "endpoint_url", "AWS_ENDPOINT", "endpoint", "aws_endpoint_url_s3"])
def test_an_option_of_several_names_is_one(name: str) -> None:
    """deltalake takes one or another of those that it is given, at random."""
    found = s3({"endpoint": "http://127.0.0.1:9000"}, credentials=KEYS, overrides={name: "http://other", "token": "mine"})
    assert found[name.lower()] == "http://other" and found["token"] == "mine"
    assert [key for key in found if "endpoint" in key or "token" in key] == [name.lower(), "token"]


def test_an_option_with_two_values() -> None:
    with pytest.raises(StoreError, match=r"storage\.AWS_ENDPOINT and .*storage\.endpoint_url are one option, with two"):
        s3({}, overrides={"endpoint_url": "http://a", "AWS_ENDPOINT": "http://b"})
    with pytest.raises(StoreError, match="are one option, with two values"):
        s3({}, overrides={"aws_endpoint": "http://a", "AWS_ENDPOINT": "http://b"})
    assert s3({}, overrides={"endpoint_url": "http://a", "AWS_ENDPOINT": "http://a"})["endpoint_url"] == "http://a"


def test_keys_of_the_user_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the token of those of Hadoop, or of the environment, and signed with."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another")
    mine = {"access_key_id": "mine", "secret_access_key": "own"}
    expected = {**mine, "aws_session_token": "", "aws_skip_signature": "false", "aws_virtual_hosted_style_request": "true"}
    assert s3({}, credentials={**KEYS, "session_token": "tok"}, overrides=mine) == expected
    assert s3({}, credentials={}, overrides=mine) == expected


def test_a_proxy_of_java() -> None:
    assert storage_options_of({}, credentials=KEYS).of_hadoop
    assert not storage_options_of({}, credentials=KEYS, proxy=True).of_hadoop


def test_what_the_environment_cannot_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake would take these for options that it is not given."""
    names = ["AWS_SKIP_SIGNATURE", "TIMEOUT", "AWS_CONNECT_TIMEOUT", "AWS_S3_EXPRESS", "AWS_CONDITIONAL_PUT"]
    found = storage_options_of({}, credentials=KEYS)
    assert {meaning(name) for name in names} <= set(map(meaning, found))
    assert found.of_hadoop and asks_otherwise(found, "s3a") == ""
    monkeypatch.setenv("AWS_COPY_IF_NOT_EXISTS", "x")
    assert asks_otherwise(found, "s3a") == "AWS_COPY_IF_NOT_EXISTS" and asks_otherwise(found, "gs") == ""


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By which deltalake may find other files than Spark does."""
    monkeypatch.setenv(name, "http://127.0.0.1:3128")
    found = storage_options_of({}, credentials=KEYS)
    assert not found.of_hadoop and not found.say_where and asks_otherwise(found, "s3a") == name


def test_a_proxy_of_hadoop() -> None:
    proxy = {"fs.s3a.proxy.host": "proxy.example", "fs.s3a.proxy.port": "3128"}
    assert storage_options_of(proxy, credentials=KEYS)["proxy_url"] == "http://proxy.example:3128"
    assert storage_options_of({"fs.s3a.proxy.host": "p"}, credentials=KEYS)["proxy_url"] == "http://p:80"
    assert storage_options_of({"fs.s3a.proxy.host": "::1", "fs.s3a.proxy.port": "-1"})["proxy_url"] == "http://[::1]:80"
    assert storage_options_of({"fs.s3a.proxy.host": "p", "fs.s3a.proxy.ssl.enabled": "true"})["proxy_url"] == "https://p:443"
    login = {"fs.s3a.proxy.username": "me", "fs.s3a.proxy.password": "s/e", "fs.s3a.proxy.ssl.enabled": "true"}
    found = storage_options_of(proxy | login, credentials=KEYS)
    assert found["proxy_url"] == "https://me:s%2Fe@proxy.example:3128" and "s%2Fe" not in repr(found) and not found.of_hadoop


def test_secrets_are_not_shown() -> None:
    found = StorageOptions({"aws_secret_access_key": "s/e+c", "azure_storage_sas_key": "sig=x&y", "aws_region": "here", "proxy_url": ""})
    shown = repr(found) + str(found)
    assert "here" in shown
    assert "s/e+c" not in shown and "sig=x" not in shown
    text = found.without_secrets("https://h/t?s%2Fe%2Bc and s/e%2Bc of s/e+c with sig%3Dx%26y in here")
    assert text == "https://h/t?*** and *** of *** with *** in here"
    login = StorageOptions({"aws_endpoint": "http://me:pass@h:9000"})
    assert "pass" not in repr(login) + login.without_secrets("no answer of http://me:pass@h:9000")


@pytest.mark.parametrize("token", ["sv=2022&ss=b&sig=a%2Fb%2Bc%3D", "?sv=2022&ss=b&sig=a%2Fb%2Bc%3D"])
@pytest.mark.parametrize(
    "sent", ["sv=2022&ss=b&sig=a%2Fb%2Bc%3D", "sig=a%2Fb%2Bc%3D&restype=container&sv=2022", "sig=a/b+c=", "sig=a/b%2Bc%3D"]
)
def test_a_signature_is_not_shown_in_whatever_order_a_url_has_it(token: str, sent: str) -> None:
    text = StorageOptions({"azure_storage_sas_key": token}).without_secrets(f"GET https://account.blob/t?{sent} failed")
    assert "a/b" not in text and "a%2Fb" not in text and "failed" in text
