"""Which function of `register` a Python function of a query is: known by its code, not by its name, which anybody may give."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache

from pyspark.serializers import CloudPickleSerializer

from data_skip.expression import Call


def registered(call: Call) -> str | None:
    """The name of Sedona's function that a `PythonUDF` stands for; None where it is another function."""
    return _names().get(call.parameter("code"))


@cache
def _names() -> Mapping[str, str]:
    """By the digest of the pickled code, as Spark ships it to its workers."""
    from geo_skip.functions import FUNCTIONS  # pandas takes its time

    serializer = CloudPickleSerializer()
    digests = {name: hashlib.sha256(serializer.dumps(pair)).digest() for name, pair in FUNCTIONS.items()}
    return {base64.b64encode(digest).decode(): name for name, digest in digests.items()}
