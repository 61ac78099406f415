"""Object stores, as Spark reaches them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from data_skip.spark.errors import SPARK_ERRORS
from data_skip.spark.jvm import shim


class ObjectStores:
    """Those of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def told(self, uri: str, keys: Iterable[str], secrets: Iterable[str]) -> dict[str, Any]:
        """How Spark reaches the file system of a URI, by some keys of Hadoop: see StorageSettings.java."""
        return dict(json.loads(bytes(self._shim.storage(self._spark._jsparkSession, uri, " ".join(keys), " ".join(secrets)))))

    def holds(self, uri: str) -> bool | None:
        """Whether there is a file; None where that cannot be told."""
        try:
            return bool(self._shim.isThere(self._spark._jsparkSession, uri))
        except SPARK_ERRORS:
            return None

    def identity(self, uri: str) -> str | None:
        """What tells a file from another one of its name; None where that cannot be told, or there is none."""
        try:
            return str(self._shim.identity(self._spark._jsparkSession, uri))
        except SPARK_ERRORS:
            return None

    @property
    def _shim(self) -> Any:
        return shim(self._spark.sparkContext._gateway)
