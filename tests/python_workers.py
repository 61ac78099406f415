"""The daemon that forks Spark's Python workers, with pyspark imported from where it is installed instead of from its zip archive.

Before each task a worker forgets what folders hold, and Python (before 3.13) then reads the directory of every archive that it knows, as
often as it took packages from it: that takes longer than the tasks of these tests do. What tasks import is imported once, before workers
are forked: pandas and data-skip take a worker four tenths of a second.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if not path.endswith((".zip", ".jar"))]
    sys.path_importer_cache.clear()

    import pandas  # noqa: F401
    import pyarrow.compute  # noqa: F401
    from pyspark.daemon import manager

    import data_skip.building.collect  # noqa: F401
    import geo_skip  # noqa: F401
    import log_skip  # noqa: F401

    manager()
