"""An S3 of its own for each worker, with what commands start from; without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.commands import without_environment
from tests.faults.matrix import Matrix
from tests.faults.server import Process


@pytest.fixture(scope="session")
def matrix() -> Iterator[Matrix]:
    with pytest.MonkeyPatch.context() as patched:
        without_environment(patched.delenv)
        made = Matrix()
        yield made
        made.server.stop()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Process]:
    made = Process("nursery")
    yield made
    made.stop()
