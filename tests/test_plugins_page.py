"""docs/plugins.md: its blocks run as they stand, and print what stands below them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text("utf-8")


def test_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(python|)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "", "python", "python", "python", ""]
    (show, shown, index, filter_, check, checked) = (text for _, text in blocks)
    (tmp_path / "plugin_of_the_page.py").write_text(f"{index}\n\n{filter_}", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    spark.sparkContext.addPyFile(str(tmp_path / "plugin_of_the_page.py"))
    module: ModuleType = __import__("plugin_of_the_page")
    names = {"spark": spark, "MaxLength": module.MaxLength}
    try:
        for code, printed in ((show, shown), (check, checked)):
            exec(compile(code, "docs/plugins.md", "exec"), names)
            assert capsys.readouterr().out == printed
    finally:
        del sys.modules["plugin_of_the_page"]
