"""Which settings of a session belong to an index: all that are set and not at their default, less those that cannot matter.

A list of what matters is never complete, so this is one of what does not, by rule and with a reason each. What no rule names matters.
Patterns: `x.*` and `x*` are prefixes, `*x` an ending, `*x*` a part, others whole keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

SQL = "spark.sql."

# Keys that say which files of a folder a listing has, whatever the rules below make of them. SnapshotTable.java has them too.
CHOOSE_FILES = (
    f"{SQL}files.ignoredPathSegmentRegex",
    "ignoredPathSegmentRegex",  # the option
    f"{SQL}streaming.fileStreamSink.ignoreMetadata",
    "mapreduce.input.pathFilter.class",
    "mapred.input.pathFilter.class",
)

_PARSING = "how SQL is parsed; what is parsed is compared itself, but the DEFAULT of a column, which is text (see `parses`)"
# Keys under spark.sql. that change neither what a reader makes of a file nor what an expression makes of a row.
WITHOUT_EFFECT: Mapping[str, tuple[str, ...]] = {
    "how work is cut, exchanged, cached and kept in memory; rows are the same however it is": (
        *("adaptive.*", "shuffle*", "broadcast*", "autoBroadcastJoinThreshold", "maxBroadcastTableSize", "join.*", "limit.*", "exchange.*"),
        *("bucketing.*", "sources.bucketing.*", "sources.v2.bucketing.*", "cartesianProductExec.*", "sessionWindow.*", "windowExec.*"),
        *("window.*", "sortMergeJoinExec.*", "sort.*", "objectHashAggregate.*", "inMemory*", "cache.*", "dataframeCache.*"),
        *("defaultCacheStorageLevel", "columnVector.*", "classic.*", "connect.*", "subquery.maxThreadThreshold", "resultQueryStage.*"),
        *(
            "files.maxPartitionBytes",
            "files.maxPartitionNum",
            "files.minPartitionNum",
            "files.openCostInBytes",
            "leafNodeDefaultParallelism",
        ),
        *(
            "maxSinglePartitionBytes",
            "requireAllClusterKeys*",
            "sources.ignoreDataLocality",
            "*columnarReaderBatchSize",
            "unionOutputPartitioning",
        ),
        *("optimizeNullAwareAntiJoin*", "orderingAwareLimitOffset", "planner.*", "*.maxThreadThreshold"),
    ),
    _PARSING: (
        *("parser.*", "legacy.parser.*", "legacy.parseQueryWithoutEof", "legacy.setopsPrecedence.*", "legacy.bangEqualsNot"),
        *("legacy.consecutiveStringLiterals.*", "legacy.identifierClause", "legacy.parameterSubstitution.*"),
        *("ansi.doubleQuotedIdentifiers", "ansi.enforceReservedKeywords", "ansi.relationPrecedence", "operatorPipeSyntaxEnabled"),
        "allowNamedFunctionArguments",
    ),
    "how a plan is found; the expressions that come out of it are compared themselves": (
        *("optimizer.*", "analyzer.*", "experimental.optimizer.*", "cbo.*", "statistics.*", "constraintPropagation.*", "legacy.cte*"),
        # but codegen.* also says whether ORC is read in batches, by which maps differ: no index is made of these (proofs/steady.py)
        *("codegen.*", "subexpressionElimination.*", "alwaysInlineCommonExpr", "useCommonExprIdForAlias", "lazySetOperatorOutput.*"),
        *("lightweightPlanChangeValidation", "planChangeLog.*", "planChangeValidation*", "cteRe*", "crossJoin.*", "groupBy*", "orderBy*"),
        *(
            "selfJoinAutoResolveAmbiguity",
            "retainGroupColumns",
            "pivotMaxValues",
            "transposeMaxValues",
            "defaultSizeInBytes",
            "lateralColumnAlias.*",
        ),
        *("stableDerivedColumnAlias.*", "filesourceTableRelationCacheSize", "metadataCacheTTLSeconds", "prioritizeOrdinal*"),
        *(
            "runCollationTypeCastsBeforeAliasAssignment.*",
            "enforceTypeCoercionBeforeUnion*",
            "dropDuplicates.*",
            "view.*",
            "functionResolution.*",
        ),
        *("dataSource.*", "variable.substitute", "python.filterPushdown.*", "legacy.inlineCTEInCommands", "legacy.scalarSubquery*"),
        *(
            "sources.structPredicateDecompose*",
            "sources.fileCompressionFactor",
            "tvf.*",
            "timeTravel*",
            "binByRelationOperator.*",
            "nameResolutionLog.*",
            "listagg.*",
            "path.*",
        ),
        *("legacy.inSubqueryNullability", "legacy.groupingId*", "legacy.integerGroupingId", "legacy.bucketedTableScan.*"),
    ),
    "what a reader may leave out since no row of it matches; a filter that Spark pushes down is evaluated again": (
        *(
            "parquet.filterPushdown*",
            "parquet.pushdown.*",
            "parquet.recordLevelFilter.*",
            "parquet.aggregatePushdown",
            "orc.filterPushdown",
        ),
        # but by json.filterPushdown.* records may be malformed, and no index is made of the column that tells of them (proofs/steady.py)
        *("orc.aggregatePushdown", "avro.filterPushdown.*", "csv.filterPushdown.*", "json.filterPushdown.*"),
    ),
    "how files are written": (
        *(
            "*InWrite",
            "*.compression.codec",
            "*columnarWriterBatchSize",
            "avro.deflate.*",
            "avro.xz.*",
            "avro.zstandard.*",
            "parquet.output*",
        ),
        *("parquet.writeLegacyFormat", "parquet.fieldId.write.*", "parquet.variant.annotateLogicalType.*", "sources.commitProtocolClass"),
        *("sources.outputCommitterClass", "sources.partitionOverwriteMode", "files.maxRecordsPerFile", "maxConcurrentOutputFileWriters"),
        *("storeAssignmentPolicy", "insertInto*", "insertNested*", "mergeNested*", "addPartitionInBatch.*", "fileSource.insert.*"),
        *(
            "defaultColumn.useNullsForMissingDefaultValues",
            "variant.writeShredding.*",
            "variant.inferShreddingSchema",
            "variant.shredding.*",
        ),
        *("legacy.allowEmptySchemaWrite", "legacy.allowNonEmptyLocationInCTAS", "legacy.dataFrameWriterV2*", "generatedColumn.*"),
        "execution.fastFailOnFileFormatOutput",
    ),
    "how a schema is found; the schema is compared itself": (
        *(
            "parquet.mergeSchema",
            "parquet.respectSummaryFiles",
            "orc.mergeSchema",
            "hive.caseSensitiveInferenceMode",
            "sources.schemaString*",
        ),
    ),
    "which files there are, or that one cannot be read; an index is collected of files that can": (
        *("files.ignoreCorruptFiles", "files.ignoreMissingFiles", "files.ignoreInvalidPartitionPaths"),
        *("sources.parallelPartitionDiscovery.*", "sources.useListFilesFileSystemList", "sources.validatePartitionColumns"),
    ),
    "catalogs, metastores and names, by which tables are found": (
        *("catalog.*", "catalogImplementation", "defaultCatalog", "warehouse.dir", "globalTempDatabase", "hive.*", "sources.default"),
        *("sources.useV1SourceList", "sources.disabledJdbc*", "runSQLOnFiles", "dropTableOnView.*", "truncateTable.*", "defaultPath"),
        *("artifact.*", "maven.*", "extensions*", "kafka.*", "protobuf.descriptorCacheSize", "reflect.*", "restrictedMode.*"),
        *(
            "udt.*",
            "defaultUrlStreamHandlerFactory.*",
            "legacy.createHiveTableByDefault",
            "legacy.persistentCatalogFirst",
            "legacy.useV1Command",
        ),
        *(
            "legacy.v1IdentifierNoCatalog",
            "legacy.notReserveProperties",
            "legacy.viewSchema*",
            "legacy.allowTempView*",
            "legacy.blockCreateTemp*",
        ),
        *("legacy.db2.*", "legacy.mssqlserver.*", "legacy.mysql.*", "legacy.oracle.*", "legacy.postgres.*", "legacy.jdbc.*"),
        *("legacy.hive.*", "legacy.addSingleFileInAddFile", "legacy.skipTypeValidationOnAlterPartition"),
    ),
    "streams": ("streaming.*", "pipelines.*"),
    "what is shown, logged, or handed to the user's program": (
        *("ui.*", "repl.*", "cli.*", "debug*", "event.*", "error.*", "redaction.*", "thriftServer.*", "thriftserver.*", "scripting.*"),
        *(
            "maxPlanStringLength",
            "maxMetadataStringLength",
            "extendedExplainProviders",
            "queryExecutionListeners",
            "expressionTreeChangeLog.*",
        ),
        *("stackTracesInDataFrameContext", "dataFrameQueryContext.*", "session.localRelation*", "pyspark.*"),
        *(
            "legacy.emptyCurrentDBInCli",
            "legacy.keepCommandOutputSchema",
            "legacy.raiseErrorWithoutErrorClass",
            "legacy.setCommandRejects*",
        ),
        *("legacy.observeMetrics*", "scriptTransformation.*", "assumeAnsiFalseIfNotPersisted.*", "sources.binaryFile.*"),
    ),
    "how operators run": (
        *(
            "execution.arrow.cache.*",
            "execution.arrow.compression.*",
            "execution.arrow.fallback.*",
            "execution.arrow.localRelationThreshold",
        ),
        *("execution.arrow.max*", "execution.arrow.pyspark.*", "execution.arrow.sparkr.*", "execution.arrow.transformWithState*"),
        *(
            "execution.arrow.enabled",
            "execution.broadcastHashJoin.*",
            "execution.bypass*",
            "execution.combine*",
            "execution.interruptOnCancel",
        ),
        *("execution.pandas.udf.buffer.size", "execution.python.udf.*", "execution.pyspark.python", "execution.pyspark.udf.*"),
        *(
            "execution.pandas.inferPandasDictAsMap",
            "execution.pushDownLocalSort*",
            "execution.rangeExchange.*",
            "execution.removeRedundant*",
        ),
        *("execution.replaceHashWithSortAgg", "execution.reuseSubquery", "execution.sortBeforeRepartition", "execution.topKSort*"),
        *("execution.use*", "execution.udf.unified.*", "execution.pythonUDTF.*", "execution.pythonUDF.arrow.concurrency.level"),
    ),
}

# Keys that change what some readers or expressions give, by what they change; a rule of a format is about its files, and expressions.
OF_EXPRESSIONS: Mapping[str, tuple[str, ...]] = {
    "what a function, a cast or a literal gives": (
        *("ansi.*", "session.timeZone", "timestampType", "decimalOperations.*", "function.*", "mapKeyDedupPolicy", "icu.*", "collation.*"),
        *(
            "chunkBase64String.*",
            "jsonGenerator.*",
            "datetime.java8API.*",
            "variant.*",
            "xml.*",
            "mapZipWithUsesJavaCollections",
            "timeType.*",
            "binaryOutputStyle",  # of to_csv as well
        ),
        *("timestampNanosTypes.*", "geospatial.*", "legacy.sizeOfNull", "legacy.interval.*", "legacy.literal.*", "legacy.exponentLiteral*"),
        *("legacy.typeCoercion.*", "legacy.castComplexTypesToString.*", "legacy.fromDayTimeString.*", "legacy.followThreeValuedLogic*"),
        *("legacy.percentileDiscCalculation", "legacy.statisticalAggregate", "legacy.allowHashOnMapType", "legacy.allowUntypedScalaUDF"),
    ),
    "what a Python function is given, and what becomes of its result": (
        *("execution.pandas.*", "execution.pythonUDF.*", "execution.arrow.useLargeVarTypes", "execution.arrow.pythonUDF.*"),
        *("execution.pyspark.binaryAsBytes", "legacy.execution.*"),
    ),
}
OF_FORMATS: Mapping[str, tuple[str, ...]] = {
    "parquet": ("parquet.*", "legacy.parquet.*"),
    "orc": ("orc.*",),
    "avro": ("avro.*", "legacy.avro.*", "legacy.replaceDatabricksSparkAvro.*"),
    "csv": ("csv.*", "legacy.csv.*", "legacy.nullValueWrittenAsQuotedEmptyStringCsv", "columnNameOfCorruptRecord"),
    "json": ("json.*", "legacy.json.*", "columnNameOfCorruptRecord"),
}
OF_ALL: Mapping[str, tuple[str, ...]] = {
    "which files a table has, to Spark's listing": tuple(key.removeprefix(SQL) for key in CHOOSE_FILES if key.startswith(SQL)),
    "which column a name means, and what one without a value holds": ("caseSensitive", "defaultColumn.*"),
    "types of text": ("charAsVarchar", "preserveCharVarcharTypeInfo", "readSideCharPadding"),
    "how files are read": ("files.supportSecondOffsetFormat", "files.archive.*", "execution.datasources.*"),
    "what a column of a partition holds": ("sources.partitionColumnTypeInference.*",),
    "what an earlier version of Spark gave": ("legacy.*",),
}

# Keys without `spark.`, which Spark hands to Hadoop and so to the libraries that read files; these do, under their own names. The JVM side
# looks for them in what the session sets and in Hadoop's own configuration. Others are variables of users, or of systems.
HADOOP = (
    "orc.",
    "avro.",
    "parquet.",
    "mapreduce.input.",
    "mapred.input.pathFilter.",
    "mapred.linerecordreader.",
    "hive.exec.orc.",
    "io.compression.",
)
HADOOP_WITHOUT_EFFECT: Mapping[str, tuple[str, ...]] = {
    "how work is cut": ("mapreduce.input.fileinputformat.split.*", "mapreduce.input.fileinputformat.list-status.*", "*.inputdir*"),
    "how files are written": (
        *("parquet.block.size", "parquet.page.*", "parquet.dictionary.*", "parquet.enable.*", "parquet.compression*", "parquet.bloom.*"),
        *("parquet.writer.*", "parquet.summary.*", "parquet.output.*", "parquet.memory.*", "orc.compress*", "orc.stripe.*", "orc.bloom.*"),
        *("orc.row.*", "orc.block.*", "orc.create.*", "orc.dictionary.*", "orc.memory.*", "avro.output.*", "avro.mapred.deflate.*"),
        *("avro.mapred.zstd.*", "avro.mapred.xz.*"),
    ),
    "keys of encryption; without the right ones nothing is read, and an index must not hold them": (
        "parquet.encryption.*",
        "parquet.crypto.*",
    ),
}
OF_WRITERS = ("partitionoverwritemode", "maxrecordsperfile", *HADOOP_WITHOUT_EFFECT["how files are written"])  # options, in small letters
SYSTEMS = ("fs.", "dfs.", "parquet.encryption.", "parquet.crypto.")  # options of a reader that fetch the bytes, and may be secrets
# In the name of one of these by which the bytes may be those of another store, and which is no secret.
OTHER_STORES = ("endpoint", ".impl", "proxy.host", "region", "defaultfs", "accesspoint", "root.url")

ZONE = "user.timezone"  # of the JVM
LOCALES = "java.locale.providers"  # of the JVM, where it is set: what time zones and the like are called, as date_format writes them
ZONE_RULES = "java.time.zone.version"  # of all time zones: governments change them, and updates of the same Java follow
# How small the first part of a file may be. Its header is left out there only, wherever comments and empty lines have moved it.
FIRST_PART = (f"{SQL}files.maxPartitionBytes", f"{SQL}files.openCostInBytes")

# Told of every session, with their values: at different defaults by machine, environment or version of Spark.
EFFECTIVE_IN_EXPRESSIONS = (
    f"{SQL}session.timeZone",
    f"{SQL}ansi.enabled",
    f"{SQL}legacy.timeParserPolicy",
    ZONE,
    "user.locale",  # of the JVM: upper('i') is 'I', beside a letter beyond ASCII and in Turkish 'İ'
    "java.specification.version",  # digits of doubles as text, tables of Unicode
    "spark.version",
)
EFFECTIVE_IN_FORMATS: Mapping[str, tuple[str, ...]] = {
    "orc": (ZONE,),
    "avro": (ZONE,),
    "csv": EFFECTIVE_IN_EXPRESSIONS,
    "json": EFFECTIVE_IN_EXPRESSIONS,
}
_PARSED = ("csv", "json")  # whose readers use casts and parsers of expressions
_CONVERSION = f"{SQL}parquet.int96TimestampConversion"
_BY_ID = "parquet.fieldId."  # of a schema without ids it changes nothing


def relevant(found: Mapping[str, str], format_: str, evaluates: bool, has_ids: bool) -> dict[str, str]:
    """Those of a session's settings that may change what a scan of a format gives; `evaluates`: expressions over its columns, as well.

    found: those that are set and not at their defaults, and the effective ones. has_ids: whether the schema has Parquet field ids.
    """
    effective = (*EFFECTIVE_IN_FORMATS.get(format_, ()), *(EFFECTIVE_IN_EXPRESSIONS if evaluates else ()))
    if converts_moments(found) and format_ == "parquet":
        effective = (*effective, f"{SQL}session.timeZone")
    always = {*EFFECTIVE_IN_EXPRESSIONS}
    chosen = {key: found.get(key, "") for key in effective}
    for key, value in found.items():
        if key not in always and matters(key, format_, evaluates) and (has_ids or not key.startswith(SQL + _BY_ID)):
            chosen[key] = value
    return chosen


def parses(key: str) -> bool:
    """Whether a setting may change what a text of SQL means."""
    return key.startswith(SQL) and matches_any(key.removeprefix(SQL), WITHOUT_EFFECT[_PARSING])


def converts_moments(found: Mapping[str, str]) -> bool:
    """Whether INT96 of other writers than parquet-mr are moments of the session's zone, by its rules."""
    return found.get(_CONVERSION, "").lower() == "true"


