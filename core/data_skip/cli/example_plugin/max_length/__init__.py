"""MaxLength: the length of a file's longest string. Serves length(x) > n."""

import pyarrow as pa
import pyarrow.compute as pc
from data_skip import Index, filters
from data_skip.expression import Call, Literal


class MaxLength(Index):
    """The length of a file's longest string."""

    fields = {"longest": pa.int32()}

    def refuse(self, types):  # Spark's names of types
        return None if types == ("string",) else f"it takes a string, not {types[0]}"

    def collect(self, values):  # an Arrow array of one batch of a file's rows, perhaps of NULLs alone -> record
        return {"longest": pc.max(pc.utf8_length(values)).as_py() or 0}

    def merge(self, a, b):  # two records of the same file -> one; batches come in any order
        return {"longest": max(a["longest"], b["longest"])}


@filters.on("GreaterThan")
def longer_than(node, indexes):
    match node:
        case Call("Length", [column]), Literal(n):
            for index in indexes.over(column, MaxLength):
                yield index["longest"] > n
