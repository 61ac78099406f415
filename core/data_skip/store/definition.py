"""What the store keeps of an index besides its records: what it is, and how the rows were read that it was collected from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from data_skip.expression import Call, Column, Expression, decode
from data_skip.index import shown

SUPPORTED_FORMATS = ("parquet", "orc", "avro", "csv", "json", "text")
BY_POSITION = ("csv", "json", "text")  # values of one column depend on the whole schema: by position, or by what counts as malformed

# Options that choose files or only say how a schema is inferred: they do not change what a row holds.
_WITHOUT_EFFECT = frozenset(
    (
        *("path", "paths", "basepath", "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"),
        *("ignorecorruptfiles", "ignoremissingfiles", "mergeschema", "inferschema", "samplingratio", "preferdate"),
        *("serialization.format", "compression"),
    )
)
_DEFAULTS = {("wholetext", "false")}  # that PySpark's spark.read.text sets, and other ways to read text leave out
_EVERY_FORMAT = ("spark.sql.caseSensitive", "spark.sql.legacy.charVarcharAsString", "spark.sql.readSideCharPadding")
_SETTINGS = {
    "parquet": (
        "spark.sql.parquet.binaryAsString",
        "spark.sql.parquet.int96AsTimestamp",
        "spark.sql.parquet.int96TimestampConversion",
        "spark.sql.parquet.inferTimestampNTZ.enabled",
        "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.int96RebaseModeInRead",
    ),
    "orc": ("user.timezone",),
    "avro": ("spark.sql.avro.datetimeRebaseModeInRead", "user.timezone"),
    "csv": ("spark.sql.session.timeZone", "spark.sql.legacy.timeParserPolicy", "user.timezone"),
    "json": ("spark.sql.session.timeZone", "spark.sql.legacy.timeParserPolicy", "user.timezone"),
    "text": (),
}
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"  # Delta's extension of Spark sets it; of a schema without ids it changes nothing
_OF_EXPRESSIONS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.legacy.timeParserPolicy", "user.timezone")


def reader_of(description: Mapping[str, Any], settings: Any, trees: Iterable[Expression]) -> dict[str, Any]:
    """How a scan turns files into the values of some expressions: equal readers see equal values in equal files.

    `description` is that of a Scan, `settings` its method that looks up settings of the session.
    """
    format_ = description["format"]
    keys = (*_EVERY_FORMAT, *_SETTINGS.get(format_, ()))
    if any(isinstance(tree, Call) for tree in trees):
        keys = (*keys, *_OF_EXPRESSIONS)
    if format_ == "parquet" and '"parquet.field.id"' in description["schema"]:
        keys = (*keys, _BY_ID)
    found = settings(tuple(dict.fromkeys(keys)))
    if found.get("spark.sql.parquet.int96TimestampConversion") == "true":  # to the zone of the session
        found = found | settings(("spark.sql.session.timeZone",))
    options = {k.lower(): _plain(v) for k, v in description["options"].items() if k.lower() not in _WITHOUT_EFFECT}
    options = dict(options.items() - _DEFAULTS)
    return {
        "format": format_,
        "options": options,
        "columns": _columns(description, trees),
        "settings": found,
    }


def _plain(value: str) -> str:
    return value.lower() if value.lower() in ("true", "false") else value


def _columns(description: Mapping[str, Any], trees: Iterable[Expression]) -> list[Any]:
    """What the schema says of the columns that the expressions read; for text formats, the whole schema."""
    schema = json.loads(description["schema"])
    if description["format"] in BY_POSITION:
        return [[field["name"], field["type"], *_identity(field)] for field in schema["fields"]]
    paths = {node.path for tree in trees for node in tree.walk() if isinstance(node, Column)}
    return [[list(path), *_described(schema, path)] for path in sorted(paths)]


def _described(schema: Any, path: tuple[str, ...]) -> list[Any]:
    """The type of a column or field, and what else chooses its values on the way to it; [None] where the schema lacks it."""
    identities: list[Any] = []
    for name in path:
        while isinstance(schema, dict) and schema["type"] == "array":
            schema = schema["elementType"]
        field = next((f for f in schema.get("fields", ()) if f["name"] == name), None) if isinstance(schema, dict) else None
        if field is None:
            return [None]
        schema = field["type"]
        identities += _identity(field)
    return [schema, *identities]


def _identity(field: Mapping[str, Any]) -> list[Any]:
    """The default of a field for files that lack it, and the Parquet id by which it may be looked up."""
    metadata = field.get("metadata", {})
    return [metadata.get("EXISTS_DEFAULT"), metadata.get("parquet.field.id")]


def difference(collected: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """The first difference of two readers, for people; "" where they are equal."""
    for part in ("format", "columns"):
        if collected[part] != query[part]:
            return f"collected with {part} {collected[part]}, the query reads {query[part]}"
    for part in ("options", "settings"):
        old, new = collected[part], query[part]
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                return f"collected with {key}={old.get(key, '(unset)')!r}, the query reads with {new.get(key, '(unset)')!r}"
    return ""


@dataclass(frozen=True)
class Definition:
    """An index as the store keeps it: in the metadata of its column, as JSON."""

    kind: str
    expressions: tuple[str, ...]
    parameters: dict[str, Any]
    version: int
    trees: tuple[Any, ...]
    reader: dict[str, Any]

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Definition:
        """KeyError or ValueError for a text that is no definition."""
        d = json.loads(text)
        return cls(d["kind"], tuple(d["expressions"]), d["parameters"], d["version"], tuple(d["trees"]), d["reader"])

    def bound_expressions(self) -> tuple[Expression, ...]:
        """The trees of the expressions, as Spark optimised them when the index was created."""
        return tuple(decode(tree) for tree in self.trees)

    def same_as(self, other: Definition) -> bool:
        """Whether records of one are records of the other."""
        return (self.kind, self.version, self.parameters, self.reader, self.bound_expressions()) == (
            *(other.kind, other.version, other.parameters, other.reader),
            other.bound_expressions(),
        )

    def __str__(self) -> str:
        return shown(self.kind, self.expressions, self.parameters)
