"""One scan of a query, as the JVM hands it over: its description, and the Spark that answers questions about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.ask_spark import Bisection, Claims
from data_skip.clause import Mask
from data_skip.data_types import INTEGRAL
from data_skip.expression import Call, Expression, Literal, Opaque, Source, decode, decode_value
from data_skip.spark.python_functions import ARGUMENTS, call

Values: TypeAlias = tuple[pa.Array, Mask]  # and which of them are known


class Scan:
    """A scan that Spark plans: its SkippingFileIndex in the JVM. It is the `ask_spark.Spark` of filters, which ask about its tree."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self._settings: dict[tuple[str, ...], list[dict[str, str]]] = {}
        self._sql: dict[Source, str] = {}

    @cached_property
    def description(self) -> dict[str, Any]:
        """roots, format, options, schema, predicate, runtime_filters, notes: see SkippingFileIndex.java."""
        found: dict[str, Any] = json.loads(self.java.description())
        return found

    @property
    def roots(self) -> list[str]:
        """The root paths that are read; of a catalog table first its location."""
        return [root.rstrip("/") for root in self.description["roots"]]

    @cached_property
    def predicate(self) -> Expression:
        """The WHERE tree of the scan."""
        return decode(self.description["predicate"])

    def settings(self, prefixes: tuple[str, ...]) -> list[dict[str, str]]:
        """What is set in the session of the relation, and in the query's where that is another: see SkippingFileIndex.java.

        prefixes: of keys of Hadoop's libraries.
        """
        if prefixes not in self._settings:
            found = json.loads(self.java.settings(",".join(prefixes)))
            self._settings[prefixes] = [found["relation"], *([found["query"]] if found["query"] is not None else [])]
        return self._settings[prefixes]

    @property
    def number(self) -> int:
        """Tells the scans of a query apart."""
        return int(self.java.number())

    @cached_property
    def evaluator(self) -> Any:
        """The Evaluator of the JVM, over the nodes of this scan's tree."""
        return self.java.evaluator()

    def truth(self, node: Expression, target: Expression, values: pa.Array) -> npt.NDArray[np.uint8] | None:
        """See ask_spark.Spark."""
        if node.source is None:
            return None
        given, known = {target: values}, np.ones(len(values), dtype=bool)
        for function in _functions(node, target):
            results = self._called(function, given)
            if results is None:
                return None
            given[function], of_function = results
            known &= of_function
        places = ";".join(_places(node, part) for part in given)
        answer = self.evaluator.evaluate(node.source.id, places, _stream(given.values()))
        if answer is None:
            return None
        wanted = 0 if node.source.negated else 1
        found = np.frombuffer(answer, dtype=np.uint8)
        return np.where((found == 3) | ~known, 2, found == wanted).astype(np.uint8)

    def bisect(self, function: Expression, constant: Literal, target: Expression, checked: list[Call]) -> Bisection | None:
        """See ask_spark.Spark."""
        if function.source is None or constant.source is None:
            return None
        unsafe = ",".join(str(call.source.id) for call in checked if call.source)
        answer = self.evaluator.bisect(function.source.id, constant.source.id, _places(function, target), unsafe)
        if answer is None:
            return None
        *ordinals, increasing, strict, nan = answer.split(",")
        first, reached, passed, last = map(int, ordinals)
        return Bisection(first, reached, passed, last, increasing == "true", strict == "true", None if nan == "?" else int(nan))

    def may_be(self, node: Expression, claims: Claims, columns: list[pa.Array]) -> npt.NDArray[np.bool_]:
        """See ask_spark.Spark."""
        assert node.source is not None
        rules = {number: {name: value for name, value in asdict(rule).items() if value} for number, rule in claims.rules.items()}
        program = json.dumps({"targets": list(claims.targets.values()), "rules": rules})
        answer = self.java.ranges(program).mayBe(node.source.id, not node.source.negated, _stream(columns))
        return np.frombuffer(answer, dtype=np.uint8) == 1

    def cast(self, cast: Call, values: pa.Array) -> list[Literal] | None:
        """See ask_spark.Spark."""
        encoded = self.evaluator.cast(cast.operands[0].type, cast.type, cast.time_zone, _stream([values]))
        return None if encoded is None else [Literal(cast.type, None, decode_value(value)) for value in json.loads(encoded)]

    def value(self, node: Expression, given: Mapping[Expression, pa.Array]) -> float | None:
        """See ask_spark.Spark."""
        if node.source is None:
            return None
        if isinstance(node, Call) and node.name == "PythonUDF":
            results = self._called(node, given)
            answer = results[0][0].as_py() if results is not None and results[1][0] else None
            return answer if isinstance(answer, int | float) else None
        places = ";".join(_places(node, target) for target in given)
        answer = self.evaluator.value(node.source.id, places, _stream(given.values()))
        if answer is None:
            return None
        return int(answer) if node.type in INTEGRAL else float(answer)

    def _called(self, function: Call, given: Mapping[Expression, pa.Array]) -> Values | None:
        """The results of a Python function of the query whose operands are made of what is given; None where they are not."""
        code = self.evaluator.pythonFunction(function.source.id) if function.source else None
        if code is None:
            return None
        operands = [self._values(operand, given) for operand in function.operands]
        known = [values for values in operands if values is not None]
        results = call(function, bytes(code), [array for array, _ in known]) if len(known) == len(operands) else None
        return results and (results[0], np.logical_and.reduce([results[1], *(mask for _, mask in known)]))

    def _values(self, operand: Expression, given: Mapping[Expression, pa.Array]) -> Values | None:
        """The operand of a Python function for each row of what is given."""
        type_, rows = ARGUMENTS.get(operand.type), len(next(iter(given.values())))
        if type_ is None:
            return None
        if operand in given:
            return given[operand].cast(type_), np.ones(rows, dtype=bool)  # of NULL, if it is of no type
        if isinstance(operand, Literal) and not isinstance(operand.value, Opaque):
            return pa.array([operand.value] * rows, type_), np.ones(rows, dtype=bool)
        if operand.source is None or pa.types.is_nested(type_):
            return None
        places = ";".join(_places(operand, part) for part in given)
        encoded = self.evaluator.texts(operand.source.id, places, _stream(given.values()))
        return None if encoded is None else _decoded(bytes(encoded), type_)

    def dates_ascend(self, zone: str) -> bool:
        """See ask_spark.Spark."""
        return bool(self.evaluator.datesAscend(zone))

    def fixed_offset(self, zone: str) -> bool:
        """See ask_spark.Spark."""
        return bool(self.evaluator.fixedOffset(zone))

    def sql(self, node: Expression) -> str:
        """The node as Spark writes it in SQL."""
        if node.source is None:
            return str(node)
        if node.source not in self._sql:
            text = str(self.evaluator.sql(node.source.id))
            self._sql[node.source] = f"NOT {text}" if node.source.negated else text
        return self._sql[node.source]


