"""What MinMax collects of numbers, NaN and NULL among them."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pyarrow as pa
import pytest

from data_skip import MinMax

NUMBERS: list[list[float | None]] = [
    [2.5],
    [2.5, -1.0, 7.0],
    [None],
    [nan],
    [nan, None],
    [nan, 1.5, None, -2.0],
    [1.5, nan],
    [-inf, 3.0, inf],
    [inf, nan, -inf, None],
    [None, 5.0, 4.0],
]


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("rows", NUMBERS, ids=str)
def test_of_fractions(rows: list[float | None], type_: pa.DataType) -> None:
    values = [row for row in rows if row is not None and not isnan(row)]
    array = pa.concat_arrays([pa.array([99.0], type_), pa.array(rows, type_)]).slice(1)
    assert MinMax("x").collect(array) == {
        "min": min(values, default=None),
        "max": max(values, default=None),
        "value_count": len(values),
        "null_count": rows.count(None),
        "nan_count": sum(row is not None and isnan(row) for row in rows),
    }


def test_bits_of_nan_do_not_matter() -> None:
    bits = [0x7FF0000000000001, 0xFFF0000000000001, 0x7FF8000000000000, 0xFFFFFFFFFFFFFFFF, 0x3FF0000000000000]
    array = pa.array(np.array(bits, dtype=np.uint64).view(np.float64))
    assert MinMax("x").collect(array) == {"min": 1.0, "max": 1.0, "value_count": 1, "null_count": 0, "nan_count": 4}
