"""What a page's blocks are, and when what they print is what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.blocks import blocks, is_printed

PAGE = """
```python
print(1)
```
```
1
```

<!-- not run: reason -->
```bash
rm -rf /
```

- in a list

  ```sql
  SELECT 1
  ```

```toml
x = 1
```
"""


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, "utf-8")
    return path


def test_blocks_in_their_order(tmp_path: Path) -> None:
    found = blocks(page(tmp_path, PAGE))
    assert [(block.language, block.not_run, block.printed) for block in found] == [
        ("python", "", "1\n"),
        ("bash", "reason", None),
        ("sql", "", None),
    ]
    assert found[2].code == "SELECT 1\n" and str(found[0]) == "page.md, line 2"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```py\nprint(1)\n```\n", "'py' are neither run nor only shown"),
        ("```python\nprint(1)\n```\n\nIt prints\n\n```\n1\n```\n", "call it text"),
    ],
)
def test_what_would_silently_not_be_run(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        blocks(page(tmp_path, text))


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n", "a\nb\n", False),
        ("done in 12.3 ms, 4.0 KiB", "done in 1 ms, 17.2 MiB", True),
        ("3 files", "4 files", False),
        ("at /x/1/y now", "at ...y now", True),
        ("at /x/1/z now", "at ...y now", False),
        ("a |  b\n\n", "a | b", True),
    ],
)
def test_what_is_shown(printed: str, shown: str, same: bool) -> None:
    assert is_printed(printed, shown) is same
