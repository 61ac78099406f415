"""docs/production.md names every setting of data-skip that the code reads, with its default."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text("utf-8")


def test_every_setting_is_there_with_its_default() -> None:
    sources = [path.read_text("utf-8") for kind in ("py", "java") for path in (ROOT / "core" / "data_skip").rglob(f"*.{kind}")]
    named = {
        key for source in sources for key in re.findall(r'"(spark\.data_skip\.[A-Za-z.]*[A-Za-z]|spark\.data_skip\.storage\.)"', source)
    }
    java = (ROOT / "core" / "data_skip" / "spark" / "UserSettings.java").read_text("utf-8")
    constants = dict(re.findall(r'String (\w+) = "(spark\.data_skip\.[\w.]+)";', java))
    defaults = dict(re.findall(r'\{"(spark\.data_skip\.[\w.]+)", "(\w+)"\}', java))
    defaults |= {constants[name]: default for name, default in re.findall(r'read\(conf, (\w+), "(\w*)"\)', java) if name in constants}
    rows = dict(re.findall(r"^\| `(spark\.data_skip\.[\w.]+)` \| (?:`(\w+)`)? ?\|", PAGE, re.MULTILINE))
    assert rows.pop("spark.data_skip.storage.X") == ""
    assert named - {"spark.data_skip.storage."} == set(defaults)
    assert rows == defaults
