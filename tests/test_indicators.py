"""Indicators: the paper's equations, on numbers that can be checked by hand."""

from __future__ import annotations

import pytest

from data_skip.indicators import Indicators, geometric_mean, indicators, means, reached


def test_of_one_query() -> None:
    # four files of 100 rows; 10 relevant rows in one, 30 in another; a third is read in vain
    found = indicators([100, 100, 100, 100], [10, 30, 0, 0], [True, True, True, False])
    assert (found.selectivity, found.layout_factor) == pytest.approx((0.1, 0.2))
    assert found.metadata_factor == pytest.approx(2 / 3)
    assert found.scanning_factor == pytest.approx(3 / 4)  # = rows of files read / all rows


def test_files_count_by_their_rows() -> None:
    found = indicators([1000, 10], [1, 0], [True, True])
    assert found.metadata_factor == pytest.approx(1000 / 1010)


def test_means_keep_the_equation() -> None:
    queries = [indicators([10, 20, 30], [1, 0, 0], [True, True, False]), indicators([10, 20, 30], [0, 4, 5], [True, True, True])]
    mean = means(queries)
    assert mean.scanning_factor == pytest.approx(geometric_mean(q.scanning_factor for q in queries))
    assert mean == Indicators(
        geometric_mean(q.selectivity for q in queries),
        geometric_mean(q.layout_factor for q in queries),
        geometric_mean(q.metadata_factor for q in queries),
    )


def test_is_not_defined_without_relevant_rows() -> None:
    with pytest.raises(ValueError, match="no scanning factor"):
        indicators([10], [0], [True])
    with pytest.raises(ValueError, match="no numbers"):
        means([])


def test_a_relevant_file_that_is_not_read_is_no_indicator_but_a_bug() -> None:
    with pytest.raises(ValueError, match="is not read"):
        indicators([10, 10], [1, 1], [True, False])


def test_reached_of_the_oracle() -> None:
    assert reached([True, False, False], [True, True, False]) == 0.5
    assert reached([True], [True]) == 1.0
