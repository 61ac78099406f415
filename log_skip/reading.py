r"""Reading logs as they lie: nothing is converted, no line is lost, and indexes skip the text files themselves.

    log = log_skip.read_access_log(spark, "data/httpd")  # .log and .gz, common or combined format
    skipping.table("data/httpd", format="text").create_index(*log_skip.recipe("raw_access_log"))
    log.where("status = 404 AND get_agent_name(user_agent) = 'Googlebot'")

Each field is an extractor of the line, so that `access_log_status(value)` is the same in an index, in SQL over the raw lines, and in
the column `status` of `read_access_log`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from log_skip.extractors import literal, register_missing, sql_extractor

MALFORMED = "_malformed"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
# Apache writes a quote as \" and a backslash as \\. Possessive, so that Java needs no stack for a long one.
_QUOTED = r'(?:[^"\\]++|\\.)*+'
# Debian's vhost_combined begins with the server and its port (no address has one colon); three words are left then, the first no "-".
_VHOST = r"(?:[^\s:]++:\d{1,5} (?!- )(?=\S+ \S+ [^\[\x22]+? \[\d\d/))?+"
_FIELDS = {  # of the common format, then those that the combined format adds
    "ip": r"\S+",
    "identity": r"\S+",
    "user": r".+?",
    "time": rf"\d\d/(?:{_MONTHS})/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}}",
    "request": _QUOTED,
    "status": r"\d{3}",
    "bytes": r"\d+|-",
}
_COMBINED = {"referrer": _QUOTED, "user_agent": _QUOTED}
_COMMON = '^{vhost}{ip} {identity} {user} \\[{time}\\] "{request}" {status} {bytes}'
_MORE = ' "{referrer}" "{user_agent}"'
_TYPED = {
    "time": "try_to_timestamp({}, 'dd/MMM/yyyy:HH:mm:ss Z')",
    "status": "try_cast({} AS int)",
    "bytes": "try_cast({} AS bigint)",
}
_REQUEST = {"method": "^([A-Z]+) ", "path": "^[A-Z]+ ([^ ]+)", "protocol": " (HTTP/[0-9.]+)$"}


def _pattern(field: str) -> str:
    """The whole line, with one field as its only group. Without the field, or with `-` in its place, it is not found."""
    groups = {name: f"(?:{form})" for name, form in (_FIELDS | _COMBINED).items()}
    end = '"' if _QUOTED in groups[field] else " "
    groups[field] = f"((?!-{end}){groups[field]})"
    common, more = _COMMON.format(vhost=_VHOST, **groups), _MORE.format(**groups)
    return f"{common}{more if field in _COMBINED else f'(?:{more})?'}\\s*$"


def _expression(field: str) -> str:
    """NULL where the pattern is not found. No CASE or nullif: the optimizer would take them apart around a comparison."""
    if field in _REQUEST:
        return f"try_element_at(regexp_extract_all({_expression('request')}, {literal(_REQUEST[field])}, 1), 1)"
    found = f"try_element_at(regexp_extract_all({{0}}, {literal(_pattern(field)).replace('{', '{{').replace('}', '}}')}, 1), 1)"
    return _TYPED.get(field, "{}").format(found)


_TYPES = {"time": "timestamp", "status": "int", "bytes": "bigint"}
ACCESS_LOG = {field: f"access_log_{field}(value)" for field in (*_FIELDS, *_REQUEST, *_COMBINED)}
for _field in ACCESS_LOG:
    sql_extractor(f"access_log_{_field}", _expression(_field), version=2, returns=_TYPES.get(_field, "string"))


def read_access_log(spark: SparkSession, path: str) -> DataFrame:
    """An access log in common or combined format, text or gzipped, a row a line: the columns of ACCESS_LOG, and `_malformed`.

    The server and port with which lines in vhost_combined begin are passed over.
    A line in another format, or of an impossible time, is kept whole in `_malformed`, which is NULL for all others; `malformed_lines`
    counts them. A field that is absent (`-`) is NULL, and so are method, path and protocol of a request that is none (`request` has
    it). Registers the extractors that the session has not been given yet.
    """
    register_missing(spark)
    lines = spark.read.text(path)
    fields = [f"{sql} AS {field}" for field, sql in ACCESS_LOG.items()]
    malformed = f"CASE WHEN {ACCESS_LOG['time']} IS NULL THEN value END AS {MALFORMED}"
    return lines.selectExpr(*fields, malformed, *(f"`{name}`" for name in lines.columns if name != "value"))


def read_json_lines(spark: SparkSession, path: str, schema: StructType | str | None = None) -> DataFrame:
    """JSON lines, a row a line, with one more column, `_malformed`: the line, where it is no JSON object or a field has another type.

    schema: as of spark.read; without it Spark reads the files once to find it. What could be parsed of a malformed line is in its columns.
    """
    reader = spark.read.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", MALFORMED)
    known = (reader.schema(schema) if schema else reader).json(path).schema
    fields = [field for field in known.fields if field.name != MALFORMED]
    return reader.schema(StructType(fields).add(MALFORMED, StringType())).json(path)


def malformed_lines(frame: DataFrame) -> int:
    """How many lines of a log were malformed. All columns are read: those that a query does not ask for are never found malformed."""
    counts = [F.count(F.col(f"`{name}`")) for name in frame.columns]
    row = frame.where(F.col(MALFORMED).isNotNull()).agg(F.count(F.lit(1)).alias("malformed"), *counts).first()
    return int(row["malformed"]) if row is not None else 0
