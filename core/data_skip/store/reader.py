"""How a scan turns files into values: what must be equal where a record is to say something of a query, and what cannot be relied on."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from data_skip.expression import Call, Expression, columns_of
from data_skip.store.settings import (
    FIRST_PART,
    OF_WRITERS,
    OTHER_STORES,
    SQL,
    SYSTEMS,
    ZONE,
    ZONE_RULES,
    converts_moments,
    matches_any,
    parses,
    relevant,
)

SUPPORTED_FORMATS = ("parquet", "orc", "avro", "csv", "json", "text", "geoparquet")
AS_PARQUET = ("parquet", "geoparquet")  # Sedona's reader is Spark's own but for geometry, and heeds the same settings
BY_POSITION = ("csv", "json", "text")  # values of one column depend on the whole schema: by position, or by what counts as malformed
WITH_MALFORMED = ("csv", "json")
_CUT_MATTERS = ("csv",)  # of these a file may give other rows where Spark cuts it into other parts
_IGNORES_CORRUPT = "ignoreCorruptFiles"

# Options that choose files or only say how a schema is inferred: they do not change what a row holds.
_WITHOUT_EFFECT = frozenset(
    (
        *("path", "paths", "__globpaths__", "basepath", "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"),
        *("ignorecorruptfiles", "ignoremissingfiles", "mergeschema", "inferschema", "samplingratio"),
        *("serialization.format", "compression"),
    )
)
_FLAGS = ("header", "multiline", "wholetext", "positionalfieldmatching", "orc.force.positional.evolution")  # true in any letters
_DEFAULTS = {("wholetext", "false")}  # that PySpark's spark.read.text sets, and other ways to read text leave out
_CORRUPT = "columnNameOfCorruptRecord"
_DEFAULT = "(default)"
_EXISTS_DEFAULT = "EXISTS_DEFAULT"  # in the metadata of a field
_DOUBTS = 4  # of the rules by which files of text are refused (building/doubts.py, lines.py): records by other rules may say too much
_SCHEMA_AT = "avroschemaurl"
_POSITIONAL_ORC = "orc.force.positional.evolution"
_POSITIONAL_LEVEL = f"{_POSITIONAL_ORC}.level"
_BY_ROWS = (f"{SQL}parquet.enableVectorizedReader", f"{SQL}parquet.enableNestedColumnVectorizedReader")  # where they are set to false
_POLICY = f"{SQL}legacy.timeParserPolicy"
_FORMATS = ("dateformat", "timestampformat", "timestampntzformat")
_PRUNING = f"{SQL}csv.parser.columnPruning.enabled"
_LEAST_PART = 1 << 14
_UNTOLD = "that of their machines"  # as TaskJvm.java has it
_AS_JAVA = {"utf-16": (b"\xfe\xff", "utf-16-be"), "utf-32": (b"", "utf-32-be")}  # Python's own add other marks of the order of bytes
_SHORT_YEAR = re.compile(r"(?<!y)y{1,2}(?!y)|(?<!Y)Y{1,2}(?!Y)")
_OF_LOCAL_TIMES = ("orc", "csv", "json")  # formats of which readers make moments by the rules of a time zone
_FIXED_ZONE = re.compile(r"(Etc/)?(UTC|GMT)|Z|[+-]\d\d:\d\d")


def cut_matters(description: Mapping[str, Any], settings: Iterable[Mapping[str, str]]) -> bool:
    """Whether a file may give other rows where Spark cuts it into other parts: see `ignores_corrupt_files`."""
    return description["format"] in _CUT_MATTERS or ignores_corrupt_files(description, settings)


def ignores_corrupt_files(description: Mapping[str, Any], settings: Iterable[Mapping[str, str]]) -> bool:
    """Whether of a file that cannot be read the rest is left out: that of a part, so that smaller parts give more of its rows."""
    values = [value for key, value in description["options"].items() if key.lower() == _IGNORES_CORRUPT.lower()]
    values += [of_session.get(f"{SQL}files.{_IGNORES_CORRUPT}", "false") for of_session in settings]
    return any(value.strip().lower() != "false" for value in values)


class Reading:
    """How a scan turns files into values. `description` and `settings` are those of a Scan."""

    BY = ("code", "format", "schema", "options")  # what it goes by of a description

    def __init__(self, description: Mapping[str, Any], settings: Sequence[Mapping[str, str]]) -> None:
        self._code = description.get("code")
        self._format, self._schema = description["format"], _parsed(description["schema"])
        self._options = {k.lower(): _plain(k.lower(), v) for k, v in description["options"].items() if _counts(k.lower())}
        self._has_ids = '"parquet.field.id"' in description["schema"]
        self._settings = settings
        self._sessions: dict[bool, list[dict[str, str]]] = {}

    def reader(self, trees: Iterable[Expression]) -> dict[str, Any]:
        """How the values of some expressions come about: equal readers see equal values in equal files."""
        trees = list(trees)
        paths = sorted({column.path for column in columns_of(trees)})
        have_default = _have_default(self._schema, paths)
        sessions = self._relevant(any(isinstance(tree, Call) for tree in trees) or have_default)
        reader = {"format": self._format, "options": dict(self._options.items() - _DEFAULTS), "session": _together(sessions)}
        columns = _columns(self._format, self._schema, paths, _by_position(reader))
        timed = '"timestamp"' in json.dumps([type_ for _, type_, *_ in columns])
        more: list[str] = []
        if self._format in AS_PARQUET and timed:
            more.append(ZONE)  # old calendars' moments are told by the clock of the JVM's zone, where the file does not name another
        local = self._format in _OF_LOCAL_TIMES or (self._format in AS_PARQUET and any(map(converts_moments, self._settings)))
        if ((local or have_default) and timed) or any(_follows_zones(node) for tree in trees for node in tree.walk()):
            more.append(ZONE_RULES)
        if header_may_move(reader):
            more += FIRST_PART
        if have_default:
            more += [key for found in self._settings for key in found if parses(key)]
        told = [{key: found[key] for key in more if key in found} for found in self._settings]
        reader["session"] = _together([{**session, **further} for session, further in zip(sessions, told, strict=True)])
        if self._code is not None:
            reader["session"]["jar of the reader"] = self._code
        doubts = {"doubts": _DOUBTS} if self._format in WITH_MALFORMED else {}
        return {**reader, "columns": columns, **doubts}

    def _relevant(self, evaluates: bool) -> list[dict[str, str]]:
        """Of each session the settings that may change what the scan gives; `evaluates`: expressions over it, as well."""
        if evaluates not in self._sessions:
            format_ = "parquet" if self._format in AS_PARQUET else self._format
            self._sessions[evaluates] = [relevant(found, format_, evaluates, self._has_ids) for found in self._settings]
        return self._sessions[evaluates]


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    """A schema's JSON: that of a wide table takes longer than all else that is asked of an index."""
    return json.loads(schema)


