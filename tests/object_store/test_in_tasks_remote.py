"""Records on S3 that take more memory than there is for them: tasks read them, with what Hadoop has been told."""

from __future__ import annotations

import pytest

from data_skip import MinMax, ValueList
from tests.object_store.table import Bucket
from tests.support import settings_of
from tests.test_in_tasks import SMALL, ran_by, small  # noqa: F401

pytestmark = [pytest.mark.long, pytest.mark.object_store]


@pytest.mark.usefixtures("small")
def test_queries_are_the_same_by_tasks(bucket: Bucket) -> None:
    bucket.numbers()
    bucket.index(MinMax("x"), ValueList("s"))
    with settings_of(bucket.spark, {**SMALL, "spark.data_skip.decideSeconds": "60"}):
        with bucket.server.counted() as asked:
            report = bucket.check("x = 15", read=1).scans[-1]
        assert "tasks in" in ran_by(report), report
        assert any(request.of_index and request.what == "GET" for request in asked if request.whose == "deltalake")
        assert "tasks in" in ran_by(bucket.check("s = 'b17'", read=1).scans[-1])
