"""What `deltalake` is told of an object store: what Hadoop has been told, so that nobody writes credentials twice.

    Hadoop                                          deltalake's `storage_options`
    whatever provides S3A's credentials             aws_access_key_id, aws_secret_access_key, aws_session_token, aws_skip_signature
    fs.s3a.endpoint, endpoint.region, ...           aws_endpoint, aws_region, aws_virtual_hosted_style_request, aws_allow_http
    fs.s3a.proxy.*                                  proxy_url
    fs.azure.account.key, oauth2, sas, ...          azure_storage_account_key, azure_client_id, azure_storage_sas_key, ...
    fs.gs.auth.*, google.cloud.auth.*               google_service_account, google_application_credentials, ...
    spark.data_skip.storage.X                       X, whatever Hadoop says

S3A's credentials are asked of S3A, so they are those with which Spark reads: of the environment, a profile, an instance, a role, or of a
provider of the user's own. What Hadoop does not say is left to deltalake, which looks into the environment and asks the instance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

from data_skip.store.environment import by_proxy, leads_elsewhere, meaning, with_endpoint, without_token
from data_skip.store.layout import StoreError


class Hadoop(Protocol):
    """What is asked of Spark: spark/object_stores.py answers."""

    def told(self, uri: str, keys: Iterable[str], secrets: Iterable[str]) -> Mapping[str, Any]:
        """`set`, `file_system`, `credentials`, `region`, `proxy`, `overrides`, by keys of Hadoop: see StorageSettings.java."""

    def holds(self, uri: str) -> bool | None:
        """Whether there is a file; None where that cannot be told."""

    def identity(self, uri: str) -> str | None:
        """What tells a file from another one of its name; None where that cannot be told, or there is none."""

    def listed(self, uri: str) -> list[tuple[str, int, str]] | None:
        """Of each file in a folder its name, its size and what tells it from another one of its name; None where that cannot be told."""

    def contents(self, uri: str, files: Sequence[tuple[str, int]]) -> list[bytes]:
        """The first bytes of files in a folder: of each, by its name, so many. OSError where they cannot be read."""

    def delete(self, uri: str, names: Sequence[str]) -> None:
        """Deletes files in a folder. OSError where one cannot be."""


OVERRIDES = "spark.data_skip.storage."
_S3A = "fs.s3a."
_S3_KEYS = (
    *("endpoint", "endpoint.region", "path.style.access", "connection.ssl.enabled", "requester.pays.enabled"),
    *("proxy.host", "proxy.port", "proxy.ssl.enabled"),
)
_S3_ENCRYPTION = ("encryption.algorithm", "server-side-encryption-algorithm")
_S3_ENCRYPTION_KEYS = ("encryption.key", "server-side-encryption.key")
_ACCESS_POINT = "fs.s3a.bucket.{}.accesspoint.arn"  # by which S3A takes a bucket for whatever that leads to: its name may be any
_CLIENTS = "fs.s3a.s3.client.factory.impl"
_OWN_CLIENTS = ("", "org.apache.hadoop.fs.s3a.DefaultS3ClientFactory")
# Those of Hadoop that find in a store what lies there; another one, or another's clients of S3, may find anything.
_FILE_SYSTEMS = (
    "org.apache.hadoop.fs.s3a.S3AFileSystem",
    *("org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem", "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem"),
    *("com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem", "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"),
)
_KEYS = {"access_key_id", "secret_access_key"}  # by their meaning
_ENCRYPTIONS = {"AES256": "AES256", "SSE-S3": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse", "SSE-C": "sse-c"}
_AZURE = "fs.azure."
_AZURE_KEYS = (
    *("account.auth.type", "account.oauth.provider.type", "account.oauth2.client.id", "account.oauth2.client.endpoint"),
    *("account.oauth2.msi.tenant", "account.oauth2.msi.authority", "account.oauth2.token.file"),
)
_AZURE_SECRETS = ("account.key", "account.oauth2.client.secret", "sas.fixed.token")
_GOOGLE_KEYS = (
    *(
        "fs.gs.auth.type",
        "fs.gs.auth.service.account.json.keyfile",
        "google.cloud.auth.type",
        "google.cloud.auth.service.account.json.keyfile",
    ),
    *("google.cloud.auth.service.account.enable", "google.cloud.auth.null.enable", "fs.gs.storage.root.url"),
)
_SECRET = ("key", "secret", "token", "password", "credential", "proxy_url")  # in the name of an option whose value nobody may see
_OPEN = ("aws_skip_signature", "google_skip_signature", "azure_skip_signature", "aws_sse_bucket_key_enabled")
# In that of one by which another place is reached than Hadoop's.
_WHERE = ("endpoint", "proxy", "url", "host", "account_name", "bucket", "emulator")
# In the name of one by which a place is reached otherwise, and no other place; beside these, a key too may choose whose bucket it is.
_HOW = ("region", "timeout", "retries", "backoff", "pool_", "http1_", "http2_", "user_agent", "payload", "payer", "checksum", "certificate")
_HIDDEN = "***"
_COLOURS = re.compile(r"\x1b\[\d*m|\u21b3")
# Tries are ended after half a minute instead of three: a query waits, which would be answered without an index as well. The others are as
# they are by default, whatever the environment says.
_PATIENCE = {"retry_timeout": "30s", "timeout": "30s", "connect_timeout": "5s"}


class StorageOptions(Mapping[str, str]):
    """What deltalake takes as `storage_options`; what is printed of it has no secrets."""

    def __init__(self, options: Mapping[str, str], say_where: bool = False, of_hadoop: bool = True) -> None:
        """say_where: whether the user has said where the store is, or how it is reached, to one of deltalake and Hadoop alone, if only by
        the environment: the other may not reach it.

        of_hadoop: whether what lies there is surely what Hadoop finds there.
        """
        self._options = dict(options)
        self.say_where, self.of_hadoop = say_where, of_hadoop

    def __getitem__(self, key: str) -> str:
        return self._options[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __repr__(self) -> str:
        return repr({key: _HIDDEN if _is_secret(key, value) else value for key, value in self._options.items()})

    def shown(self, text: str) -> str:
        """A text of deltalake's, or that quotes one, in one line, with no colours and no secrets."""
        return self.without_secrets(" ".join(_COLOURS.sub("", text).split()))

    def without_secrets(self, text: str) -> str:
        """A text in which no value of a secret option is left, as it is or as a URL has it."""
        for key, value in self._options.items():
            if _is_secret(key, value) and value:
                for form in sorted(_forms(value), key=len, reverse=True):
                    text = text.replace(form, _HIDDEN)
        return text


