"""Spark's own archives, from which its workers import pyspark: what Python keeps of them makes each further task of a worker start late."""

from __future__ import annotations

import re
import sys
from pathlib import PurePath
from zipimport import zipimporter

_OF_SPARK = re.compile(r"pyspark\.zip|py4j-[\d.]+-src\.zip|spark-core_[\d.]+-\d.*\.jar")  # what it puts first on the path of a worker


def forget_archives() -> None:
    """Drops Python's finders of modules in Spark's own archives, which it makes anew where it has to look there.

    Before each task a worker has Python look again at all places that it has imported from, since files may have been sent meanwhile. It
    reads the directory of an archive once for each package in it, a tenth of a second in all, though Spark's own do not change. Archives
    of others may: those are looked at as ever.
    """
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _OF_SPARK.fullmatch(PurePath(finder.archive).name):
            sys.path_importer_cache.pop(place, None)
