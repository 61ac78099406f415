"""Where the Python of workers is asked whether it has data_skip: as Spark starts it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from pyspark import SparkFiles

from data_skip.spark import workers
from tests.support import Lake


def python(folder: Path) -> Path:
    """A script that starts this Python."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def test_what_is_sent_is_found_before_all_else(lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where a Python of workers is asked whether it has data_skip, which may be what is sent."""
    context, asked = lake.spark.sparkContext, []
    monkeypatch.setattr(context, "_python_includes", ["first.zip", "second.zip"])
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path)))
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["env"]) or run(*given, **named))
    assert workers.python_without_data_skip(lake.spark) is None
    files = SparkFiles.getRootDirectory()
    sent = [f"{files}/second.zip", f"{files}/first.zip", files]
    assert asked[0]["PYTHONPATH"].split(os.pathsep)[:3] == sent


def test_where_a_python_of_workers_looks_for_data_skip(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the JVM, not in that of the driver."""
    context, asked = lake.spark.sparkContext, []
    folder = os.getcwd()
    monkeypatch.chdir(tmp_path)
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["cwd"]) or run(*given, **named))
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path)))
    workers.python_without_data_skip(lake.spark)
    assert asked == [folder]
