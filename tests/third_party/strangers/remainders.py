"""Remainders: which remainders of an integer column occur in a file. Serves x % m = r, x % m IN (...), x = n, x IN (...)."""

import numpy as np
import pyarrow as pa

from data_skip import DataSkipError, Index, filters
from data_skip.clause import Computed
from data_skip.expression import Call, Literal
from data_skip.plugin import owners


class Remainders(Index):
    """The remainders, with the sign of x as Spark's %, that occur among a file's values."""

    fields = {"remainders": pa.list_(pa.int64())}
    distinct = True

    def __init__(self, x, modulus):
        if type(modulus) is not int or not 1 <= modulus <= 10_000:  # it is what bounds a record
            raise DataSkipError(f"the modulus of Remainders is an integer from 1 to 10000, not {modulus!r}")
        super().__init__(x, modulus=modulus)

    def refuse(self, types):
        return None if types in (("int",), ("bigint",)) else f"it takes an int or bigint, not {types[0]}"

    def collect(self, values):
        numbers = values.drop_null().cast(pa.int64()).to_numpy()
        return {"remainders": np.unique(np.fmod(numbers, self.modulus)).tolist()}  # fmod: truncated, as Java's %

    def merge(self, a, b):
        return {"remainders": sorted({*a["remainders"], *b["remainders"]})}


def any_of(index, remainders):
    def holds(lists):
        found = np.zeros(len(lists), bool)
        found[owners(lists)[np.isin(lists.flatten(), remainders)]] = True
        return pa.array(found, mask=lists.is_null().to_numpy(zero_copy_only=False))

    return Computed(f"{index} has any of {remainders}", (index["remainders"],), holds)


@filters.on("EqualTo", "In")
def of_remainder(node, indexes):
    match node:
        case Call("Remainder", [x, Literal(modulus)]), *constants if all(isinstance(c, Literal) for c in constants):
            for index in indexes.over(x, Remainders):
                if index.index.modulus == modulus:
                    yield any_of(index, [c.value for c in constants if c.value is not None])


@filters.on("EqualTo", "In")
def of_value(node, indexes):
    match node:
        case x, *constants if all(isinstance(c, Literal) for c in constants):
            for index in indexes.over(x, Remainders):
                values = np.array([c.value for c in constants if c.value is not None], np.int64)
                yield any_of(index, np.fmod(values, index.index.modulus).tolist())