def _forms(secret: str) -> set[str]:
    """How a secret may stand in a text: as it is, as in a URL; of one that is the query of a URL, what it signs with."""
    signatures = [unquote(part.partition("=")[2]) for part in secret.lstrip("?").split("&") if part.startswith("sig=")]
    return {form for whole in (secret, secret.lstrip("?"), *signatures) if whole for form in (whole, quote(whole, safe=""), quote(whole))}


def _is_secret(option: str, value: str) -> bool:
    """As a key, or a URL with a login."""
    name = option.lower()
    return name not in _OPEN and (any(word in name for word in _SECRET) or "@" in value)


def storage_options(uri: str, spark: Hadoop | None) -> StorageOptions:
    """What deltalake is told of the object store of a URI; nothing of a local file."""
    parts = urlsplit(uri)
    if spark is None or parts.scheme in ("", "file"):
        return StorageOptions({})
    account = parts.hostname or ""
    if parts.scheme in ("s3", "s3a", "s3n"):
        keys = [*(_S3A + key for key in (*_S3_KEYS, *_S3_ENCRYPTION)), _ACCESS_POINT.format(parts.netloc), _CLIENTS]
        secrets = [_S3A + key for key in (*_S3_ENCRYPTION_KEYS, "proxy.username", "proxy.password")]
    elif parts.scheme in ("abfs", "abfss"):
        keys = [key for name in _AZURE_KEYS for key in _of_account(name, account)]
        secrets = [key for name in _AZURE_SECRETS for key in _of_account(name, account, parts.username or "")]
    elif parts.scheme == "gs":
        keys, secrets = list(_GOOGLE_KEYS), []
    else:
        keys, secrets = [], []
    told = spark.told(uri, keys, secrets)
    set_: dict[str, str] = {key: value for key, value in told["set"].items() if value}
    found: dict[str, str] = {}
    if parts.scheme in ("s3", "s3a", "s3n"):
        found = _s3(parts.netloc, {key.removeprefix(_S3A): value for key, value in set_.items()}, told)
    elif parts.scheme in ("abfs", "abfss"):
        found = _azure(lambda name: next((set_[key] for key in _of_account(name, account, parts.username or "") if key in set_), None))
    elif parts.scheme == "gs":
        found = _google(set_)
    found |= _PATIENCE
    found = _without(found, _said(told["overrides"]))
    overrides = {key.lower(): value for key, value in told["overrides"].items()}
    by_access_point = _ACCESS_POINT.format(parts.netloc) in set_
    say_where = by_access_point or bool(leads_elsewhere(found)) or any(word in key for key in overrides for word in _WHERE)
    known = told.get("file_system") in _FILE_SYSTEMS and set_.get(_CLIENTS, "") in _OWN_CLIENTS
    found = with_endpoint(without_token(found | overrides))
    is_direct = not (say_where or told.get("proxy") or by_proxy(found))
    of_hadoop = known and is_direct and all(any(word in key for word in _HOW) for key in overrides)
    return StorageOptions(found, say_where, of_hadoop)


