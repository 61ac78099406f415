"""What the demo asks with the functions of Apache Sedona, whose jars have to be there when Spark starts.

Sedona 1.8.0 runs on Spark 4.0. Spark fetches the jars from Maven Central the first time.
"""

from __future__ import annotations

import pyspark
from pyspark.sql import SparkSession

JARS = "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0,org.datasyslab:geotools-wrapper:1.8.0-33.1"
RUNS = pyspark.__version__.startswith("4.0.")


def register_sedona(spark: SparkSession) -> None:
    """Register the functions of Sedona in a session that was started with its jars."""
    from sedona.spark import SedonaContext

    SedonaContext.create(spark)
