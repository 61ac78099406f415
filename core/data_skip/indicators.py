"""Indicators of skipping effectiveness (seed 000, section IV-A, definitions 4 to 7): for one query, and their means over a workload.

    selectivity      sigma  = relevant rows / all rows
    layout factor    lambda = relevant rows / rows of relevant files          high: relevant rows lie together
    metadata factor  mu     = rows of relevant files / rows of files read     high: the metadata tells relevant files from others
    scanning factor  psi    = rows of files read / all rows = sigma / (lambda * mu)

A row is relevant that must be read to answer the query; a file is relevant that holds one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, fsum, log

import numpy as np
import numpy.typing as npt


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


def geometric_mean(values: Iterable[float]) -> float:
    """G(x) = (x1 * ... * xn) ** (1 / n), of positive numbers; ValueError for none."""
    logarithms = [log(value) for value in values]
    if not logarithms:
        raise ValueError("the mean of no numbers")
    return exp(fsum(logarithms) / len(logarithms))


def means(queries: Iterable[Indicators]) -> Indicators:
    """The geometric means over a workload: equation 2."""
    listed = list(queries)
    return Indicators(
        geometric_mean(q.selectivity for q in listed),
        geometric_mean(q.layout_factor for q in listed),
        geometric_mean(q.metadata_factor for q in listed),
    )


def reached(needed: npt.ArrayLike, read: npt.ArrayLike) -> float:
    """The share of files skipped of those that hold no matching row (the oracle's); 1 where there is nothing to skip."""
    skippable = ~np.asarray(needed, dtype=bool)
    return float((skippable & ~np.asarray(read, dtype=bool)).sum() / skippable.sum()) if skippable.any() else 1.0
