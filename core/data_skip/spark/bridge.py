"""One scan of a query, as the JVM hands it over: its description, and the Spark that answers questions about it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from data_skip.ask_spark import Bisection, Claims
from data_skip.data_types import INTEGRAL
from data_skip.expression import Call, Expression, Literal, Source, decode, decode_value

_MOST_OPERANDS = 10  # of an AND or OR that are written out for people
_ERROR, _ASKED = 3, 4  # what Evaluator.evaluate says of a value, besides false, true and NULL
_TYPE_NAMES = {"timestamp": "timestamp_ltz"}  # in SQL text, "timestamp" is the type that spark.sql.timestampType says


class Scan:
    """A scan that Spark plans: its AskedScan in the JVM. It is the `ask_spark.Spark` of filters, which ask about its tree."""

    def __init__(self, java: Any = None, listing: Callable[[], Any] | None = None, told: Mapping[str, Any] = MappingProxyType({})) -> None:
        """listing: gives a Listing of the JVM, which lists the scan. `told`: what is known of it already, else it is asked for."""
        self._java, self._listing, self._told = java, listing, told
        self._sql: dict[Source, str] = {}
        self._truths: dict[tuple[str, str, bytes], npt.NDArray[np.uint8]] = {}
        self.asks = False  # for Python functions to be run, and the same questions to be put again

    def __reduce__(self) -> str:
        raise TypeError("what asks the Spark that planned a query stays with it")

    @property
    def java(self) -> Any:
        """The AskedScan."""
        if self._java is None and self._listing is not None:
            self._java = self._listing().scan()
        return self._java

    @cached_property
    def description(self) -> dict[str, Any]:
        """format, options, schema, predicate, runtime_filters, reads, notes, and what is set of it: see Told.java."""
        text = self._told.get("description") or self.java.description()
        return dict(json.loads(text))

    @cached_property
    def format(self) -> str:
        """Of its files: `parquet`, or what else a reader is called."""
        return str(self._told.get("format") or self.description["format"])

    @cached_property
    def roots(self) -> list[str]:
        """The root paths that are read; of a catalog table first its location."""
        return [root.rstrip("/") for root in self._told.get("roots") or json.loads(self.java.roots())]

    @cached_property
    def predicate(self) -> Expression:
        """The WHERE tree of the scan."""
        return decode(self.description["predicate"])

    @cached_property
    def settings(self) -> list[dict[str, str]]:
        """What is set in the session of the relation, and in the query's where that is another: see Told.java."""
        return list(self._told.get("settings") or json.loads(self.java.settings()))

    def refresh(self) -> None:
        """Has Spark list the files anew, the next time that it is asked for them."""
        self.java.refresh()

    def let_go(self) -> None:
        """Of a Listing of the JVM, once files are chosen: keeps none of what is needed for that only."""
        if self._listing is not None:
            self._java = None

    def forget(self) -> None:
        """Has Python functions run anew, the next time that they are asked about."""
        self.java.workers().clear()
        self._truths.clear()

    def run_workers(self) -> None:
        """Has Spark's workers run the Python functions that were asked about: not inside of a callback, where no query is started."""
        self.java.runWorkers()
        self.asks = False

    @property
    def number(self) -> int:
        """Tells the scans of a query apart."""
        return int(self._told.get("number") or self.java.number())

    @cached_property
    def evaluator(self) -> Any:
        """The Evaluator of the JVM, over the nodes of this scan's tree."""
        return self.java.evaluator()

    def truth(self, node: Expression, target: Expression, values: pa.Array) -> npt.NDArray[np.uint8] | None:
        """See ask_spark.Spark."""
        if node.source is None:
            return None
        places, stream = _places(node, target), _stream([values])
        question = (str(node.source), places, xxhash.xxh3_128_digest(stream))
        if question in self._truths:  # of a leaf in an AND: once with the others, once alone for the report
            return self._truths[question]
        answer = self.evaluator.evaluate(str(node.source), places, stream)
        if answer is None:
            return None
        found = np.frombuffer(b64decode(answer), dtype=np.uint8)
        truths = np.where(found >= _ERROR, 2, found == 1).astype(np.uint8)
        if (found == _ASKED).any():
            self.asks = True
        else:
            self._truths[question] = truths
        return truths

    def bisect(self, function: Expression, constant: Literal, target: Expression, checked: list[Call]) -> Bisection | None:
        """See ask_spark.Spark."""
        if function.source is None or constant.source is None:
            return None
        unsafe = ",".join(str(call.source) for call in checked if call.source)
        answer = self.evaluator.bisect(str(function.source), str(constant.source), _places(function, target), unsafe)
        if answer is None:
            return None
        *ordinals, increasing, strict, nan = answer.split(",")
        first, reached, passed, last = map(int, ordinals)
        return Bisection(first, reached, passed, last, increasing == "true", strict == "true", None if nan == "?" else int(nan))

    def may_be(self, node: Expression, claims: Claims, columns: list[pa.Array]) -> npt.NDArray[np.bool_]:
        """See ask_spark.Spark."""
        assert node.source is not None
        rules = {number: {name: value for name, value in asdict(rule).items() if value} for number, rule in claims.rules.items()}
        program = json.dumps({"targets": list(claims.targets.values()), "rules": rules, "monotone": claims.monotone})
        answer = self.java.ranges(program).mayBe(node.source.id, not node.source.negated, _stream(columns))
        return np.frombuffer(b64decode(answer), dtype=np.uint8) == 1

    def cast(self, cast: Call, values: pa.Array) -> list[Literal] | None:
        """See ask_spark.Spark."""
        types = [_TYPE_NAMES.get(type_, type_) for type_ in (cast.operands[0].type, cast.type)]
        encoded = self.evaluator.cast(*types, cast.time_zone, _stream([values]))
        return None if encoded is None else [Literal(cast.type, None, decode_value(value)) for value in json.loads(encoded)]

    def value(self, node: Expression, given: Mapping[Expression, pa.Array]) -> float | None:
        """See ask_spark.Spark."""
        if node.source is None:
            return None
        places = ";".join(_places(node, target) for target in given)
        answer = self.evaluator.value(str(node.source), places, _stream(given.values()))
        if answer is None or answer == "ask":
            self.asks |= answer is not None
            return None
        return int(answer) if node.type in INTEGRAL else float(answer)

    def dates_ascend(self, zone: str) -> bool:
        """See ask_spark.Spark."""
        return bool(self.evaluator.datesAscend(zone))

    def fixed_offset(self, zone: str) -> bool:
        """See ask_spark.Spark."""
        return bool(self.evaluator.fixedOffset(zone))

    def sql(self, node: Expression) -> str:
        """The node as Spark writes it in SQL; of many operands of AND and OR the first ones."""
        if isinstance(node, Call) and node.name in ("And", "Or"):  # Spark would write each level again, and one in the other
            more = [f"{len(node.operands) - _MOST_OPERANDS:,} more"] if len(node.operands) > _MOST_OPERANDS else []
            return f"({f' {node.name.upper()} '.join([*map(self.sql, node.operands[:_MOST_OPERANDS]), *more])})"
        if node.source is None:
            return str(node)
        if node.source not in self._sql:
            text = str(self.evaluator.sql(node.source.id))
            self._sql[node.source] = f"NOT {text}" if node.source.negated else text
        return self._sql[node.source]


def _stream(columns: Iterable[pa.Array]) -> bytes:
    """Arrays of equal length as an Arrow stream of one batch."""
    batch = pa.RecordBatch.from_arrays(arrays := list(columns), names=[f"v{i}" for i in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _places(node: Expression, target: Expression) -> str:
    """Where the target stands in a node."""
    return ",".join(str(part.source) for part in node.walk() if part == target and part.source)
