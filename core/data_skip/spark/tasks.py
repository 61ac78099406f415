"""Spark's jobs: how far it is with those that run now, and by what they are ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from data_skip.errors import DataSkipError
from data_skip.spark.jvm import refuse_stopped

_TAGS = "spark.job.tags"  # the property of a thread that SparkContext keeps them in


@contextmanager
def jobs_of(spark: SparkSession) -> Iterator[None]:
    """Within, all jobs that this thread starts have the tags of a session's queries, by which interruptAll and interruptTag end them.

    Spark gives them to queries alone: not to jobs of RDDs, as those that look for columns, nor, but for those of the user, to queries of a
    copy of the session. DataSkipError for a session that is stopped, or is meanwhile.
    """
    refuse_stopped(spark)
    context, before = spark.sparkContext, spark.sparkContext.getLocalProperty(_TAGS)
    try:
        session = spark._jsparkSession
        own = [session.sessionJobTag(), session.managedJobTags().get().values().mkString(",")]
        context.setLocalProperty(_TAGS, ",".join(filter(None, [before, *own])))
    except Py4JError:  # of a Spark that has others
        pass
    try:
        yield
    except Exception as error:  # as an AssertionError of PySpark
        if context._jsc is None or context._jsc.sc().isStopped():
            kept = "of what was committed nothing is lost, refresh() goes on"
            raise DataSkipError(f"this SparkSession was stopped meanwhile; {kept}") from error
        raise
    finally:
        with suppress(Py4JError, AttributeError):  # it was stopped meanwhile
            context._jsc.setLocalProperty(_TAGS, before)


def tasks_done(tracker: StatusTracker) -> tuple[int, int]:
    """How many tasks of Spark's running jobs are done, and of how many; (0, 0) where none runs, or Spark is about to stop."""
    completed = total = 0
    try:
        for job in tracker.getActiveJobsIds():
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                if found := tracker.getStageInfo(stage):
                    completed, total = completed + found.numCompletedTasks, total + found.numTasks
    except Exception:
        return 0, 0
    return completed, total
