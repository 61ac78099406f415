"""check_plugin passes three plugins of strangers, and catches the bugs that they planted in them themselves."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from data_skip import Index
from data_skip.testing import check_plugin
from tests.test_check_plugin import loaded

FOLDER = Path(__file__).parent / "third_party" / "strangers"
INDEXES = {"bit_flags": ('("i")', '("l")'), "email_domains": ('("s")', '("s", limit=2)'), "remainders": ('("i", 10)', '("l", 7)')}
CLASSES = {"bit_flags": "BitFlags", "email_domains": "EmailDomains", "remainders": "Remainders"}
BUGS = [
    ("bit_flags", '{"some": a["some"] | b["some"], "every"', '{"some": max(a["some"], b["some"]), "every"'),
    ("bit_flags", '"some": int(np.bitwise_or.reduce(bits))', '"some": int(bits.max())'),
    ("bit_flags", "pc.or_(pc.not_equal(low, c), pc.not_equal(high, c))", "pc.not_equal(some, 0)"),
    ("bit_flags", 'Call("EqualTo", [Call("Bit', 'Call("EqualTo" | "EqualNullSafe", [Call("Bit'),
    ("bit_flags", "astype(np.int64)", "astype(np.int32)"),
    ("bit_flags", "low = pc.bit_wise_or(pc.bit_wise_and(every, ~SIGN), pc.bit_wise_and(some, SIGN))", "low = every"),
    (
        "bit_flags",
        '"GreaterThanOrEqual": lambda some, every, low, high, c: pc.greater_equal',
        '"GreaterThanOrEqual": lambda some, every, low, high, c: pc.greater',
    ),
    ("bit_flags", "values.drop_null().to_numpy()", "abs(values.drop_null().to_numpy())"),
    ("bit_flags", "values.drop_null().to_numpy()", "values.drop_null().to_numpy()[:8]"),
    ("bit_flags", "pc.and_(pc.equal(pc.bit_wise_and(some, c), c), pc.equal(pc.bit_wise_or(every, c), c))", "pc.not_equal(some, 0)"),
    ("bit_flags", "some, every = pc.bit_wise_and(some, m), pc.bit_wise_and(every, m)", "pass"),
    ("bit_flags", 'a["every"] & b["every"]', 'a["every"] | b["every"]'),
    ("email_domains", '.rpartition("@")[2] for value in', '.partition("@")[2] for value in'),
    ("email_domains", "sorted(domains) if len(domains) <= self.limit else None", "sorted(domains)[: self.limit]"),
    ("email_domains", "None if domains is None else", "domains is not None and"),
    ("email_domains", 'if node.name != "EndsWith" or all("@" in text for text in wanted):', "if True:"),
    ("email_domains", "[2] for value in", "[2].lower() for value in"),
    ("email_domains", "if value is not None}", 'if value is not None and "@" in value}'),
    ("email_domains", "Literal(-1)]", "Literal()]"),
    ("email_domains", 'Literal("@")', "Literal()"),
    (
        "email_domains",
        "    if not all(isinstance(other, Literal) and isinstance(other.value, str | None) for other in others):\n        return\n",
        "    others = [other for other in others if isinstance(other, Literal) and isinstance(other.value, str | None)]\n",
    ),
    ("email_domains", '{*a["domains"], *b["domains"]}', '{*(a["domains"] or ()), *(b["domains"] or ())}'),
    ("email_domains", "and isinstance(other.value, str | None) for", "for"),
    ("remainders", "np.fmod(numbers", "np.mod(numbers"),
    ("remainders", "if index.index.modulus == modulus:", "if True:"),
    (
        "remainders",
        "yield any_of(index, [c.value for c in constants if c.value is not None])",
        "yield any_of(index, [c.value for c in constants[:1] if c.value is not None])",
    ),
    (
        "remainders",
        'case Call("Remainder", [x, Literal(modulus)]), *constants if all(isinstance(c, Literal) for c in constants):',
        'case Call("Remainder", [x, Literal(modulus)]), *some:\n            constants = [c for c in some if isinstance(c, Literal)]',
    ),
    ("remainders", ".cast(pa.int64()).to_numpy()", ".cast(pa.float64(), safe=False).to_numpy().astype(np.int64)"),
    ("remainders", "np.fmod(values, index.index.modulus).tolist()", "[int(value) % index.index.modulus for value in values]"),
    ("remainders", 'sorted({*a["remainders"], *b["remainders"]})', 'b["remainders"]'),
    ("remainders", ", mask=lists.is_null().to_numpy(zero_copy_only=False)", ""),
    ("remainders", "super().__init__(x, modulus=modulus)", "super().__init__(x)\n        self.modulus = modulus"),
]

pytestmark = pytest.mark.long


def prepared(spark: SparkSession, folder: Path, plugin: str, name: str, text: str) -> tuple[ModuleType, list[Index]]:
    """A plugin's module with its class under another name, so that the session's others do not matter, and indexes of it."""
    module = loaded(spark, folder, f"stranger_{name.lower()}", text.replace(CLASSES[plugin], name))
    return module, [eval(f"{name}{arguments}", vars(module)) for arguments in INDEXES[plugin]]


@pytest.mark.parametrize("plugin", CLASSES)
def test_a_plugin_of_a_stranger(spark: SparkSession, tmp_path: Path, plugin: str) -> None:
    text = (FOLDER / f"{plugin}.py").read_text("utf-8")
    module, indexes = prepared(spark, tmp_path, plugin, f"Right{CLASSES[plugin]}", text)
    checked = check_plugin(module, indexes, spark=spark, draws=1)
    assert not checked.unasked and not checked.idle, checked


@pytest.mark.parametrize("number", range(len(BUGS)))
def test_a_bug_of_a_stranger_is_caught(spark: SparkSession, tmp_path: Path, number: int) -> None:
    plugin, right, wrong = BUGS[number]
    text = (FOLDER / f"{plugin}.py").read_text("utf-8")
    assert text.count(right) == 1
    name = f"Wrong{number}{CLASSES[plugin]}"
    module, indexes = prepared(spark, tmp_path, plugin, name, text.replace(right, wrong))
    with pytest.raises(AssertionError, match=name):
        check_plugin(module, indexes, spark=spark)
