"""Every block of Python, SQL and shell of the README and of docs/ runs as it stands, and prints what the page shows."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import data_skip
from sample_data.countries import write_countries
from sample_data.weather import write_weather
from tests.pages.blocks import blocks, is_printed
from tests.pages.running import run
from tests.support import aged

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

NOT_RUN = {
    "installs": "installs packages: what it installs is what these tests run with",
    "cluster": "needs a cluster on several machines; tests/smoke runs one on this",
    "make": "takes minutes, and runs these tests among others",
    "new-plugin": "installs a package, too: tests/cli/test_new_plugin.py runs it",
    "airflow": "needs Airflow, and a table on S3",
}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """One of its own, with its own views, functions, and kinds of index."""
    session = spark.newSession()
    _activate(session)
    yield session
    data_skip.disable(session)
    _activate(spark)


def _activate(session: SparkSession) -> None:
    SparkSession._activeSession = SparkSession._instantiatedSession = session  # the second is that of getOrCreate()
    session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)


@pytest.fixture
def folder(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a page's relative paths begin, for Python, Spark and shells."""
    monkeypatch.chdir(tmp_path)
    jvm = session._jvm
    files = jvm.org.apache.hadoop.fs.FileSystem.getLocal(session._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(jvm.org.apache.hadoop.fs.Path(str(tmp_path)))
    yield tmp_path
    files.setWorkingDirectory(before)


def _httpd(folder: Path) -> None:
    folder.mkdir(parents=True)
    log = gzip.decompress((ROOT / "sample_data" / "apache_access.log.gz").read_bytes()).splitlines(keepends=True)
    for i in range(8):
        (folder / f"access-{i}.log").write_bytes(b"".join(log[100 * i : 100 * (i + 1)]))


DATA: dict[str, Callable[[Path], object]] = {
    "data/weather": lambda folder: write_weather(folder, count=4),
    "data/my weather": lambda folder: write_weather(folder, count=2),
    "data/countries": write_countries,
    "data/httpd": _httpd,
}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(not block.not_run for block in blocks(page))],
    ids=lambda page: str(page.relative_to(ROOT).with_suffix("")),
)
def test_the_page_runs(
    page: Path, session: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text("utf-8")
    for name, write in DATA.items():
        if name in text:
            write(folder / name)
    for path in folder.rglob("*.*"):
        aged(path)
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    prompt = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", prompt)  # as for whoever types it: so its classes cross to workers
    vars(prompt).update(spark=session, skipping=data_skip.enable(session))
    others = []
    for block in blocks(page):
        if block.not_run:
            continue
        capsys.readouterr()
        run(block, prompt, session)
        printed = capsys.readouterr().out.replace(str(folder), "/lake")
        if block.printed is not None and not is_printed(printed, block.printed):
            others.append(f"{block} prints\n{printed}")
    assert not others, "\n".join(others)


def test_what_is_not_run() -> None:
    left = [block.not_run for page in PAGES for block in blocks(page) if block.not_run]
    assert set(left) == set(NOT_RUN)
