"""A generator of Hive's may count its rows, and give more at the end: what is known of its rows is not asked of those below."""

from __future__ import annotations

from pathlib import Path

from data_skip import MinMax
from tests.hive_functions import hive_function
from tests.support import Lake


def test_a_generator_of_hive(lake: Lake, tmp_path: Path) -> None:
    """Rows were lost, and others were there, where a join asks for the columns beside: Spark calls each such generator deterministic."""
    for i in range(4):
        lake.file(f"{i}", {"k": [i], "pad": [list(range(5000))]})
    lake.index(MinMax("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "side")
    side.file("0", {"n": [2]})
    side.view("side")
    try:
        with hive_function(lake.spark, "hive_explode", "HiveGenericUDTF", "GenericUDTFExplode"):
            for generator, skipped in (("explode", 3), ("hive_explode", 0)):
                exploded = f"SELECT k, e FROM t LATERAL VIEW {generator}(array(k, 7)) x AS e"
                report = lake.query(f"SELECT k, e FROM ({exploded}) JOIN side ON k = n")
                assert max(scan.files_skipped for scan in report.scans) == skipped
                numbered = f"SELECT a.k FROM ({exploded} WHERE k = 2) a JOIN ({exploded}) b ON a.e = b.e"  # perhaps, by their rows
                twice = lake.query(numbered)
                assert max(scan.files_skipped for scan in twice.scans) == skipped
    finally:
        lake.spark.catalog.dropTempView("side")