def _follows_zones(node: Expression) -> bool:
    """Whether a call may look up the rules of a time zone: that of the session, or one that a text names."""
    if not isinstance(node, Call):
        return False
    timed = any("timestamp" in part.type for part in (node, *node.operands))
    named = timed and any(operand.type.startswith("string") for operand in node.operands)
    zone = node.time_zone if timed or node.name != "Cast" else None  # every cast has one
    return named or (zone is not None and not _FIXED_ZONE.fullmatch(zone))


def header_may_move(reader: Mapping[str, Any]) -> bool:
    """Whether a header is left out only where it lies in the first part of its file: behind comments or empty lines it may not."""
    return bool(reader["format"] == "csv" and reader["options"].get("header", "false") != "false" and not _read_whole(reader))


def _has_default(column: Sequence[Any]) -> bool:
    """Whether one of a reader's columns, or a part of it, has a value for files that lack it."""
    _, _, *identities = column
    return any(isinstance(part, str) for part in identities)


def _is_struct_with_default(column: Sequence[Any]) -> bool:
    """Whether one of a reader's columns is, holds, or is a field of a struct that has a default for files that lack it."""
    path, type_, *_ = column
    return _has_default(column) and ('"struct"' in json.dumps(type_) or (isinstance(path, list) and len(path) > 1))