@cache
def matters(key: str, format_: str, evaluates: bool) -> bool:
    """Whether a setting may change the rows of a format's files, or (`evaluates`) what an expression makes of them."""
    if key in CHOOSE_FILES:
        return True
    if key == LOCALES:
        return evaluates or format_ in _PARSED
    if not key.startswith("spark."):
        return key.startswith(HADOOP) and not any(matches_any(key, patterns) for patterns in HADOOP_WITHOUT_EFFECT.values())
    if not key.startswith(SQL):
        return False  # Spark's core: where and how tasks run
    name = key.removeprefix(SQL)
    if any(matches_any(name, patterns) for patterns in WITHOUT_EFFECT.values()):
        return False
    evaluates = evaluates or format_ in _PARSED
    if any(matches_any(name, patterns) for patterns in OF_EXPRESSIONS.values()):
        return evaluates
    about = [other for other, patterns in OF_FORMATS.items() if matches_any(name, patterns)]
    return not about or format_ in about or evaluates


def unclassified(keys: Iterable[str]) -> list[str]:
    """The keys under spark.sql. that no rule names. They count as mattering to everything."""
    rules = [
        pattern for table in (WITHOUT_EFFECT, OF_EXPRESSIONS, OF_FORMATS, OF_ALL) for patterns in table.values() for pattern in patterns
    ]
    return [key for key in keys if key.startswith(SQL) and not matches_any(key.removeprefix(SQL), rules)]


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether a key, without `spark.sql.`, is one of those that patterns stand for."""
    return any(_matches(name, pattern) for pattern in patterns)


def _matches(name: str, pattern: str) -> bool:
    core = pattern.strip("*")
    if pattern.startswith("*") and pattern.endswith("*"):
        return core in name
    if pattern.startswith("*"):
        return name.endswith(core)
    return name.startswith(core) if pattern.endswith("*") else name == core
