"""Runs a block of a page, in this process and its session."""

from __future__ import annotations

import re
import shlex
import subprocess
from types import ModuleType

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from data_skip.cli.app import app
from tests.pages.blocks import Block


def run(block: Block, prompt: ModuleType, spark: SparkSession) -> None:
    """Runs a block, which prints what it does."""
    if block.language == "python":
        exec(compile("\n" * block.line + block.code, str(block.page), "exec"), vars(prompt))
    elif block.language == "sql":
        for statement in re.split(r";[ \t]*(?:--.*)?$", block.code, flags=re.MULTILINE):
            if statement.strip():
                spark.sql(statement).show(truncate=False)
    elif block.language == "bash":
        for line in block.code.replace("\\\n", " ").splitlines():
            if line.strip():
                print(shell(line), end="")
    else:
        cell(block.code, prompt)


def cell(code: str, prompt: ModuleType) -> None:
    """Runs a cell of a notebook, which shows what it gives."""
    from IPython.core.interactiveshell import InteractiveShell

    interactive = InteractiveShell.instance(user_module=prompt, user_ns=vars(prompt))
    try:
        interactive.run_line_magic("load_ext", "data_skip")
        interactive.run_cell(code).raise_error()
    finally:
        InteractiveShell.clear_instance()


def shell(line: str) -> str:
    """What a line of a shell prints: `data-skip` in this process, what is behind a pipe, and all else, in a shell."""
    if not line.startswith("data-skip "):
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    command, _, rest = line.partition(" | ")
    result = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if not rest:
        return result.stdout
    return subprocess.run(["bash", "-c", rest], input=result.stdout, capture_output=True, text=True, check=True).stdout
