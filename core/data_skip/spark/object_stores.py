"""Object stores, as Spark reaches them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from pyspark.sql import SparkSession

from data_skip.spark.errors import SPARK_ERRORS, first_line
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

    def listed(self, uri: str) -> list[tuple[str, int, str]] | None:
        """Of each file in a folder its name, its size and what tells it from another one of its name; None where that cannot be told."""
        try:
            told = str(self._shim.filesIn(self._spark._jsparkSession, uri))
        except SPARK_ERRORS:
            return None
        return [(name, int(size), identity) for name, size, identity in (line.split("\t") for line in told.split("\n") if line)]

    def contents(self, uri: str, files: Sequence[tuple[str, int]]) -> list[bytes]:
        """The first bytes of files in a folder: of each, by its name, so many. OSError where they cannot be read."""
        asked = "\n".join(f"{size}\t{name}" for name, size in files)
        try:
            told = base64.b64decode(self._shim.contents(self._spark._jsparkSession, uri, asked))
        except SPARK_ERRORS as error:
            raise OSError(first_line(error)) from error
        ends = list(accumulate(size for _, size in files))
        return [told[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def delete(self, uri: str, names: Sequence[str]) -> None:
        """Deletes files in a folder. OSError where one cannot be."""
        try:
            self._shim.delete(self._spark._jsparkSession, uri, "\n".join(names))
        except SPARK_ERRORS as error:
            raise OSError(first_line(error)) from error

    @property
    def _shim(self) -> Any:
        return shim(self._spark.sparkContext._gateway)
