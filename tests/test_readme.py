"""The README's page of use runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from data_skip import Skipping
from sample_data.weather import write_weather
from tests.support import aged

README = Path(__file__).parent.parent / "README.md"


def test_the_page_of_use_runs(
    skipping: Skipping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)[0]
    write_weather(tmp_path / "data" / "weather", count=4)
    for path in (tmp_path / "data" / "weather").rglob("*.parquet"):
        aged(path)
    monkeypatch.chdir(tmp_path)
    code = block.replace('"data/weather"', f'"{tmp_path}/data/weather"').replace("`data/weather`", f"`{tmp_path}/data/weather`")
    exec(compile(code, str(README), "exec"), {"spark": skipping.spark})
    (scan,) = skipping.report().scans
    assert 0 < scan.files_read < scan.files_total
    assert "MinMax(temp)" in capsys.readouterr().out
