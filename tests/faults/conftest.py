"""An S3 of its own for each worker, with what commands start from; without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.commands import without_environment
from tests.faults.matrix import Matrix
from tests.faults.server import Process


@contextmanager
def a_matrix(**configuration: str) -> Iterator[Matrix]:
    with pytest.MonkeyPatch.context() as patched:
        without_environment(patched.delenv)
        made = Matrix({f"delta.{name}": value for name, value in configuration.items()})
        yield made
        made.server.stop()


@pytest.fixture(scope="session")
def matrix() -> Iterator[Matrix]:
    with a_matrix() as made:
        yield made


@pytest.fixture(scope="session")
def swept() -> Iterator[Matrix]:
    """Of tables that write a checkpoint with each commit, and of which nothing is kept that is not needed."""
    with a_matrix(checkpointInterval="1", deletedFileRetentionDuration="interval 0 seconds") as made:
        yield made


@pytest.fixture(scope="session")
def nursery() -> Iterator[Process]:
    made = Process("nursery")
    yield made
    made.stop()
