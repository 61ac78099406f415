"""How far Spark is with the jobs that run now."""

from __future__ import annotations

from pyspark import StatusTracker


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
