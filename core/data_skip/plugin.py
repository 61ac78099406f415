"""For plugins: what the core's own indexes are built of, beside the contracts (clause, expression, index, filters, errors).

What stands here is kept; what does not may move.
"""

from data_skip.data_types import plain_string
from data_skip.footer import Footer
from data_skip.indexes.distinct import ascending, owners
from data_skip.indexes.split_block import blocks_of, hash_values, may_hold
from data_skip.proofs.like import literal_parts
from data_skip.proofs.satisfying import jointly_satisfying, satisfying, speak_of
from data_skip.proofs.value_set import EVERYTHING, Interval, ValueSet
from data_skip.sample import Sample
from data_skip.spark.janino import instance
from data_skip.spark.jvm import load_plugin as load
from data_skip.spark.jvm import refuse_no_session

__all__ = [
    "EVERYTHING",
    "Footer",
    "Interval",
    "Sample",
    "ValueSet",
    "ascending",
    "blocks_of",
    "hash_values",
    "instance",
    "jointly_satisfying",
    "literal_parts",
    "load",
    "may_hold",
    "owners",
    "plain_string",
    "refuse_no_session",
    "satisfying",
    "speak_of",
]