def _too_small(session: Mapping[str, str], key: str) -> str:
    """A setting of the sizes of parts that would cut files too small to collect them so; "" where it is not."""
    value = session.get(key, _DEFAULT)
    return "" if value == _DEFAULT or (value.isdecimal() and int(value) >= _LEAST_PART) else f"{key}={value}"


def _has_void(type_: Any) -> bool:
    """Whether a type, as JSON, is VOID, or holds it. Of what is there Spark's reader of JSON goes past the first token only."""
    if not isinstance(type_, Mapping):
        return bool(type_ == "void")
    parts = [type_.get(part) for part in ("elementType", "keyType", "valueType", "sqlType")]
    return any(map(_has_void, [*parts, *(field["type"] for field in type_.get("fields", ()))]))


def _read_whole(reader: Mapping[str, Any]) -> bool:
    """Whether a file of text is never cut into parts."""
    return bool(reader["options"].get("wholetext" if reader["format"] == "text" else "multiline") == "true")


def is_cut_into_lines(reader: Mapping[str, Any]) -> bool:
    """Whether a reader of text takes files apart line by line: it may begin with any of them, where a part of a file begins."""
    return reader["format"] in BY_POSITION and not _read_whole(reader)


def leaves_out_columns(reader: Mapping[str, Any]) -> bool:
    """Whether a reader of CSV goes through the columns that a query does not ask for in another way than through those that it does."""
    pruning = reader["options"].get("columnpruning") or (reader["session"] or {}).get(_PRUNING, "true")
    return bool(reader["format"] == "csv" and not _read_whole(reader) and pruning.lower() != "false")


def _why_of_fewer_columns(options: Mapping[str, str]) -> str:
    """Why a reader of CSV that leaves out columns gives other values to those that it reads; "" where it mostly does not.

    univocity looks for a delimiter that it went past, and for a quote before one of several characters, in what it kept of a column's text.
    Of a column that is left out it keeps none.
    """
    separator = options.get("sep", options.get("delimiter", ","))
    if len(separator) > 1 and not (separator.startswith("\\") and len(separator) == 2):
        return f"sep={separator!r}"
    handling = options.get("unescapedquotehandling", "")
    return f"unescapedQuoteHandling={handling}" if handling.upper() in ("BACK_TO_DELIMITER", "SKIP_VALUE") else ""


def is_of_writers(option: str) -> bool:
    """Whether an option, in small letters, says how files are written: tables of the catalog have them, of Hive all with partitions."""
    return matches_any(option, OF_WRITERS)


def _counts(option: str) -> bool:
    known = option in _WITHOUT_EFFECT or is_of_writers(option)
    return not known and (not option.startswith(SYSTEMS) or any(word in option for word in OTHER_STORES))


def may_lead_elsewhere(option: str) -> bool:
    """Whether an option may choose what is read, or which code reads it: keys of Hadoop have dots, and name hosts and classes."""
    name = option.lower()
    return not _counts(name) or name == _SCHEMA_AT or ("." in name and name != _POSITIONAL_ORC)