def _said(overrides: Mapping[str, str]) -> set[str]:
    """What the user's options are about. StoreError where two of them are about the same, of which deltalake takes one or the other."""
    said: dict[str, str] = {}
    for key in sorted(overrides):
        other = said.setdefault(meaning(key), key)
        if overrides[other] != overrides[key]:
            raise StoreError(f"{OVERRIDES}{other} and {OVERRIDES}{key} are one option, with two values; set one of them")
    return set(said)


def _without(found: Mapping[str, str], said: set[str]) -> dict[str, str]:
    """What Hadoop says, less what the user does, whose keys are not of Hadoop's session, and are signed with."""
    left = {key: value for key, value in found.items() if meaning(key) not in said}
    if said & _KEYS and found.keys() & {"aws_access_key_id", "aws_skip_signature"}:
        left = {key: value for key, value in left.items() if meaning(key) not in ("session_token", "skip_signature")}
        left |= {} if "skip_signature" in said else {"aws_skip_signature": "false"}
    return left


def _s3(bucket: str, set_: Mapping[str, str], told: Mapping[str, Any]) -> dict[str, str]:
    # A commit is a PUT that fails where its version is there, or writers overwrite each other: so whatever the environment says.
    found = {"aws_conditional_put": "etag", "aws_s3_allow_unsafe_rename": "false", "aws_s3_express": "false"}
    credentials = told.get("credentials")
    if credentials is not None and "access_key" not in credentials:
        found["aws_skip_signature"] = "true"  # anonymous
    elif credentials is not None:
        found |= {"aws_access_key_id": credentials["access_key"], "aws_secret_access_key": credentials["secret_key"]}
        if token := credentials.get("session_token"):
            found["aws_session_token"] = token
        found["aws_skip_signature"] = "false"
    if region := set_.get("endpoint.region") or _region_of(set_.get("endpoint", "")) or told.get("region"):
        found["aws_region"] = region
    found |= _endpoint(bucket, set_) | _given(proxy_url=_proxy(set_))
    if _is_true(set_.get("requester.pays.enabled")):
        found["aws_request_payer"] = "true"
    encryption = next((_ENCRYPTIONS.get(set_[key].upper()) for key in _S3_ENCRYPTION if key in set_), None)
    key = next((set_[key] for key in _S3_ENCRYPTION_KEYS if key in set_), None)
    if encryption:
        found["aws_server_side_encryption"] = encryption
        if key and encryption != "AES256":
            found["aws_sse_customer_key_base64" if encryption == "sse-c" else "aws_sse_kms_key_id"] = key
    return found


def _endpoint(bucket: str, set_: Mapping[str, str]) -> dict[str, str]:
    """Where an S3 is that is none of Amazon's own: with the bucket in its path, or before its name, as S3A asks for it."""
    endpoint = set_.get("endpoint", "")
    by_path = _is_true(set_.get("path.style.access")) or "." in bucket or "_" in bucket or bucket != bucket.lower()
    if not endpoint or _is_amazon(endpoint):
        return {} if by_path else {"aws_virtual_hosted_style_request": "true"}
    if "://" not in endpoint:
        endpoint = f"{'http' if set_.get('connection.ssl.enabled', 'true').lower() == 'false' else 'https'}://{endpoint}"
    parts = urlsplit(endpoint.rstrip("/"))
    found = {"aws_allow_http": "true"} if parts.scheme == "http" else {}
    host = parts.hostname or ""
    if by_path or ":" in host or host.replace(".", "").isdigit():  # a number has no names below it
        return found | {"aws_endpoint": endpoint.rstrip("/"), "aws_virtual_hosted_style_request": "false"}
    return found | {"aws_endpoint": f"{parts.scheme}://{bucket}.{parts.netloc}{parts.path}", "aws_virtual_hosted_style_request": "true"}


