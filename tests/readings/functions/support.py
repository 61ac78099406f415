"""Settings by which PySpark gives a function all rows of a task at once."""

from __future__ import annotations

# Its rows are one batch, where later versions of Spark would give Python a batch a file.
ONE_TASK = {"spark.sql.files.minPartitionNum": "1", "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}
OF_LATER_VERSIONS = {"spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled": "false"}  # Spark 4.0 knows no such setting
