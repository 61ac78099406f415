"""HTML for notebooks: the one place in which it is written. Text is escaped unless it is `Html`; there are no scripts.

Colours are those of the page, and of its own but one that is seen on light and on dark; nothing is wider than 700 pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_NUMBER = re.compile(r"-?[\d,.]+(e[-+]?\d+)?( ?([KMGT]i)?B| s|%)?")
_LONG = 160  # characters that are shown of long text
_STYLE = """
.data-skip { max-width: 700px; color: inherit; background: none; line-height: 1.4; overflow-wrap: anywhere; --fill: #2f78b7 }
@media (prefers-color-scheme: dark) { .data-skip { --fill: #5fa5dd } }
.data-skip table { width: 100%; border-collapse: collapse; margin: .4em 0; font-size: 90%; color: inherit; table-layout: auto }
.data-skip tr, .data-skip thead { background: none; border: none }
.data-skip th, .data-skip td { text-align: left; vertical-align: top; padding: .2em .8em .2em 0; white-space: normal; color: inherit }
.data-skip th { font-weight: 600; border-bottom: 1px solid rgba(128, 128, 128, .5) }
.data-skip td { border-bottom: 1px solid rgba(128, 128, 128, .2) }
.data-skip td.number, .data-skip th.number { text-align: right; white-space: nowrap }
.data-skip code { font-size: 95%; color: inherit; background: none; padding: 0; white-space: pre-wrap }
.data-skip p, .data-skip ul, .data-skip details { margin: .3em 0 }
.data-skip summary { cursor: pointer }
.data-skip td p, .data-skip summary p { display: inline }
.data-skip .title { font-weight: 600 }
.data-skip .bar { display: inline-block; width: 8em; height: .7em; background: rgba(128, 128, 128, .3); border-radius: .2em }
.data-skip .bar span { display: block; height: 100%; background: var(--fill); border-radius: .2em }
.data-skip svg { display: block; width: 100%; height: auto; margin: .6em 0; font-family: "DejaVu Sans", Verdana, sans-serif }
""".strip()
_PAGE = """
:root { color-scheme: light dark }
body { background: Canvas; color: CanvasText; font: 15px system-ui, sans-serif; max-width: 700px; margin: 0 auto; padding: 12px 16px }
h1 { font-size: 130%; font-weight: 600 }
""".strip()


class Html(str):
    """Text that is HTML."""


def safe(text: object) -> Html:
    """As it is where it is HTML; else escaped, so that it shows as it is written."""
    return text if isinstance(text, Html) else Html(escape(str(text)))


def joined(parts: Iterable[object]) -> Html:
    """One after the other."""
    return Html("".join(map(safe, parts)))


def shown(*parts: object) -> str:
    """What a notebook shows of an object."""
    # Thrice: what Jupyter says of all tables is as specific as a class or two.
    style = _STYLE.replace(".data-skip ", 3 * ".data-skip" + " ")
    return f'<div class="data-skip"><style>{style}</style>{joined(parts)}</div>'


def page(heading: str, *parts: object) -> str:
    """A page of its own, which needs nothing else: light or dark as the reader's browser is."""
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(heading)}</title><style>{_PAGE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><h1>{escape(heading)}</h1>{shown(*parts)}</body></html>\n'


def drawing(view: str, svg: str, label: str) -> Html:
    """A picture: what is inside of an SVG element, its `viewBox="..."`, and what it shows, for who does not see it."""
    about = f'role="img" aria-label="{escape(label)}"'
    lines = "stroke-linejoin: round; stroke-linecap: butt"
    return Html(f'<svg {view} {about} style="{lines}" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{svg}')


def title(text: object) -> Html:
    """A line that stands out."""
    return Html(f'<p class="title">{safe(text)}</p>')


def line(*parts: object) -> Html:
    """A paragraph."""
    return Html(f"<p>{joined(parts)}</p>")


def code(text: object) -> Html:
    """Text of a program, as a predicate or path."""
    return Html(f"<code>{safe(text)}</code>")


def folded(text: str, before: str = "") -> Html:
    """As a line of `code`; of long text its beginning, and all of it once the reader opens it. before: words before it."""
    if len(text) <= _LONG:
        return line(before, code(text))
    return Html(f"<details><summary>{line(before, code(f'{text[:_LONG]} ...'))}</summary>{code(text)}</details>")


def listed(items: Sequence[object]) -> Html:
    """A list with a bullet each; nothing where it is empty."""
    return Html(f"<ul>{joined(Html(f'<li>{safe(item)}</li>') for item in items)}</ul>") if items else Html("")


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    """A table. Numbers stand to the right, with the thousands apart; a column holds what its first row holds."""
    body = [list(row) for row in rows]
    right = [bool(_NUMBER.fullmatch(_text(cell))) for cell in (body[0] if body else head)]
    lines = [joined(_cell("td", cell, number) for cell, number in zip(row, right, strict=True)) for row in body]
    top = joined(_cell("th", cell, number) for cell, number in zip(head, right, strict=True))
    return Html(f"<table><thead><tr>{top}</tr></thead><tbody>{joined(Html(f'<tr>{row}</tr>') for row in lines)}</tbody></table>")


def bar(part: float, whole: float) -> Html:
    """A bar that is filled by the share of a part in the whole; the text says what it shows to who does not see it."""
    percent = 100 * min(max(part / whole, 0), 1) if whole else 0
    label = f"{percent:.0f} %"
    return Html(f'<span class="bar" role="img" aria-label="{label}" title="{label}"><span style="width: {percent:.1f}%"></span></span>')


def _cell(tag: str, cell: object, number: bool) -> Html:
    kind = ' class="number"' if number else ""
    return Html(f"<{tag}{kind}>{safe(cell if isinstance(cell, Html) else _text(cell))}</{tag}>")


def _text(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
