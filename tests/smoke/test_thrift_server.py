"""A Thrift server that Python has started, whose session is that of all connections: docs/sql.md, "Sessions"."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.smoke.on_thrift_server import FILES
from tests.smoke.test_cluster import said

pytestmark = pytest.mark.long


def test_connections_skip_as_the_session_does(tmp_path: Path) -> None:
    """And their procedures and table functions are its own."""
    told = said("on_thrift_server", "local[2]", tmp_path / "lake")
    assert told["created"][0][2] == str(FILES)
    assert told["counted"] == told["counted without"] == [["11"]]
    assert told["reported"] == [["1", str(FILES)]]
    assert told["described"] == [["MinMax(id)", str(FILES)]]
