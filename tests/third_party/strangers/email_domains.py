"""EmailDomains: the domains of a file's e-mail addresses. Serves =, <=>, IN, of x and of substring_index(x, '@', -1); endswith(x, '@a')."""

import pyarrow as pa

from data_skip import Index, filters
from data_skip.clause import Computed
from data_skip.expression import Call, Literal


class EmailDomains(Index):
    """What follows the last '@' of each string (all of it where there is none): distinct, up to `limit` a file, unknown beyond."""

    fields = {"domains": pa.list_(pa.string())}
    distinct = True

    def __init__(self, *expressions, limit=100):
        super().__init__(*expressions, limit=limit)

    def refuse(self, types):
        return None if types == ("string",) else f"it takes a string, not {types[0]}"

    def collect(self, values):
        return self.up_to_limit({value.rpartition("@")[2] for value in values.to_pylist() if value is not None})

    def merge(self, a, b):  # what was too many stays so: a None raises
        return self.up_to_limit({*a["domains"], *b["domains"]})

    def up_to_limit(self, domains):
        return {"domains": sorted(domains) if len(domains) <= self.limit else None}


@filters.on("EqualTo", "EqualNullSafe", "In", "EndsWith")
def of_these_domains(node, indexes):
    expression, *others = node.operands
    if not all(isinstance(other, Literal) and isinstance(other.value, str | None) for other in others):
        return
    wanted = {other.value for other in others if other.value is not None}  # nothing is equal to NULL
    match expression:
        case Call("SubstringIndex", [column, Literal("@"), Literal(-1)]) if node.name != "EndsWith":
            pass
        case column if node.name != "EndsWith" or all("@" in text for text in wanted):
            wanted = {text.rpartition("@")[2] for text in wanted}
        case _:
            return
    for index in indexes.over(column, EmailDomains):
        yield Computed(f"{index['domains']} has one of {wanted}", (index["domains"],), lambda files: has_one_of(wanted, files))


def has_one_of(wanted, files):
    return pa.array([None if domains is None else not wanted.isdisjoint(domains) for domains in files.to_pylist()], pa.bool_())
