"""Indicators: the paper's equations, on numbers that can be checked by hand."""

from __future__ import annotations

from statistics import geometric_mean

import pytest

from data_skip import DataSkipError, MinMax
from data_skip.planning.indicators import Indicators, indicators, means, reached
from tests.support import Lake


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


def test_of_a_table(lake: Lake) -> None:
    lake.file("a.parquet", {"n": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    lake.file("b.parquet", {"n": [5, 6, 7, 8], "s": ["x", "x", "x", "x"]})
    lake.file("c.parquet", {"n": [1, 9], "s": ["z", "z"]})
    found = lake.index(MinMax("n")).indicators("n = 5", "n = 2", "n > 100", "s = 'z' AND n < 3")
    assert list(found.queries) == ["n = 5", "n = 2", "s = 'z' AND n < 3"]
    assert found.queries["n = 5"] == Indicators(0.1, 1 / 4, 4 / 6)  # c is read in vain
    assert found.of_oracle == {"n = 5": 0.5, "n = 2": 0.5, "s = 'z' AND n < 3": 0.5}
    assert found.means == means(found.queries.values())
    assert "geometric means" in str(found)
    for shown in (str(found), found._repr_html_().replace("&gt;", ">")):
        assert "no row matches, so there are no indicators of n > 100" in shown
    assert lake.check("n = 5").scanning_factor == pytest.approx(found.queries["n = 5"].scanning_factor)
    assert "psi = 0.6" in str(lake.skipping.report())


def test_of_a_table_refuses_nonsense(lake: Lake) -> None:
    lake.file("a.parquet", {"n": [1]})
    with pytest.raises(DataSkipError, match="takes the WHEREs"):
        lake.table().indicators()
    with pytest.raises(DataSkipError, match="does not understand"):
        lake.table().indicators("nosuch = 1")
