"""MaxLength: the length of a file's longest string. Serves length(x) > n."""

import pyarrow as pa
import pyarrow.compute as pc

from data_skip import Index, filters
from data_skip.expression import Call, Literal


class MaxLength(Index):
    """The index: what is known about a file."""

    fields = {"longest": pa.int32()}

    def collect(self, values):
        return {"longest": pc.max(pc.utf8_length(values)).as_py()}

    def merge(self, a, b):
        return {"longest": max(a["longest"], b["longest"])}


@filters.on("GreaterThan")
def longer_than(node, indexes):
    """The filter: which predicates it serves."""
    match node:
        case Call("Length", [column]), Literal(n):
            for index in indexes.over(column, MaxLength):
                yield index["longest"] > n
