"""docs/command.md: its commands run as they stand, in this process's session, and it names every command and every key."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from data_skip import Skipping
from data_skip.cli.app import app
from sample_data.weather import write_weather
from tests.support import aged

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command.md").read_text("utf-8")


def run(line: str) -> str:
    """What a line of a shell prints: the command in this process, what is behind a pipe in a shell."""
    command, _, rest = line.partition(" | ")
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if not rest:
        return result.stdout
    return subprocess.run(["sh", "-c", rest], input=result.stdout, capture_output=True, text=True, check=True).stdout


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


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
def test_the_commands_run(data: Path) -> None:
    said = {}
    for block in blocks("bash"):
        for line in block.strip().splitlines():
            said[line] = run(line.replace("data/", f"{data}/"))
    of = {line.split()[1]: text for line, text in said.items()}
    assert "files read" in of["query"] and "% skipped" in of["query"]
    assert "created" in of["history"] and of["drop"].endswith(": dropped Suffix(city)\n")
    assert "ok       workers" in of["doctor"] and of["describe"] == "0 files to go\n"
    for command in re.findall(r"/opt/lake/.venv/bin/(data-skip [^\"]*?)(?: >/dev/null|\",)", PAGE):
        run(re.sub(r"/data/weather|s3a://lake/weather", shlex.quote(f"{data}/my weather"), command))
    for block in blocks("python"):
        compile(block, "command.md", "exec")


def test_all_commands_are_there() -> None:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    assert re.findall(r"^\| `([\w-]+)[ `\[]", PAGE.split("## Ten minutes")[0], re.MULTILINE) == list(commands)
    assert [line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "data-skip ensure" in line]


def test_keys_are_as_they_are_told(data: Path) -> None:
    """Those of commands that cost nothing; tests/cli/test_commands.py uses the others."""
    table = shlex.quote(str(data / "httpd"))
    for line in (f"describe {table}", f"history {table}", f"compact {table}", f"vacuum {table}", f"files {table} --format text"):
        told = json.loads(run(f"data-skip {line} --json"))
        (row,) = re.findall(rf"^\| `{line.split()[0]}` \| (.*?) \|$", PAGE, re.MULTILINE)
        assert set(told) <= set(re.findall(r"`(\w+)`", row)), line
