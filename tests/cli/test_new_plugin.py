"""`data-skip new-plugin`: what it writes is the plugin of docs/plugins.md under another name, and it passes its tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from data_skip.cli.app import app
from data_skip.cli.new_plugin import write_plugin

ROOT = Path(__file__).parents[2]


def test_all_of_it_has_the_name_that_was_given(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["new-plugin", "City-names", "--folder", str(tmp_path)])
    assert result.exit_code == 0, result.output
    folder = tmp_path / "City-names"
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert files == ["README.md", "city_names/__init__.py", "pyproject.toml", "tests/conftest.py", "tests/test_city_names.py"]
    assert sorted(result.stdout.split()) == [str(folder / file) for file in files]
    assert f"now: cd {folder} && pip install" in result.stderr
    text = "".join((folder / file).read_text("utf-8") for file in files)
    assert "class CityNames(Index)" in text and 'city_names = "city_names"' in text and 'name = "city-names"' in text
    assert not any(name in text for name in ("max_length", "MaxLength", "max-length"))


def test_it_is_the_plugin_of_the_page(tmp_path: Path) -> None:
    write_plugin("max-length", tmp_path)
    module = (tmp_path / "max-length" / "max_length" / "__init__.py").read_text("utf-8")
    page = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    index, filter_ = module.index("class MaxLength"), module.index("@filters.on")
    assert module[index:filter_].strip() in page
    assert module[filter_:].strip() in page
    assert len(module.splitlines()) <= 30


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("7-cities", "is no name of a package"),
        ("../cities", "is no name of a package"),
        ("class", "is no name of a package"),
        ("none", "is no name of a package"),  # of which the class would be None
        ("call", "calls something else Call"),
        ("spark", "calls something else spark"),
        ("conftest", "calls something else conftest"),
        ("json", "there is a module json"),
        ("geo-skip", "there is a module geo_skip"),
        ("min-max", "there is an index MinMax"),
        ("there", "exists; remove it"),
    ],
)
def test_what_is_no_name(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    result = CliRunner().invoke(app, ["new-plugin", name, "--folder", str(tmp_path)])
    assert result.exit_code == 1
    assert why in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.long
def test_it_passes_its_tests(tmp_path: Path) -> None:
    write_plugin("name-length", tmp_path)
    project = tmp_path / "name-length"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stdout
    assert "3 passed" in run.stdout
