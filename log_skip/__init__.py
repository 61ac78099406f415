"""log_skip: data skipping for logs. User agents, parsed fields, text search.

In short:

    import data_skip, log_skip
    from log_skip import Formatted, NGram

    skipping = data_skip.enable(spark)
    log_skip.register(spark)  # the SQL functions: get_agent_name, is_bot, url_host, path_prefix, ...
    skipping.table("data/log").create_index(Formatted("user_agent", "get_agent_name"), NGram("path"))
    spark.sql("SELECT * FROM log WHERE get_agent_name(user_agent) = 'Firefox' AND path LIKE '%kibana%'")
"""

from log_skip import fields, user_agents  # they make their extractors known
from log_skip.extractors import Extractor, extractor, extractors, register, sql_extractor
from log_skip.formatted import Formatted
from log_skip.ngram import NGram
from log_skip.reading import ACCESS_LOG, malformed_lines, read_access_log, read_json_lines
from log_skip.recipes import recipe

__all__ = [
    "ACCESS_LOG",
    "Extractor",
    "Formatted",
    "NGram",
    "extractor",
    "extractors",
    "fields",
    "malformed_lines",
    "read_access_log",
    "read_json_lines",
    "recipe",
    "register",
    "sql_extractor",
    "user_agents",
]
