"""data-skip: extensible data skipping for PySpark.

In short:

    import data_skip
    from data_skip import MinMax, Suffix

    skipping = data_skip.enable(spark)
    skipping.table("data/weather").create_index(MinMax("temp"), Suffix("city", 4))
    spark.sql("SELECT max(temp) FROM parquet.`data/weather` WHERE temp > 101 AND city LIKE '%pur'")
    print(skipping.report())
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data_skip.building.index_report import IndexReport
    from data_skip.description import Description
    from data_skip.errors import DataSkipError, DataSkipWarning
    from data_skip.functions import versioned
    from data_skip.index import Index
    from data_skip.indexes.affix import Prefix, Suffix
    from data_skip.indexes.bloom import BloomFilter
    from data_skip.indexes.gap_list import GapList
    from data_skip.indexes.haversine import great_circle
    from data_skip.indexes.hybrid import Hybrid
    from data_skip.indexes.metric_distance import MetricDistance
    from data_skip.indexes.min_max import MinMax
    from data_skip.indexes.value_list import ValueList
    from data_skip.planning.report import QueryReport, ScanReport
    from data_skip.session import Skipping, disable, enable
    from data_skip.spark.java import ensure_java
    from data_skip.table import Table

__all__ = [
    "BloomFilter",
    "DataSkipError",
    "DataSkipWarning",
    "Description",
    "GapList",
    "Hybrid",
    "Index",
    "IndexReport",
    "MetricDistance",
    "MinMax",
    "Prefix",
    "QueryReport",
    "ScanReport",
    "Skipping",
    "Suffix",
    "Table",
    "ValueList",
    "disable",
    "enable",
    "ensure_java",
    "great_circle",
    "versioned",
]

_HOMES = {
    "BloomFilter": "data_skip.indexes.bloom",
    "DataSkipError": "data_skip.errors",
    "DataSkipWarning": "data_skip.errors",
    "Description": "data_skip.description",
    "GapList": "data_skip.indexes.gap_list",
    "Hybrid": "data_skip.indexes.hybrid",
    "Index": "data_skip.index",
    "IndexReport": "data_skip.building.index_report",
    "MetricDistance": "data_skip.indexes.metric_distance",
    "MinMax": "data_skip.indexes.min_max",
    "Prefix": "data_skip.indexes.affix",
    "QueryReport": "data_skip.planning.report",
    "ScanReport": "data_skip.planning.report",
    "Skipping": "data_skip.session",
    "Suffix": "data_skip.indexes.affix",
    "Table": "data_skip.table",
    "ValueList": "data_skip.indexes.value_list",
    "disable": "data_skip.session",
    "enable": "data_skip.session",
    "ensure_java": "data_skip.spark.java",
    "great_circle": "data_skip.indexes.haversine",
    "versioned": "data_skip.functions",
}

_MODULES = ("clause", "errors", "expression", "filters", "index")  # which plugins name as data_skip.filters.on

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What is asked for is imported then: Spark, Arrow and deltalake take half a second, and a notebook, or a worker, may need none."""
        if name in _MODULES:
            return import_module(f"data_skip.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext data_skip`: from then on there is `%%skipping`, which runs the SQL of a cell and shows its rows and what was skipped."""
    from data_skip.notebook import register

    register(shell)
