"""docs/command.md: it names every command and every key, and what it says to schedulers runs; tests/pages runs its blocks."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from data_skip import Skipping
from data_skip.cli.app import app
from sample_data.weather import write_weather
from tests.pages.running import shell
from tests.support import aged

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command.md").read_text("utf-8")


@pytest.fixture(scope="module")
def data(skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "data"
    write_weather(folder / "my weather", count=2)
    (folder / "httpd").mkdir()
    log = gzip.decompress((ROOT / "sample_data" / "apache_access.log.gz").read_bytes()).splitlines(keepends=True)
    (folder / "httpd" / "access.log").write_bytes(b"".join(log[:200]))
    for path in folder.rglob("*.*"):
        aged(path)
    return folder


@pytest.mark.long
def test_the_commands_of_schedulers_run(data: Path) -> None:
    commands = re.findall(r"/opt/lake/.venv/bin/(data-skip [^\"]*?)(?: >/dev/null|\",)", PAGE)
    assert len(commands) == 3
    for command in commands:
        shell(re.sub(r"/data/weather|s3a://lake/weather", shlex.quote(f"{data}/my weather"), command))


def test_all_commands_are_there() -> None:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    assert re.findall(r"^\| `([\w-]+)[ `\[]", PAGE.split("## Ten minutes")[0], re.MULTILINE) == list(commands)
    assert [line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "data-skip ensure" in line]


def test_keys_are_as_they_are_told(data: Path) -> None:
    """Those of commands that cost nothing; tests/cli/test_commands.py uses the others."""
    table = shlex.quote(str(data / "httpd"))
    for line in (f"describe {table}", f"history {table}", f"compact {table}", f"vacuum {table}", f"files {table} --format text"):
        told = json.loads(shell(f"data-skip {line} --json"))
        (row,) = re.findall(rf"^\| `{line.split()[0]}` \| (.*?) \|$", PAGE, re.MULTILINE)
        assert set(told) <= set(re.findall(r"`(\w+)`", row)), line