def _decoded(texts: bytes, type_: pa.DataType) -> Values:
    """The values that Evaluator.texts tells; unknown where Spark raises an error, or makes what is no text."""
    values: list[str | None] = []
    known, at = [], 0
    while at < len(texts):
        length = int.from_bytes(texts[at : at + 4], "big", signed=True)
        at += 4
        text = texts[at : at + max(length, 0)]
        at += len(text)
        values.append(text.decode("utf-8", "replace") if length >= 0 else None)
        known.append(length != -2 and _is_text(text))
    return pa.array(values, pa.string()).cast(type_), np.array(known, dtype=bool)


def _is_text(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _functions(node: Expression, target: Expression) -> list[Call]:
    """The Python functions in a tree, without those in the arguments of others or in the target."""
    if node == target:
        return []
    if isinstance(node, Call) and node.name == "PythonUDF":
        return [node]
    return [function for child in node.children for function in _functions(child, target)]


def _stream(columns: Iterable[pa.Array]) -> bytes:
    """Arrays of equal length as an Arrow stream of one batch."""
    batch = pa.RecordBatch.from_arrays(arrays := list(columns), names=[f"v{i}" for i in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _places(node: Expression, target: Expression) -> str:
    """The numbers of the target's occurrences in a node."""
    return ",".join(str(part.source.id) for part in node.walk() if part == target and part.source)
