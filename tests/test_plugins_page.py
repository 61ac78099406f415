"""docs/plugins.md: its blocks run as they stand, and print what stands below them."""

from __future__ import annotations

import re
import sys
from copy import copy
from pathlib import Path
from types import ModuleType

import pytest

from data_skip import Skipping

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text("utf-8")


def test_the_page_runs(skipping: Skipping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    blocks = [(kind, text) for kind, text in blocks if kind in ("python", "")]
    assert [kind for kind, _ in blocks] == ["python", "", "python", "python", "python", ""]
    (show, shown, index, filter_, check, checked) = (text for _, text in blocks)
    (tmp_path / "plugin_of_the_page.py").write_text(f"{index}\n\n{filter_}", "utf-8")
    for name in ("_modules", "knowledge"):  # the session forgets the index again: other tests have one of that name
        monkeypatch.setattr(skipping.catalog, name, copy(getattr(skipping.catalog, name)))
    monkeypatch.syspath_prepend(str(tmp_path))
    skipping.spark.sparkContext.addPyFile(str(tmp_path / "plugin_of_the_page.py"))
    module: ModuleType = __import__("plugin_of_the_page")
    names = {"spark": skipping.spark, "MaxLength": module.MaxLength}
    try:
        for code, printed in ((show, shown), (check, checked)):
            exec(compile(code, "docs/plugins.md", "exec"), names)
            assert capsys.readouterr().out == printed
    finally:
        del sys.modules["plugin_of_the_page"]
