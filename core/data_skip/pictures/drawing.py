"""Pictures, by matplotlib: loaded only when one is asked for. They show in light and in dark, and tell nothing by colour alone."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import dates
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from data_skip import html
from data_skip.pictures.boxes import MOST_NUMBER, Boxes, Mask, Scale, Side

_INK = "#242526"  # in HTML it becomes the colour of the page's text
_READ, _SKIPPED, _ALL = "#dd6b20", "#8b929a", "#4a8fc7"
_WIDTH = 7.0  # inches, of 100 pixels each
_VECTORS = 1_500  # boxes: more are drawn as pixels, in SVG as well
_MOST_BOXES = 10_000  # of files that are read, and as many of the others: a sample of more
_LEAST = 0.006  # of an axis: how large a box of one value is drawn
_DAYS = (-719_162.0, 2_932_896.0)  # since 1970, of the years 1 to 9999: matplotlib knows no others
_MOST_TICKS, _LONGEST_TICK, _MOST_BARS = 8, 18, 20


class Picture(Figure):
    """A Figure of matplotlib that notebooks show as it is, in the colours of the page."""

    def __init__(self, height: float, label: str) -> None:
        super().__init__(figsize=(_WIDTH, height), dpi=100, layout="constrained")
        self.label = label  # what it shows, for who does not see it

    def _repr_html_(self) -> str:
        return html.shown(self.as_html())

    def as_html(self) -> html.Html:
        """As SVG, a part of a page."""
        drawn = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "data-skip"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the page's own has it
            self.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
        text = drawn.getvalue()
        view = re.search(r'viewBox="[^"]*"', text)
        assert view is not None
        body = text[text.index("</metadata>") + len("</metadata>") :].replace(_INK, "currentColor")
        return html.drawing(view[0], _shortened(re.sub(r"<style.*?</style>", "", body, count=1, flags=re.DOTALL)), self.label)


def _shortened(svg: str) -> str:
    """The same with numbers as far as they can be seen, and what all shapes of a group have in common said once: a third of the text."""

    def said_once(group: re.Match[str]) -> str:
        styles = set(re.findall(r' clip-path="[^"]*" style="[^"]*"(?=/>)', group[2]))
        if len(styles) != 1 or " opacity:" in (style := styles.pop()):  # that of a group is another
            return group[0]
        return f"{group[1]}{style}>{group[2].replace(style, '')}"

    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    return re.sub(r'(<g id="(?:Poly|Line)Collection_\d+")>(.*?</g>)', said_once, svg, flags=re.DOTALL)


def files(boxes: Boxes) -> Picture:
    """The files as boxes over two sides; of one side as lines from the smallest to the largest value, one above the other."""
    picture = Picture(4.4, "")
    axes = _axes(picture)
    classes = [(boxes.read, True), (~boxes.read, False)] if boxes.read is not None else [(np.ones(len(boxes.owners), dtype=bool), None)]
    shapes = _shapes(boxes)
    for chosen, read in reversed(classes):  # those that are read lie above
        places = _sample(np.flatnonzero(chosen))
        axes.add_collection(_collection(shapes[places], read, len(shapes)))
    _fit(axes, boxes)
    entries = [_entry(boxes, chosen, read) for chosen, read in classes]
    if boxes.region is not None:
        _draw_region(axes, boxes)
        entries.append(Patch(facecolor=(*mpl.colors.to_rgb(_INK), 0.08), edgecolor=_INK, linewidth=1.6, label="where a match can be"))
    picture.legend(handles=entries, loc="outside lower left", ncols=3, frameon=False, labelcolor=_INK, fontsize=9)
    lines = _told(boxes)
    picture.label = "; ".join(lines)
    axes.set_title("\n".join(lines), loc="left", fontsize=10, color=_INK, parse_math=False)
    return picture


def predicates(skipped: Sequence[tuple[str, int | None]], together: int, total: int) -> Picture:
    """A bar for what each predicate skips alone (None: it is not used), and one for what all skip together."""
    left_out = len(skipped) - _MOST_BARS
    if left_out > 0:
        skipped = sorted(skipped, key=lambda told: -(told[1] or 0))[:_MOST_BARS]
    names = [_cut(name, 46) for name, _ in skipped] + ["all together"]
    counts = [count or 0 for _, count in skipped] + [together]
    told = ["not used" if count is None else f"{count:,}" for _, count in skipped] + [f"{together:,}"]
    said = "; ".join(f"{name}: {count}" for name, count in zip(names, told, strict=True))
    picture = Picture(1.2 + 0.32 * len(names), f"files skipped, of {total:,}: {said}")
    axes = _axes(picture)
    bars = axes.barh(range(len(names)), counts, height=0.6, color=_ALL, edgecolor=_INK, linewidth=0.6)
    bars[-1].set_hatch("///")
    axes.bar_label(bars, told, padding=4, color=_INK, fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=8.5, parse_math=False)
    for label in axes.get_yticklabels()[:-1]:
        label.set_family("monospace")
    axes.set(xlim=(0, 1.12 * max(total, 1)), xlabel=f"files skipped, of {total:,}")
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.invert_yaxis()
    if left_out > 0:
        axes.set_title(f"{left_out:,} predicates that skip less are left out", loc="left", fontsize=10, color=_INK)
    return picture


def _axes(picture: Picture) -> Any:
    axes: Any = picture.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_INK)
    axes.tick_params(colors=_INK, labelsize=9)
    axes.xaxis.label.set(color=_INK, parse_math=False)
    axes.yaxis.label.set(color=_INK, parse_math=False)
    return axes


def _shapes(boxes: Boxes) -> Any:
    """The corners of each box; of one side the ends of each line, sorted by them."""
    across = boxes.sides[0]
    if len(boxes.sides) == 1:
        heights = np.empty(len(across.low))
        heights[np.lexsort((across.high, across.low))] = np.arange(len(across.low))
        low, high = _widened(across)
        return np.stack([np.stack([low, heights], axis=1), np.stack([high, heights], axis=1)], axis=1)
    (left, right), (bottom, top) = _widened(across), _widened(boxes.sides[1])
    return np.stack([np.stack(corner, axis=1) for corner in ((left, bottom), (right, bottom), (right, top), (left, top))], axis=1)


def _span(side: Side) -> tuple[float, float]:
    """The ends of an axis: those of the boxes, as far as there are such numbers, and some more."""
    least, most = _DAYS if side.scale.is_time else (-MOST_NUMBER, MOST_NUMBER)
    ends = np.concatenate([side.low, side.high])
    ends = np.clip(ends[np.isfinite(ends)], least, most)
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    more = 0.03 * (high - low) or abs(low) * 0.05 or 0.5
    return max(low - more, least), min(high + more, most)


def _widened(side: Side) -> tuple[Any, Any]:
    """The ranges of boxes, none too small to be seen, and none beyond the axis."""
    start, end = _span(side)
    low, high = np.clip(side.low, start, end), np.clip(side.high, start, end)
    missing = np.clip(_LEAST * (end - start) - (high - low), 0, None) / 2
    return low - missing, high + missing


def _sample(places: Any) -> Any:
    few = len(places) <= _MOST_BOXES
    return places if few else np.sort(np.random.default_rng(0).choice(places, _MOST_BOXES, replace=False))


def _collection(shapes: Any, read: bool | None, total: int) -> Any:
    """The boxes of files that are read, or not, or of which nothing is asked: filled and framed, or a dashed frame, or a light filling."""
    many = len(shapes) > _VECTORS
    style = dict(zip(("edgecolor", "linewidth", "linestyle"), _frame(read, many), strict=True)) | {"rasterized": many}
    if shapes.shape[1] == 2:  # lines
        width = min(6.0, 220 / total) * (0.5 if read is False else 1)  # short lines show no dashes
        return LineCollection(list(shapes), **style | {"linewidth": max(1.5 if read else 0.4, width)})
    alpha = 0.0 if read is False else max(0.04, min(0.35, (15 if read else 45) / max(len(shapes), 1)))
    return PolyCollection(list(shapes), facecolor=(*mpl.colors.to_rgb(_ALL if read is None else _READ), alpha), **style)


def _frame(read: bool | None, many: bool) -> tuple[Any, float, Any]:
    colour = {True: _READ, False: _SKIPPED, None: _ALL}[read]
    faint = 0.35 if many else 0.9
    return (*mpl.colors.to_rgb(colour), 0.95 if read else faint), 1.2 if read else 0.7, "dashed" if read is False and not many else "solid"


def _entry(boxes: Boxes, chosen: Mask, read: bool | None) -> Any:
    """An entry of the legend."""
    count = len(np.unique(boxes.owners[chosen]))
    what = {True: "read", False: "skipped", None: "a file"}[read]
    label = what if read is None else f"{what}: {count:,} {'file' if count == 1 else 'files'}"
    colour, width, line = _frame(read, False)
    if len(boxes.sides) == 1:
        return Line2D([], [], color=colour, linewidth=4 if read is not False else 2, linestyle=line, label=label)
    filling = "none" if read is False else (*mpl.colors.to_rgb(_READ if read else _ALL), 0.35)
    return Patch(facecolor=filling, edgecolor=colour, linewidth=width, linestyle=line, label=label)


def _fit(axes: Any, boxes: Boxes) -> None:
    """The ends and labels of the axes."""
    across, *upright = boxes.sides
    axes.set_xlim(_span(across))
    _label(axes.xaxis, across.scale)
    if upright:
        axes.set_ylim(_span(upright[0]))
        _label(axes.yaxis, upright[0].scale)
    else:
        axes.set(ylim=(-1, len(boxes.owners)), yticks=[], ylabel="files, by their smallest value")


def _label(axis: Any, scale: Scale) -> None:
    axis.set_label_text(_cut(scale.name, 60) + (" (UTC)" if scale.type == "timestamp" else ""))
    if scale.texts:
        places = np.unique(np.linspace(0, len(scale.texts) - 1, _MOST_TICKS).round().astype(int))
        axis.set_ticks(places, [_cut(scale.text(place), _LONGEST_TICK) for place in places], parse_math=False)
        if axis.axis_name == "x" and len(places) > 4:
            axis.set_tick_params(rotation=20)
    elif scale.is_time:
        locator: Any = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        axis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axis.get_offset_text().set_color(_INK)
    elif scale.type == "boolean":
        axis.set_ticks([0, 1], ["false", "true"])
    else:
        axis.get_offset_text().set_color(_INK)


def _draw_region(axes: Any, boxes: Boxes) -> None:
    region = boxes.region
    assert region is not None
    inside = region.inside
    if len(region.lines) == 1:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
        for start, end in edges.reshape(-1, 2):
            axes.axvspan(region.lines[0][start], region.lines[0][end - 1], facecolor=_INK, alpha=0.08)
            for place in (start, end - 1):
                if 0 < place < len(inside) - 1:
                    axes.axvline(region.lines[0][place], color=_INK, linewidth=1.6)
        return
    framed = np.pad(inside.T.astype(float), 1)  # so that what reaches the end of an axis is closed there
    x, y = (np.concatenate([[2 * line[0] - line[-1]], line, [2 * line[-1] - line[0]]]) for line in region.lines)
    axes.contourf(x, y, framed, [0.5, 1.5], colors=[_INK], alpha=0.08)
    axes.contour(x, y, framed, [0.5], colors=[_INK], linewidths=1.6)


def _told(boxes: Boxes) -> list[str]:
    """The lines above a picture."""
    if boxes.read is None:
        overlap = boxes.overlap()
        lines = [
            f"{boxes.files:,} files of {boxes.table}",
            f"at the middle of a file {overlap:,.1f} files overlap on average, {overlap / boxes.files:.1%} of all",
        ]
    else:
        lines = [f"{len(np.unique(boxes.owners[boxes.read])):,} of {boxes.files:,} files of {boxes.table} are read"]
    if boxes.files_without:
        lines.append(f"{boxes.files_without:,} more have no record, or none with a range here, and are not drawn")
    counts = [len(boxes.owners)] if boxes.read is None else [int(boxes.read.sum()), int((~boxes.read).sum())]
    if max(counts) > _MOST_BOXES:
        lines.append(f"a sample of {sum(min(count, _MOST_BOXES) for count in counts):,} boxes is drawn")
    return [_cut(line, 100) for line in [*lines, *filter(None, [boxes.note])]]


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
