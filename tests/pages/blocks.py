"""The blocks of a page in Markdown, and what stands below them.

What a reader does not see:

- Blocks of `python`, `sql`, `bash` and `ipython` are run in their order, those of a page in one namespace, at one prompt.
- A block without a language, just below one of these, is what that prints. `...` in it stands for anything; so does each time and size.
- `<!-- not run: WORD -->` above a block: it cannot be run here. The reasons are test_pages.NOT_RUN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

RUN = ("python", "sql", "bash", "ipython")
SHOWN = ("text", "toml", "yaml", "cron", "properties", "dockerfile")  # which nobody types into a prompt
_NOT_RUN = re.compile(r"<!-- not run: (\S+) -->")
_VARY = re.compile(r"\d[\d,.]* (?:ms|s|B|KiB|MiB)\b")


@dataclass
class Block:
    """One block that is run, or is said not to be."""

    page: Path
    line: int
    language: str
    code: str
    not_run: str = ""  # the word of its reason
    printed: str | None = None  # None: the page does not show it

    def __str__(self) -> str:
        return f"{self.page.name}, line {self.line}"


def blocks(page: Path) -> list[Block]:
    """Those of a page. ValueError for a block in a language that is neither run nor only shown, and for output of nothing."""
    found: list[Block] = []
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "fence":
            continue
        assert token.map is not None
        where, language = f"{page.name}, line {token.map[0] + 1}", token.info.split(" ")[0]
        if language in RUN:
            mark = _NOT_RUN.match(before.content) if before is not None and before.type == "html_block" else None
            found.append(Block(page, token.map[0] + 1, language, token.content, mark[1] if mark else ""))
        elif not language and found:
            if before is None or before.type != "fence" or before.info not in RUN:
                raise ValueError(f"{where}: a block without a language is what the block just above prints; this is neither: call it text")
            found[-1].printed = token.content
        elif language and language not in SHOWN:
            raise ValueError(f"{where}: blocks of {language!r} are neither run nor only shown")
    return found


def is_printed(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed."""
    pattern = re.escape(_plain(shown)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    lines = (" ".join(_VARY.sub("#", line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
