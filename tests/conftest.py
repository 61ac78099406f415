"""One Spark session for each worker of a run; which tests depend on Spark's version, and which are long; the order of the files."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from pyspark.sql import SparkSession

import data_skip
from data_skip.spark.java import ensure_java
from tests.support import HADOOP_DEFAULTS, JAVA_OPTIONS, Lake

# The same examples on every run, however slow the machine is.
settings.register_profile("same", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")
# Hypothesis also draws constants that stand in the code that is loaded: then examples would change with any line of data-skip, and with
# the tests that ran before.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants

SEDONA = ("org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0", "org.datasyslab:geotools-wrapper:1.8.0-33.1")

# What may change with Spark's version: `pytest -m spark_version` runs it on others than the one that is pinned.
SPARK_VERSION = (
    "elements/test_lifting",
    "falsifiable/test_expressions",
    "held_out/test_spark",
    "indexes/test_bloom_lifting",
    "indexes/test_python_functions",
    "joins/test_joins",
    "readings/building/test_readers",
    "readings/comparing/test_listed_twice",
    "readings/files/test_ages::test_files_that_cannot_be_read",
    "readings/files/test_ages::test_who_reads_folders",
    "readings/files/test_listings::test_files_that_stand",
    "readings/files/test_listings::test_partitions_in_folders",
    "readings/files/test_one_version::test_parts_of_a_folder",
    "readings/files/test_queries_that_write::test_what_a_command",
    "readings/files/test_renamed_tables::test_a_bounded_frame",
    "readings/files/test_renamed_tables::test_a_table_in_whose_place",
    "readings/files/test_renamed_tables::test_a_table_that_lies",
    "readings/plans/test_variants",
    "readings/store/test_compaction::test_a_compaction_of_an_index",
    "readings/store/test_left_behind::test_what_a_killed_writer",
    "readings/store/test_where_indexes_lie",
    "test_cancelling",
    "test_contracts",
    "test_formats",
    "test_freshness_of_listings",
    "test_java",
    "test_lifting",
    "test_overlap",
    "test_partitions",
    "test_plans_of_tpcds",
    "smoke/",
    "sql/test_sql",
    "sql/test_first_statements",
    "test_smoke",
    "test_transparency",
    "traps/",
)
# What holds claims against Spark at length: recipes of readings and of other projects, values where a claim might break, random tables of
# joins and arrays, all kinds of one thing. `make test` leaves them to `make test-long`.
LONG = (
    "claims/",
    "differential/test_planted_in_indexes",
    *(
        f"differential/test_random_predicates::test_every_file_with_a_matching_row_is_kept[{name}-"
        for name in ("bloom", "hybrid", "expressions")
    ),
    "differential/test_random_predicates::test_every_file_with_a_matching_row_is_kept[value_list-unsimplified-",
    "differential/test_random_predicates::test_every_file_with_a_matching_row_is_kept[min_max-unsimplified-",
    "differential/test_random_predicates::test_changed_files",
    "elements/test_arrays::test_every_index",
    "elements/test_lifting",
    "elements/test_random_arrays",
    "falsifiable/",
    "geo_skip/test_cells::test_ids_of_many",
    "geo_skip/test_cells::test_points_have_ids",
    "geo_skip/test_earth",
    "geo_skip/test_functions::test_anothers_function",
    "geo_skip/test_functions::test_the_region_goes",
    "geo_skip/test_geometry::test_sedonas",
    "geo_skip/test_geoparquet::test_sedonas_own_reader",
    "geo_skip/test_geometry::test_wkb",
    "geo_skip/test_joins::test_by_functions",
    "geo_skip/test_points::test_every_function[S2Covering]",
    "geo_skip/test_points::test_every_function[all]",
    "geo_skip/test_random",
    "held_out/",
    "indexes/test_affix_cuts::test_is_sound",
    "indexes/test_affix_cuts::test_parts",
    "indexes/test_bloom::test_a_long_in_list",
    "indexes/test_bloom_lifting::test_lifts",
    "indexes/test_constants::test_a_file_of_one_value",
    "indexes/test_metric_distance::test_a_metric_over_vectors",
    "indexes/test_metric_distance::test_great_circle",
    "indexes/test_metric_distance::test_the_origin",
    "indexes/test_python_functions::test_a_function_that_raises",
    "indexes/test_python_functions::test_functions_of_every_kind",
    "indexes/test_python_functions::test_null_goes",
    "indexes/test_python_functions::test_several",
    "indexes/test_python_functions::test_types_that_are_exchanged",
    "joins/test_joins::test_a_python_function_of_both_sides",
    "joins/test_joins_cost",
    "joins/test_random_joins",
    "log_skip/test_formatted::test_an_extractor_of",
    "log_skip/test_ngram::test_skips_by",
    "log_skip/test_reading::test_odd_lines",
    "log_skip/test_reading::test_skips_raw",
    "log_skip/test_user_agents::test_every_agent",
    "log_skip/test_user_agents::test_skips_hours",
    "notebook/test_skipping_magic",
    *(f"pages/test_pages::test_the_page_runs[{page}" for page in ("README", "docs/command", "docs/how-to/", "docs/plugins", "docs/sql")),
    "readings/",
    "sql/test_sql",
    "test_cancelling",
    "test_check_index::test_indexes_of_expressions",
    "test_check_index::test_takes_an_arrow",
    "test_direct::test_one_large_file",
    "test_direct::test_records_of_all_indexes",
    "test_direct::test_values_are_those",
    "test_direct::test_what_spark",
    "test_direct::test_what_tasks",
    "test_direct_orc::test_values_are_those",
    "test_direct_text::test_times",
    "test_direct_text::test_types_that_are_left",
    "test_direct_values::test_functions_in",
    "test_first_minutes::test_extractors_by",
    *(f"test_formats::test_formats[{kind}-{{'compression" for kind in ("csv", "json", "parquet")),
    "test_formats::test_malformed_json",
    "test_formats::test_options_that_change",
    "test_formats::test_settings_that_change",
    "test_grouped::test_a_file_that_cannot_be_read",
    "test_grouped::test_a_python_function_is_asked_once",
    "test_many_commits::test_as_many",
    "test_many_commits::test_refresh_goes",
    "test_memory::test_records_are_read_again",
    "test_normalize::test_any_tree",
    "test_oracle_of_masks",
    "test_partitions::test_random_predicates",
    "test_parts::test_queries",
    "test_planning_cost::test_a_thousand_predicates",
    "test_planning_cost::test_of_very_many",
    "test_report::test_queries_at_once",
    "test_rewriting::test_refreshes_put",
    "test_stored_indexes::test_sessions_at_once",
    "test_store::test_writer_that_never_wins",
    "test_store::test_writers_in_threads",
    "test_third_party",
    "test_transparency::test_both_sides_of_joins",
    "test_transparency::test_cached_plans",
    "test_transparency::test_catalog_tables",
    "test_transparency::test_partitioned_tables",
    "test_versioned::test_extractors_say",
    "test_versions::test_rows_that_are_added",
    "traps/test_a_numbers::test_a11_",
    "traps/test_b_nulls::test_b12_",
    "traps/test_d_plans::test_d2_",
    "traps/test_d_plans::test_d3_",
    "traps/test_d_plans::test_d7_",
    "traps/test_e_strings::test_e11_",
    "traps/test_e_strings::test_e12_",
    "traps/test_e_strings::test_e17_",
    "traps/test_f_collations::test_f6_",
    "traps/test_g_casts::test_g11_",
    "traps/test_h_times",
    "traps/test_j_files::test_j11_j12_",
    "traps/test_j_files::test_j15_",
    "traps/test_j_files::test_j20_",
)
# Of what takes a second for each of its parameters, or more, `make test` runs the first one.
FIRST = (
    "differential/test_planted_in_versions::test_a_bug",
    "elements/test_arrays::test_predicates_about",
    "elements/test_arrays::test_subqueries",
    "faults/test_sample::test_lost_answer",
    "geo_skip/test_functions::test_in_python",
    "geo_skip/test_functions::test_only_points_in_the_box",
    "geo_skip/test_functions::test_over_sedona",
    "geo_skip/test_geometry::test_text",
    "geo_skip/test_joins::test_many_regions",
    "geo_skip/test_joins::test_the_files_of",
    "geo_skip/test_points::test_every_function",
    "indexes/test_gap_list::test_every_ordered_type",
    "joins/test_joins::test_files_read_of_the_large_side",
    "joins/test_joins::test_many_keys",
    "log_skip/test_fields::test_each_field",
    "log_skip/test_ngram::test_is_sound",
    "log_skip/test_ngram::test_skips_by_literals",
    "test_added::test_each_version",
    "test_check_index::test_catches",
    "test_check_index::test_indexes_of",
    "test_direct::test_a_name_with_a_dot",
    "test_direct_text::test_",
    "test_direct_values::test_records_of_every_type",
    "test_first_minutes::test_settings_that_cannot",
    "test_formats::test_formats",
    "test_grouped::test_records_are_those",
    "test_grouped::test_rows_that_cross",
    "test_in_tasks::test_code_of_a_plugin",
    "test_in_tasks::test_what_is_not_known",
    "test_in_tasks::test_where_tasks_fail",
    "test_lifting::test_footers",
    "test_lifting::test_what_is_read_instead",
    "test_normalize::test_truth_tables",
    "test_partitions::test_skips",
    "test_plans_of_tpcds::test_with_indexes",
    "test_repeated::test_another_query",
    "test_repeated::test_what_others_are_asked",
    "test_rewriting::test_others_write",
    "test_rewriting::test_some_rows",
    "test_same_code::test_a_plugin_that_differs",
    "test_same_code::test_all_that_a_class",
    "test_same_code::test_classes_that_are_sent",
    "test_snapshots::test_an_index_is_never",
    "test_stored_indexes::test_folders_that_cannot",
    "test_task_parts::test_files_of_which",
    "test_task_parts::test_parts_that_are_lost",
    "test_task_parts::test_what_cannot_be_committed",
    "test_unreadable::test_a_rotation",
    "test_versioned::test_an_index_is_of_one_version",
    "test_versioned::test_one_index_whose_function_is_not",
    "test_versioned::test_without_a_version",
    "test_versions::test_files_that_are_added",
    "traps/test_a_numbers::test_a1_",
    "traps/test_a_numbers::test_a6_",
    "traps/test_d_groups::test_structs",
    "traps/test_d_plans::test_d9_",
    "traps/test_e_strings::test_e18_",
    "traps/test_e_strings::test_e4_",
    "traps/test_f_collations::test_f1_",
    "traps/test_g_casts::test_g1_",
    "traps/test_i_schema::test_i3_",
    "traps/test_k_indexes::test_k14_",
)
# Files that take long, the longest first: so that no worker is left with one of them when the other has nothing more to do.
LONGEST = (
    "differential/test_random_predicates",
    "falsifiable/test_monotone",
    "test_third_party",
    "test_transparency",
    "indexes/test_python_functions",
    "traps/test_h_times",
    "claims/test_monotone",
    "elements/test_arrays",
    "test_check_index",
    "geo_skip/test_cells::test_ids_of_many",
    "geo_skip/test_cells::test_points_have_ids",
    "geo_skip/test_earth",
    "geo_skip/test_geoparquet::test_sedonas_own_reader",
    "test_unreadable",
    "traps/test_d_plans",
    "joins/test_joins",
)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker takes ten seconds to start its Spark: none for a single file."""
    return 0 if len(config.args) == 1 and ".py" in config.args[0] else 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def name(item: pytest.Item) -> str:
        return str(item.path.relative_to(Path(__file__).parent).with_suffix(""))

    seen: set[str] = set()
    for item in items:
        whole = f"{name(item)}::{item.name}"
        if whole.startswith(SPARK_VERSION):
            item.add_marker("spark_version")
        test, is_one_of, _ = whole.partition("[")
        if whole.startswith(LONG) or (is_one_of and test in seen and test.startswith(FIRST)):
            item.add_marker("long")
        elif not item.get_closest_marker("long"):
            seen.add(test)

    def place(item: pytest.Item) -> int:
        if item.get_closest_marker("object_store"):  # last, to be skipped where this process has a session of other jars
            return len(LONGEST) + 1
        return LONGEST.index(name(item)) if name(item) in LONGEST else len(LONGEST)

    items.sort(key=place)