def _proxy(set_: Mapping[str, str]) -> str | None:
    """The URL of the proxy by which S3A asks, as AWSClientConfig of Hadoop makes it."""
    host, user = set_.get("proxy.host"), set_.get("proxy.username")
    if not host:
        return None
    secure = _is_true(set_.get("proxy.ssl.enabled"))
    port = set_.get("proxy.port", "")
    login = f"{quote(user, safe='')}:{quote(set_.get('proxy.password', ''), safe='')}@" if user else ""
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{'https' if secure else 'http'}://{login}{host}:{port if port.isdecimal() else 443 if secure else 80}"


def _is_amazon(endpoint: str) -> bool:
    """Whether an endpoint is that of all buckets, or of all of a region."""
    return re.fullmatch(r"s3([.-][a-z]{2}(-[a-z]+)+-\d)?\.amazonaws\.com", _host(endpoint)) is not None


def _region_of(endpoint: str) -> str:
    """Of `s3.eu-west-1.amazonaws.com`, `eu-west-1`; "" of what is none of Amazon's, or says none."""
    found = re.search(r"(?<![a-z0-9])([a-z]{2}(-[a-z]+)+-\d)\.(vpce\.)?amazonaws\.com", _host(endpoint))
    return found[1] if found else ""


def _host(endpoint: str) -> str:
    return urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}").hostname or ""


def _is_true(value: str | None) -> bool:
    return (value or "").lower() == "true"


def _of_account(name: str, account: str, container: str = "") -> list[str]:
    """The keys by which Azure's driver knows a setting, the one that counts first."""
    own = [f"{_AZURE}{name}.{container}.{account}"] if container and name.startswith("sas.") else []
    return [*own, f"{_AZURE}{name}.{account}", f"{_AZURE}{name}"]


def _azure(get: Callable[[str], str | None]) -> dict[str, str]:
    kind = (get("account.auth.type") or "SharedKey").lower()
    if kind == "sharedkey":
        return _given(azure_storage_account_key=get("account.key"))
    if kind == "sas":
        return _given(azure_storage_sas_key=get("sas.fixed.token"))
    if kind != "oauth":
        return {}  # a class of the user's own provides tokens
    provider = (get("account.oauth.provider.type") or "").rsplit(".", 1)[-1]
    host, tenant = _tenant(get("account.oauth2.client.endpoint") or "")
    client = get("account.oauth2.client.id")
    if provider == "MsiTokenProvider":
        return _given(azure_client_id=client)
    found = _given(azure_client_id=client, azure_tenant_id=tenant or get("account.oauth2.msi.tenant"), azure_authority_host=host)
    if provider == "WorkloadIdentityTokenProvider":
        authority = (get("account.oauth2.msi.authority") or "").rstrip("/")
        return found | _given(azure_federated_token_file=get("account.oauth2.token.file"), azure_authority_host=authority or host)
    return found | _given(azure_client_secret=get("account.oauth2.client.secret"))


def _tenant(endpoint: str) -> tuple[str | None, str | None]:
    """Of `https://login.microsoftonline.com/TENANT/oauth2/token` the host and the tenant."""
    parts = urlsplit(endpoint)
    folders = parts.path.strip("/").split("/")
    return (f"{parts.scheme}://{parts.netloc}", folders[0]) if parts.netloc and folders[0] else (None, None)


def _google(set_: Mapping[str, str]) -> dict[str, str]:
    file = set_.get("fs.gs.auth.service.account.json.keyfile") or set_.get("google.cloud.auth.service.account.json.keyfile")
    kind = (set_.get("fs.gs.auth.type") or set_.get("google.cloud.auth.type") or "").upper()
    anonymous = kind == "UNAUTHENTICATED" or _is_true(set_.get("google.cloud.auth.null.enable"))
    by_file = (
        kind in ("", "SERVICE_ACCOUNT_JSON_KEYFILE") and set_.get("google.cloud.auth.service.account.enable", "true").lower() == "true"
    )
    found = {"google_skip_signature": "true"} if anonymous else _given(google_service_account=file if by_file else None)
    return found | _given(google_base_url=(set_.get("fs.gs.storage.root.url") or "").rstrip("/"))


def _given(**options: str | None) -> dict[str, str]:
    return {key: value for key, value in options.items() if value}
