"""A stranger's package with an index of its own: installed, found by its entry point, used in a query."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "core" / "data_skip" / "cli" / "example_plugin"  # what `data-skip new-plugin` writes


def build(project: Path, folder: Path) -> Path:
    """The wheel of a project. By hand: its build backend would have to come from the network."""
    description = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = description["name"].replace("-", "_"), description["version"]
    info = f"{name}-{version}.dist-info"
    entries = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entry.items()) for group, entry in description["entry-points"].items()]
    files = {f"{name}/{path.name}": path.read_bytes() for path in (project / name).glob("*.py")}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {description['name']}\nVersion: {version}\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = "\n".join(entries).encode()
    digests = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()}
    files[f"{info}/RECORD"] = "".join(f"{path},sha256={digest},{len(files[path])}\n" for path, digest in digests.items()).encode()
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process saw in which the package is installed."""
    folder = tmp_path_factory.mktemp("third_party")
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(site), str(build(PROJECT, folder))], check=True)
    root = Path(__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-m", "tests.third_party.use_it", str(folder / "table")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return {**json.loads(run.stdout.strip().splitlines()[-1]), "site": str(site)}


def test_is_found_by_its_entry_point(seen: dict[str, Any]) -> None:
    assert seen["installed_at"].startswith(seen["site"])
    assert seen["known_by_entry_point"]


def test_skips_files_of_a_query(seen: dict[str, Any]) -> None:
    assert seen["rows"] == seen["rows_without"] == ["Llanfairpwllgwyngyll"]
    assert seen["files_read"] == 1


def test_passes_check_index(seen: dict[str, Any]) -> None:
    assert seen["skipped"]["length(city) > 8"] > 0
    assert seen["skipped"]["NOT (length(city) > 8)"] == 0


def test_a_stopped_session_keeps_no_snapshots(seen: dict[str, Any]) -> None:
    before, after = seen["snapshots"]
    assert before > 0
    assert after == 0


def test_is_at_most_thirty_lines() -> None:
    assert len((PROJECT / "max_length" / "__init__.py").read_text("utf-8").splitlines()) <= 30