@contextmanager
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Within, no other worker: jars are downloaded into one folder."""
    with open(tmp_path_factory.getbasetemp().parent / "starting", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remember_names() -> None:
    """Has py4j ask once what `org`, `org.apache`, ... are: the JVM looks into three hundred jars for a class of that name, each time."""
    for kind in (JVMView, JavaPackage, JavaClass):

        def named(self: Any, name: str, ask: Callable[[Any, str], Any] = kind.__getattr__) -> Any:
            found = ask(self, name)
            if isinstance(found, (JavaPackage, JavaClass, JavaMember)):
                self.__dict__[name] = found
            return found

        kind.__getattr__ = named


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    ensure_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    warehouse = tmp_path_factory.mktemp("warehouse")
    avro = "4.0.2" if pyspark.__version__.startswith("4.0.") else "4.1.1"  # works with later patch versions of Spark
    packages = [f"org.apache.spark:spark-avro_2.13:{avro}", *(SEDONA if pyspark.__version__.startswith("4.0.") else ())]
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("data-skip tests")
        .config("spark.jars.packages", ",".join(packages))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.files.minPartitionNum", "1")  # one task for the few small files of a table
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.data_skip.join.maxSeconds", "60")
        .config("spark.data_skip.join.leastBytes", "0")  # tables of tests are small
        .config("spark.data_skip.python.maxSeconds", "60")  # a machine under load may stop a test for some seconds
        # Plain Spark is the oracle, and with its own pushdown it loses rows (TRAPS A5, A17, I18).
        .config("spark.sql.parquet.filterPushdown", "false")
        .config("spark.sql.orc.filterPushdown", "false")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")  # else three more calls of the JVM for each method of a Column
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraClassPath", HADOOP_DEFAULTS)
        .config("spark.python.daemon.module", "tests.python_workers")  # starts tasks five times as fast
        .config("spark.sql.codegen.wholeStage", "false")  # compiles for longer than a query of few rows takes; expressions are compiled
        .config("spark.sql.ui.explainMode", "simple")  # a plan is written for the UI with each query: the other modes go through it thrice
        .config("spark.sql.ui.retainedExecutions", "10")  # plans of a thousand queries, else
        .config("spark.driver.extraJavaOptions", " ".join(JAVA_OPTIONS))
    )
    with alone(tmp_path_factory):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("SQLQueryContextLogger").disabled = True  # what Spark refuses is expected, and its stack traces are long
    session.sparkContext._python_includes.clear()  # the packages' jars, in which Python would look for modules: see python_workers.py
    remember_names()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def skipping(spark: SparkSession) -> data_skip.Skipping:
    return data_skip.enable(spark)


@pytest.fixture
def lake(spark: SparkSession, skipping: data_skip.Skipping, tmp_path: Path) -> Iterator[Lake]:
    """An empty folder for a table, with what tests do with it."""
    # A test before may have left another one, by whose settings `skipping.decide` would be, which is called outside of all queries.
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)  # type: ignore[union-attr]
    yield Lake(spark, skipping, tmp_path / "table")
    spark.catalog.dropTempView("t")
