"""A query whose index is damaged in any way, or lies in a folder that may not be written: rows are the same, and it is said why."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.faults.test_damage import damages
from tests.support import Lake

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("spark")]


def test_every_damage(lake: Lake, tmp_path: Path) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [10 * i], "s": [f"s{i}"]})
    table = lake.index(MinMax("x"))
    table.create_index(ValueList("s"))
    lake.file("3.parquet", {"x": [30], "s": ["s3"]})
    table.refresh()
    place = Path(table.describe().location)
    good = tmp_path / "good"
    shutil.copytree(place, good)
    everything, outcomes = [f"{i}.parquet" for i in range(4)], {"skipped": 0, "read all": 0}
    lake.view()
    lake.check("x = 10 AND s <> 's2'", read=["1.parquet"])
    for what, damage in damages(good):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        shutil.copytree(good, place)
        damage(place)
        lake.skipping.catalog._stores.clear()  # as a new session finds it
        scan = lake.check("x = 10 AND s <> 's2'", errors=True)
        skipped = scan.files_read < len(everything)
        outcomes["skipped" if skipped else "read all"] += 1
        if any(word in what for word in ("cut", "deleted", "random", "later layout", "deep", "records are gone")):
            assert skipped or scan.errors, (what, scan)
        assert all(str(place) in error for error in scan.errors), (what, scan.errors)
    print(outcomes)


def test_folder_that_may_not_be_written(lake: Lake) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(lake.folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    try:
        lake.file("0.parquet", {"x": [0]})
        lake.file("1.parquet", {"x": [10]})
        table = lake.index(MinMax("x"))
        lake.file("2.parquet", {"x": [20]})
        subprocess.run(["mount", "-o", "remount,ro", str(lake.folder)], check=True)
        for act in (table.refresh, lambda: table.drop_index(MinMax("x")), lambda: table.create_index(ValueList("x"))):
            with pytest.raises(DataSkipError, match=r"cannot be written.*index_root"):
                act()
        lake.view()
        lake.check("x > 5", read=["1.parquet", "2.parquet"])
    finally:
        subprocess.run(["umount", str(lake.folder)], check=True)