def _together(sessions: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What is set for a scan: one value each, or, where a view of another session is read, that session's and the query's."""
    table, query = sessions[0], sessions[-1]
    return {
        key: value if value == other else f"{value} (table), {other} (query)"
        for key in sorted(table.keys() | query.keys())
        for value, other in [(table.get(key, _DEFAULT), query.get(key, _DEFAULT))]
    }


def _by_position(reader: Mapping[str, Any]) -> bool:
    """Whether the value of a column depends on the whole schema."""
    forced = reader["options"].get(_POSITIONAL_ORC) or reader["session"].get(_POSITIONAL_ORC, "false")
    return reader["format"] in BY_POSITION or (reader["format"] == "orc" and forced != "false")


def malformed_column(reader: Mapping[str, Any]) -> str | None:
    """The column in which a reader of text keeps records that it cannot parse, where the schema has it: no file holds it."""
    if reader["format"] not in WITH_MALFORMED:
        return None
    of_session = reader["session"].get(f"spark.sql.{_CORRUPT}", "_corrupt_record")
    name = reader["options"].get(_CORRUPT.lower(), of_session)  # "" is a name as well
    return name if any(name == column for column, *_ in reader["columns"]) else None


def unsure(reader: Mapping[str, Any]) -> str:
    """Why nothing can be said of what a reader gives; "" where it can."""
    options = reader["options"]
    if reader["format"] == "avro" and _SCHEMA_AT in options:
        return f"the schema at avroSchemaUrl={options[_SCHEMA_AT]!r} may change; give it as avroSchema"
    if reader["format"] == "avro" and options.get("positionalfieldmatching", "false") != "false":
        return "positionalFieldMatching=true counts positions among the columns that a query asks for, so that each reads other values"
    if reader["format"] in (*AS_PARQUET, "orc") and (why := _why_by_other_columns(reader)):
        return why
    zone = (reader["session"] or {}).get(ZONE, "")
    if reader["format"] == "orc" and _UNTOLD in zone and '"timestamp"' in json.dumps([type_ for _, type_, *_ in reader["columns"]]):
        cure = "give them one by -Duser.timezone in spark.executor.extraJavaOptions"
        return f"timestamps in ORC are of the time zone of executors, and the query reads with {zone!r}, which is not known; {cure}"
    if header_may_move(reader) and (small := next(filter(None, (_too_small(reader["session"] or {}, key) for key in FIRST_PART)), "")):
        return f"{small} may cut a CSV file before its header, which then is a row; at least {_LEAST_PART} bytes are known to do"
    separator = options.get("linesep", "")
    if reader["format"] in BY_POSITION and not _read_whole(reader) and _begins_again(separator, options):
        return f"the beginning of lineSep={separator!r} is found in it again: which lines a file has depends on the parts it is read in"
    if reader["format"] == "csv" and _read_whole(reader) and options.get("columnpruning", "false").lower() != "false":
        return "columnPruning=true with multiLine=true reads other values where a query leaves out columns"
    if reader["format"] == "csv" and any(type_ == "variant" for _, type_, *_ in reader["columns"]):
        return "the type that CSV gives to a value of a VARIANT depends on the lines before it; read the column as a STRING"
    voids = [name for name, type_, *_ in reader["columns"] if _has_void(type_)]
    if reader["format"] == "json" and voids:
        return f"column {voids[0]} is of VOID: where a query asks for it, Spark takes fields in it for columns; leave it out of the schema"
    if leaves_out_columns(reader) and (why := _why_of_fewer_columns(options)):
        return f"{why} reads other values where a query leaves out columns; read with columnPruning=false"
    if reader["format"] in WITH_MALFORMED and (why := why_of_this_year(filter(None, map(options.get, _FORMATS)), reader)):
        return f"the reader {why}"
    return ""


def _why_by_other_columns(reader: Mapping[str, Any]) -> str:
    """Of files of columns, why the values of one depend on which others a query asks for; "" where they do not."""
    session, columns = reader["session"] or {}, reader["columns"]
    if column := next(filter(_is_struct_with_default, columns), None):
        return f"column {column[0]} is of a struct with a DEFAULT: Spark gives it other values where a query reads some of its fields only"
    level = reader["options"].get(_POSITIONAL_LEVEL, session.get(_POSITIONAL_LEVEL, "1"))
    if reader["format"] == "orc" and level != "1":
        return f"{_POSITIONAL_LEVEL}={level} finds fields of structs by their places among those that a query asks for"
    by_rows = reader["format"] == "geoparquet" or any(key in session for key in _BY_ROWS)
    if reader["format"] in AS_PARQUET and by_rows and (column := next(filter(_has_default, columns), None)):
        return f"column {column[0]} has a DEFAULT: in queries that read Parquet row by row it has other values"
    return ""


def why_of_this_year(patterns: Iterable[str], reader: Mapping[str, Any]) -> str:
    """Why text that is parsed by one of these patterns may be another date tomorrow; "" where it is not.

    Of years with two digits, java.text takes those of the century that ends twenty years after this moment.
    """
    policy = (reader["session"] or {}).get(_POLICY)
    short = next(filter(_SHORT_YEAR.search, patterns), None)
    if short is None or policy in ("CORRECTED", "EXCEPTION"):
        return ""
    return f"parses years with two digits by {short!r} under {_POLICY}={policy}: their century depends on the day"


def _begins_again(separator: str, options: Mapping[str, str]) -> bool:
    """Whether the first byte of a separator of lines is in it again, or may be.

    Of `||`, `|||` holds one at either of two places. And in `aaab` Hadoop finds no `aab` where a part ends behind `aa`: once the third `a`
    says that this begins none, it cannot go back to the second. Of U+2020 in UTF-16 both bytes are 0x20.
    """
    name = options.get("encoding", options.get("charset", "utf-8"))
    try:
        found = codecs.lookup(name).name
        mark, encoding = _AS_JAVA.get(found, (b"", found))
        written = mark + separator.encode(encoding)
    except (LookupError, UnicodeError):
        return bool(separator)
    return written[:1] in written[1:] if separator else False


def _plain(option: str, value: str) -> str:
    return value.lower() if option in _FLAGS else value


def _columns(format_: str, schema: Any, paths: Iterable[tuple[str, ...]], by_position: bool) -> list[Any]:
    """What the schema says of the columns that expressions read; where they are found by position, the whole schema.

    Of ORC also their places: in files whose columns are named _col0, _col1, ... Spark finds them by these.
    """
    if by_position:
        return [[field["name"], field["type"], *_identity(field)] for field in schema["fields"]]
    names = [field["name"] for field in schema["fields"]] if format_ == "orc" else []
    return [[list(path), *_described(schema, path), *([names.index(path[0])] if path[0] in names else [])] for path in paths]


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


def _shown(columns: Iterable[Sequence[Any]]) -> str:
    """Columns with their types, and what else chooses their values, for people."""
    texts = []
    for name, type_, *others in columns:
        named = name if isinstance(name, str) else ".".join(name)
        texts.append([named, type_ if isinstance(type_, str) else json.dumps(type_), *(other for other in others if other is not None)])
    return ", ".join(" ".join(map(str, text)) for text in texts)


def _have_default(schema: Any, paths: Iterable[tuple[str, ...]]) -> bool:
    """Whether files may lack a column that has a default: that is SQL, which Spark parses and evaluates by the settings of the query."""
    described = [_described(schema, path) for path in paths]
    return any(default is not None for _, *identities in described for default in identities[::2]) or _EXISTS_DEFAULT in json.dumps(
        described
    )


def _identity(field: Mapping[str, Any]) -> list[Any]:
    """The default of a field for files that lack it, and the Parquet id by which it may be looked up."""
    metadata = field.get("metadata", {})
    return [metadata.get(_EXISTS_DEFAULT), metadata.get("parquet.field.id")]


def difference(collected: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """The first difference of two readers, or why they cannot be compared, for people; "" where they are equal."""
    if why := unsure(query):
        return why
    if collected["session"] is None:
        return "collected by an earlier data-skip, which did not note every setting; drop the index and create it again"
    if collected.get("doubts") != query.get("doubts"):
        return "collected by another data-skip, which took other files of text for sure; drop the index and create it again"
    if collected["format"] != query["format"]:
        return f"collected with format {collected['format']}, the query reads {query['format']}"
    if collected["columns"] != query["columns"]:
        old, new = (
            [column for column in one["columns"] if column not in other["columns"]]
            for one, other in ((collected, query), (query, collected))
        )
        if new and not old:
            return f"collected without columns {_shown(new)}, the query reads with them"
        what = f"columns {_shown(old)}" if old or new else "columns in another order"
        return f"collected with {what}, the query reads {_shown(new or query['columns'])}"
    for part, unset in (("options", "(unset)"), ("session", _DEFAULT)):
        old, new = collected[part], query[part]
        for key in sorted(old.keys() | new.keys(), key=lambda key: (key == ZONE_RULES, key)):  # of a zone its name says more than its rules
            if old.get(key) != new.get(key):
                return f"collected with {key}={old.get(key, unset)!r}, the query reads with {new.get(key, unset)!r}"
    return ""
