"""BitFlags: the bits that some row of a file has, and those that all have. Serves x & mask compared with a constant."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import Index, filters
from data_skip.clause import Computed
from data_skip.expression import Call, Literal

WIDTH = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
SIGN = -(2**63)
TESTS = {  # of the bits of some rows and of all, of bounds of their values under the mask, and of the constant
    "EqualTo": lambda some, every, low, high, c: pc.and_(pc.equal(pc.bit_wise_and(some, c), c), pc.equal(pc.bit_wise_or(every, c), c)),
    "Not": lambda some, every, low, high, c: pc.or_(pc.not_equal(low, c), pc.not_equal(high, c)),
    "GreaterThan": lambda some, every, low, high, c: pc.greater(high, c),
    "GreaterThanOrEqual": lambda some, every, low, high, c: pc.greater_equal(high, c),
    "LessThan": lambda some, every, low, high, c: pc.less(low, c),
    "LessThanOrEqual": lambda some, every, low, high, c: pc.less_equal(low, c),
}


class BitFlags(Index):
    """The bits that some row of a file has, and those that all have, NULLs aside; without other rows, none and all."""

    fields = {"some": pa.int64(), "every": pa.int64()}

    def refuse(self, types):
        return None if types[0] in WIDTH else f"it takes an integer, not {types[0]}"

    def collect(self, values):
        bits = values.drop_null().to_numpy().astype(np.int64)
        return {"some": int(np.bitwise_or.reduce(bits)), "every": int(np.bitwise_and.reduce(bits))}

    def merge(self, a, b):
        return {"some": a["some"] | b["some"], "every": a["every"] & b["every"]}


@filters.on(*TESTS)
def under_a_mask(node, indexes):
    match node:
        case (Call("BitwiseAnd", [x, Literal(m)] | [Literal(m), x]), Literal(c)) | [
            Call("EqualTo", [Call("BitwiseAnd", [x, Literal(m)] | [Literal(m), x]), Literal(c)])
        ]:

            def may_hold(some, every):
                some, every = pc.bit_wise_and(some, m), pc.bit_wise_and(every, m)
                low = pc.bit_wise_or(pc.bit_wise_and(every, ~SIGN), pc.bit_wise_and(some, SIGN))
                high = pc.bit_wise_or(pc.bit_wise_and(some, ~SIGN), pc.bit_wise_and(every, SIGN))
                return pc.and_(pc.less_equal(low, high), TESTS[node.name](some, every, low, high, c))  # low > high: NULLs alone

            if isinstance(x, Call) and x.name == "Cast" and WIDTH.get(x[0].type, 99) <= WIDTH[x.type]:
                x = x[0]  # a wider integer has the same bits, and its sign
            for index in indexes.over(x, BitFlags):
                yield Computed(str(node), (index["some"], index["every"]), may_hold)
