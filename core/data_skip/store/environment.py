"""What the environment of a process tells `deltalake` of object stores: for each option that it is not given, the variable of that name.

Hadoop takes other variables for it, or none: so what it says is handed over wherever it can be, and what cannot be is told here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

# By which another place is taken for a store than deltalake is told, and Hadoop does not.
_ELSEWHERE = re.compile(
    r"((aws|azure|azure_storage|google|google_storage|object_store)_)?"
    r"(endpoint|endpoint_url|endpoint_url_s3|use_fabric_endpoint|base_url|proxy_url|use_emulator)"
    r"|azurite_.*|(storage|gcs)_emulator_host",
    re.IGNORECASE,
)
_PROXY = re.compile(r"(http|https|all)_proxy", re.IGNORECASE)
# Which are taken for the session token of whatever keys there are.
_SESSION_TOKEN = re.compile(r"(aws_)?(session_)?token", re.IGNORECASE)
# By which a store of a kind is asked in another way, or not at all: of what has no value that means none.
_OF_ALL = (
    r"http1_only|http2_\w+|pool_\w+|user_agent|allow_invalid_certificates|randomize_addresses|default_content_type|root_certificate"
    r"|proxy_\w+"
)
_OTHERWISE = {
    kind: re.compile(rf"({prefix})?({names}|{_OF_ALL})", re.IGNORECASE)
    for kind, prefix, names in (
        (
            *("s3", "aws_"),
            r"copy_if_not_exists|server_side_encryption|sse_\w+|checksum_algorithm|metadata_endpoint|imdsv1_fallback|unsigned_payload"
            r"|request_payer|disable_tagging|iam_role_arn",
        ),
        (
            "abfs",
            "azure_(storage_)?",
            r"(account|access|master)_key|sas_(key|token)|skip_signature"
            r"|client_(id|secret)|tenant_id|authority_id|federated_token_file|use_azure_cli|(storage_)?token",
        ),
        ("gs", "google_", r"service_account(_path|_key)?|application_credentials|skip_signature"),
    )
}
# Other names for an option, of which deltalake takes one or another: without the store's name before them.
_FIRST_ENDPOINT = "aws_endpoint_url_s3"
_STORE = re.compile(r"^(aws|azure_storage|azure|google)_")
_ALIKE = {
    **{"endpoint_url": "endpoint", "endpoint_url_s3": "endpoint", "token": "session_token", "bucket_name": "bucket"},
    **{"access_key": "account_key", "master_key": "account_key", "sas_token": "sas_key", "authority_id": "tenant_id"},
    **{"service_account_path": "service_account", "container": "container_name"},
}


def meaning(option: str) -> str:
    """What an option is about: the same for all names that it has."""
    name = _STORE.sub("", option.lower())
    return _ALIKE.get(name, name)


def foreign_token(options: Mapping[str, str]) -> str:
    """What deltalake would take from the environment of this process as the session token of keys that have none; "" where nothing."""
    given = {meaning(key) for key, value in options.items() if value}
    has_none = "access_key_id" in given and "session_token" not in given
    return min(filter(_SESSION_TOKEN.fullmatch, os.environ), default="") if has_none else ""


def without_token(options: Mapping[str, str]) -> dict[str, str]:
    """The options, by which none is sent."""
    return {**options, "aws_session_token": ""} if foreign_token(options) else dict(options)


def with_endpoint(options: Mapping[str, str]) -> dict[str, str]:
    """The options, whose endpoint goes before that of S3 alone that the environment may have, which counts for deltalake before it."""
    endpoint = next((value for key, value in options.items() if meaning(key) == "endpoint"), "")
    among = endpoint and any(name.lower() == _FIRST_ENDPOINT for name in os.environ)
    return {**options, _FIRST_ENDPOINT: endpoint} if among else dict(options)


def leads_elsewhere(options: Mapping[str, str]) -> str:
    """What is set in the environment of this process and may lead deltalake to another place than these options do; "" where nothing is."""
    endpoint = options.get("aws_endpoint", "")
    names = [name for name in os.environ if _ELSEWHERE.fullmatch(name) and (not endpoint or os.environ[name].rstrip("/") != endpoint)]
    return min(names, default="")


def by_proxy(options: Mapping[str, str]) -> str:
    """What has deltalake ask a proxy, which Hadoop may not: an option, or a variable of the environment; "" where nothing has."""
    asked = [*(key for key in options if meaning(key) == "proxy_url"), *(name for name in os.environ if _PROXY.fullmatch(name))]
    return min((name for name in asked if options.get(name) or os.environ.get(name)), default="")


def asks_otherwise(options: Mapping[str, str], scheme: str) -> str:
    """What deltalake is told besides by the environment of this process, or a proxy: it may be why it is refused; "" where nothing is."""
    given = set(map(meaning, options))
    kind = next((kind for kind in _OTHERWISE if scheme.startswith(kind)), None)
    names = [name for name in os.environ if kind and _OTHERWISE[kind].fullmatch(name) and meaning(name) not in given]
    return leads_elsewhere(options) or by_proxy(options) or min(names, default="")
