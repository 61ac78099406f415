"""Indicators of skipping effectiveness (Extensible Data Skipping, IV-A): for one query, and their means over a workload.

    selectivity      sigma  = relevant rows / all rows
    layout factor    lambda = relevant rows / rows of relevant files          high: relevant rows lie together
    metadata factor  mu     = rows of relevant files / rows of files read     high: the metadata tells relevant files from others
    scanning factor  psi    = rows of files read / all rows = sigma / (lambda * mu)

A row is relevant that must be read to answer the query; a file is relevant that holds one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import numpy as np
import numpy.typing as npt
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from data_skip import html


@dataclass(frozen=True)
class Indicators:
    """Of one query, or (geometric) means over a workload, for which psi = sigma / (lambda * mu) holds as well."""

    selectivity: float
    layout_factor: float
    metadata_factor: float

    @property
    def scanning_factor(self) -> float:
        """psi, by equation 1 (of means: 2)."""
        return self.selectivity / (self.layout_factor * self.metadata_factor)


def indicators(rows: npt.ArrayLike, relevant: npt.ArrayLike, read: npt.ArrayLike) -> Indicators:
    """Those of one query, from three arrays with an entry a file: its rows, its relevant rows, whether it is read.

    ValueError for a query without relevant rows, for which they are not defined (footnote 7), and where a relevant file is not read.
    """
    all_rows, relevant_rows, is_read = np.asarray(rows), np.asarray(relevant), np.asarray(read, dtype=bool)
    needed = relevant_rows > 0
    if not needed.any():
        raise ValueError("a query without relevant rows has no scanning factor")
    if (needed & ~is_read).any():
        raise ValueError("a file with relevant rows is not read")
    in_needed = all_rows[needed].sum()
    return Indicators(
        float(relevant_rows.sum() / all_rows.sum()),
        float(relevant_rows.sum() / in_needed),
        float(in_needed / all_rows[is_read].sum()),
    )


def means(queries: Iterable[Indicators]) -> Indicators:
    """The geometric means over a workload: equation 2. ValueError for none."""
    listed = list(queries)
    if not listed:
        raise ValueError("the indicators of no queries have no mean: there are no numbers")
    return Indicators(
        geometric_mean(q.selectivity for q in listed),
        geometric_mean(q.layout_factor for q in listed),
        geometric_mean(q.metadata_factor for q in listed),
    )


def reached(needed: npt.ArrayLike, read: npt.ArrayLike) -> float:
    """The share of files skipped of those that hold no matching row (the oracle's); 1 where there is nothing to skip."""
    skippable = ~np.asarray(needed, dtype=bool)
    return float((skippable & ~np.asarray(read, dtype=bool)).sum() / skippable.sum()) if skippable.any() else 1.0


@dataclass(frozen=True)
class Measured:
    """How well some queries skip, by their WHERE: those that match a row; of the others the indicators are not defined."""

    table: str
    queries: Mapping[str, Indicators]
    of_oracle: Mapping[str, float]  # the share of files skipped of those that hold no matching row
    unmatched: Sequence[str] = ()  # the WHEREs that match no row

    @property
    def means(self) -> Indicators:
        """The geometric means over all queries; ValueError where there is none."""
        return means(self.queries.values())

    def __str__(self) -> str:
        lines = [f"{self.table}: selectivity sigma = psi * lambda * mu; layout lambda, metadata mu, scanning psi"]
        for name, q, share in self._rows():
            factors = f"sigma {q.selectivity:.2g}  lambda {q.layout_factor:.2g}  mu {q.metadata_factor:.2g}  psi {q.scanning_factor:.2g}"
            lines.append(f"  {factors}  {share:.1%} of the oracle  {name}")
        return "\n".join([*lines, *(f"  {line}" for line in self._without())])

    def _repr_html_(self) -> str:
        factors = ("selectivity", "layout_factor", "metadata_factor", "scanning_factor")
        rows = [
            (html.code(name), *(f"{getattr(q, factor):.2g}" for factor in factors), f"{share:.1%}", html.bar(share, 1))
            for name, q, share in self._rows()
        ]
        head = ["query", "selectivity σ", "layout λ", "metadata μ", "scanning ψ", "of the oracle", ""]
        lines = map(html.line, ["σ = ψ · λ · μ", *self._without()])
        return html.shown(html.title(html.code(self.table)), html.table(head, rows), *lines)

    def _without(self) -> list[str]:
        return [f"no row matches, so there are no indicators of {where}" for where in self.unmatched]

    def _rows(self) -> list[tuple[str, Indicators, float]]:
        """Of each query, and of all, the indicators and the share of the oracle."""
        rows = [(where, q, self.of_oracle[where]) for where, q in self.queries.items()]
        return [*rows, ("geometric means", self.means, float(np.mean(list(self.of_oracle.values()))))] if rows else []


def matches(frame: DataFrame, wheres: Sequence[str]) -> list[Row]:
    """For each file of a table `file`, its URI, `rows`, and how many rows match each query: `q0`, `q1`, ... One pass."""
    counts = [F.count_if(F.expr(where)).alias(f"q{i}") for i, where in enumerate(wheres)]
    return frame.groupBy(_file(frame).alias("file")).agg(F.count("*").alias("rows"), *counts).collect()


def _file(frame: DataFrame) -> Column:
    """The file of a row, as `_metadata.file_path` has it, which Spark hides where it pads CHAR columns."""
    try:
        path = frame.metadataColumn("_metadata")["file_path"]
        frame.select(path)
    except AnalysisException:
        return F.regexp_replace(F.input_file_name(), "^file:///", "file:/")
    return path


def measured(table: str, found: Sequence[Row], reads: Mapping[str, Container[str]]) -> Measured:
    """What `matches` found, and the files that each query reads, by its WHERE, in the same order."""
    rows = [row["rows"] for row in found]
    queries, of_oracle, unmatched = {}, {}, []
    for i, (where, files) in enumerate(reads.items()):
        relevant = np.array([row[f"q{i}"] for row in found], np.int64)
        if relevant.any():
            is_read = [row["file"] in files for row in found]
            queries[where], of_oracle[where] = indicators(rows, relevant, is_read), reached(relevant > 0, is_read)
        else:
            unmatched.append(where)
    return Measured(table, queries, of_oracle, unmatched)
