"""What `make dist` has built: all that belongs to it and nothing else; installed by itself it is complete, and works."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.pages.blocks import blocks, is_printed

pytestmark = pytest.mark.dist
ROOT = Path(__file__).parents[1]
PACKAGES = {"data_skip", "geo_skip", "log_skip"}


@pytest.fixture(scope="module")
def wheel() -> Path:
    (built,) = (ROOT / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel, and what that asks for. It is outside of the repository."""
    folder = tmp_path_factory.mktemp("environment")
    assert ROOT not in folder.parents
    venv.create(folder, with_pip=True)
    java = "" if shutil.which("java") or os.environ.get("JAVA_HOME") else "[java]"
    told(folder / "bin", "python", "-m", "pip", "install", "-q", f"{wheel}{java}", "pytest", "-c", str(ROOT / "constraints.txt"))
    return folder / "bin"


def told(programs: Path, program: str, *arguments: str, cwd: Path | None = None) -> str:
    """What a program of an environment prints, where nothing of this repository is on the path."""
    names = ("PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    run = subprocess.run(
        [str(programs / program), *arguments], cwd=cwd or programs, env=environment, capture_output=True, text=True, timeout=1200
    )
    assert run.returncode == 0, f"{program} {' '.join(arguments)}\n{run.stdout}\n{run.stderr}"
    return run.stdout


def test_what_it_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (message_from_bytes(archive.read(name)) for name in names if name.endswith(".dist-info/METADATA"))
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES
    sources = [path for package in (ROOT / "core/data_skip", ROOT / "geo_skip", ROOT / "log_skip") for path in package.rglob("*")]
    expected = {
        path.relative_to(ROOT / "core" if "core" in path.relative_to(ROOT).parts else ROOT).as_posix() for path in sources if path.is_file()
    }
    assert {name for name in names if ".dist-info/" not in name} == {name for name in expected if "__pycache__" not in name}
    assert metadata["Description-Content-Type"] == "text/markdown" and metadata["License-Expression"] == "Apache-2.0"
    assert {"java", "geo", "fast", "notebook", "plots"} <= set(metadata.get_all("Provides-Extra") or ())


def test_the_sdist_holds_what_it_is_built_and_tested_with() -> None:
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    assert {name for name in tracked if name and not name.startswith(".")} <= names
    assert not any(name.startswith((".venv", "dist/", ".git/")) for name in names)


def test_what_it_asks_for_fits_together(installed: Path) -> None:
    assert told(installed, "python", "-m", "pip", "check") == "No broken requirements found.\n"


def test_an_import_brings_little_along(installed: Path) -> None:
    heavy = ("pandas", "shapely", "matplotlib", "pyspark", "pyarrow", "numpy", "deltalake", "rich")
    code = f"import sys, data_skip; print([name for name in {heavy} if name in sys.modules])"
    assert told(installed, "python", "-c", code) == "[]\n"


def test_the_doctor_is_content(installed: Path, tmp_path: Path) -> None:
    said = told(installed, "data-skip", "doctor", cwd=tmp_path)
    assert "failed" not in said and "geo_min_max" in said and "ok       workers" in said


def test_the_tutorial(installed: Path, tmp_path: Path) -> None:
    """Its Python as a program of its own, and what that prints."""
    end = "-- the end of a block --"
    read = [block for block in blocks(ROOT / "docs" / "tutorial.md") if block.language == "python" and not block.not_run]
    (tmp_path / "tutorial.py").write_text("".join(f"{block.code}\nprint({end!r})\n" for block in read), "utf-8")
    printed = told(installed, "python", "tutorial.py", cwd=tmp_path).replace(str(tmp_path), "/lake").split(f"{end}\n")
    assert len(printed) == len(read) + 1
    for block, text in zip(read, printed, strict=False):
        assert block.printed is None or is_printed(text, block.printed), f"{block} prints\n{text}"


def test_a_new_plugin_installs_and_passes_its_tests(installed: Path, tmp_path: Path) -> None:
    told(installed, "data-skip", "new-plugin", "city-names", cwd=tmp_path)
    told(installed, "python", "-m", "pip", "install", "-q", "-e", "./city-names[test]", cwd=tmp_path)
    assert "3 passed" in told(installed, "python", "-m", "pytest", "-q", cwd=tmp_path / "city-names")
    told(installed, "python", "-m", "pip", "uninstall", "-q", "-y", "city-names", cwd=tmp_path)
