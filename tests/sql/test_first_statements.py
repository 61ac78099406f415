"""A table by SQL alone, from its first index to its last; test_sql.py has the rest."""

from __future__ import annotations

from pyspark.sql import Row

from tests.support import Lake


def test_a_table_by_sql_alone(lake: Lake) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"temp": [10 * i, 10 * i + 5]})

    def ask(sql: str) -> list[Row]:
        return lake.spark.sql(sql.replace("{}", f"'{lake.folder}'")).collect()

    (made,) = ask("CALL data_skip.create_index({}, indexes => array('MinMax(temp)'))")
    assert (made.indexes, made.files_collected) == (["MinMax(temp)"], 3)
    lake.view()
    ask("SELECT * FROM t WHERE temp > 21")
    assert ask("SELECT files_read, files_total FROM data_skip_report()") == [Row(files_read=1, files_total=3)]
    assert [row.file for row in ask("SELECT * FROM data_skip_files({}, 'temp > 21')")] == lake.table().files("temp > 21")
    assert sorted(row.low for row in ask("SELECT min_max__temp.min AS low FROM data_skip_metadata({})")) == [0, 10, 20]
    ask("EXPLAIN CALL data_skip.drop_index({}, array('MinMax(temp)'))")
    assert ask("SELECT index, files_indexed FROM data_skip_describe({})") == [Row(index="MinMax(temp)", files_indexed=3)]
    assert ask("CALL data_skip.drop_index({}, array('MinMax(temp)'))") == [Row(table=str(lake.folder), dropped="MinMax(temp)")]
