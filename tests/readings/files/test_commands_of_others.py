"""What a command of another system reads, which runs its query by itself, as a write to Delta or by JDBC."""

from __future__ import annotations

from data_skip import MinMax
from tests.support import Lake, settings_of
from tests.test_snapshots import values


def test_what_a_command_of_another_system_writes_is_by_listing(lake: Lake) -> None:
    """It may lay its table over the folder that it reads, of which files that the index does not know would be lost."""
    lake.file("a.parquet", {"x": [1, 2]})
    lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [3]})
    database, rows = "jdbc:derby:memory:commands;create=true", lake.view().where("x > 1")
    with settings_of(lake.spark, {"spark.data_skip.freshness": "snapshot"}):
        rows.write.jdbc(database, "written", mode="overwrite")
        assert "only queries follow it, and those of which Spark writes files" in str(lake.skipping.report())
        explained = lake.spark.sql("EXPLAIN FORMATTED SELECT x FROM t WHERE x > 1").collect()  # which a command makes as well
        assert "only queries follow it" not in str(explained)
        assert "snapshot" in str(explained)
        assert values(lake.spark.sql("SELECT x FROM t WHERE x > 1")) == [2]
    assert values(lake.spark.read.jdbc(database, "written")) == [2, 3]
