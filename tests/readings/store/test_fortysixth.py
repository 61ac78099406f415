"""The forty-sixth reading: what was open before is believed although what was opened since was not looked at to its end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from data_skip.store import DeltaStore, StoreError, opened
from tests.test_store import column, key, records


def test_a_look_that_is_interrupted_leaves_nothing_to_believe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore(f"file:{tmp_path}/index")
    store.append([key("a")], [1], {column("x"): records(1)})
    first = store.snapshot()
    assert first is not None
    shutil.rmtree(tmp_path / "index")
    DeltaStore(store.uri).append([key("b")], [1], {column("x"): records(1)})

    def interrupted(_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(opened, "refuse_table", interrupted)
        store.snapshot()
    second = store.snapshot()
    assert second is not None
    assert first.version == second.version
    assert [file.path for file in second.files] == ["b"]


def test_folders_in_the_log_are_walked_by_deltalake(tmp_path: Path) -> None:
    """It took no commit from there, but followed links, all over the file system."""
    store = DeltaStore(f"file:{tmp_path}/index")
    store.append([key("a")], [1], {column("x"): records(1)})
    log = tmp_path / "index" / "_delta_log"
    (log / "some" / "@eaDir").mkdir(parents=True)  # as some file systems make them
    shutil.copy(log / f"{1:020}.json", log / "some" / f"{2:020}.json")
    again = DeltaStore(store.uri).snapshot()
    assert again is not None
    assert (again.version, again.count) == (1, 1)
    (log / "some" / "@eaDir" / "link").symlink_to("/")
    with pytest.raises(StoreError, match="is a link"):
        DeltaStore(store.uri).snapshot()
