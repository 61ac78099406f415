r"""Fields of logs as extractors. Where Spark has the function, the extractor is Spark's own expression.

So `Formatted("referrer", "url_host")` serves `url_host(referrer) = 'x'` (after log_skip.register) and
`try_parse_url(referrer, 'HOST') = 'x'` alike. The strings of URL fields may be whole URLs or paths with a query. None of them raises an
error: a string without the field gives NULL or an empty string, as Spark's function does.

    url_host('http://a.org/b')            a.org         ipv4_8('10.1.2.3')                        10
    url_path('/a/b.png?x=1#top')          /a/b.png      ipv4_16('10.1.2.3')                       10.1
    path_prefix('/a/b/c?x=1', 2)          /a/b          ipv4_24('10.1.2.3')                       10.1.2
    file_extension('/a/b.PNG?x=1')        png           ipv6_48('2001:db8::1')                    2001:db8::/48
    query_keys('/a?y=1&x=2')              y&x           email_domain('Joe <joe@Example.org>')     example.org
    query_value('/a?y=1&x=2', 'x')        2             severity('12:00 [warn] disk full')        WARN
    status_class('404')                   4xx           regexp_group('user=joe', 'user=(\\w+)')   joe

The values of query_keys are asked as `array_contains(split(query_keys(url), '&'), 'y')`.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network

from log_skip.extractors import extractor, sql_extractor

_PATH = "split_part(split_part({0}, '?', 1), '#', 1)"
# As java.util.regex.Pattern.quote does it, without a backslash in a literal: what that is depends on the session.
_END = "concat(char(92), 'E')"
_QUOTED = f"concat(char(92), 'Q', replace({{1}}, {_END}, concat({_END}, char(92), {_END}, char(92), 'Q')), {_END})"
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|SEVERE|CRIT|ALERT|FATAL|EMERG|PANIC"

sql_extractor("url_host", "try_parse_url({0}, 'HOST')")
sql_extractor("url_path", f"regexp_replace({_PATH}, '^[a-zA-Z][a-zA-Z0-9+.-]*://[^/]*', '')")
sql_extractor("path_prefix", f"substring_index({_PATH}, '/', {{1}} + 1)", "depth INT")
sql_extractor("file_extension", f"lower(regexp_extract({_PATH}, '[.]([A-Za-z0-9]+)$', 1))")
sql_extractor("query_keys", "array_join(regexp_extract_all(split_part({0}, '#', 1), '[?&]([^=&]+)', 1), '&')")
sql_extractor("query_value", f"regexp_extract(split_part({{0}}, '#', 1), concat('[?&]', {_QUOTED}, '=([^&]*)'), 1)", "key STRING")
sql_extractor("status_class", "regexp_replace({0}, '^([1-5])[0-9][0-9]$', '$1xx')")
sql_extractor("ipv4_8", "substring_index({0}, '.', 1)")
sql_extractor("ipv4_16", "substring_index({0}, '.', 2)")
sql_extractor("ipv4_24", "substring_index({0}, '.', 3)")
sql_extractor("email_domain", "lower(regexp_extract({0}, '@([A-Za-z0-9.-]+)', 1))")
sql_extractor("severity", f"upper(regexp_extract({{0}}, '(?i)(?<![a-z])({_LEVELS})(?:ING|ICAL|ENCY|OR)?(?![a-z])', 1))")
sql_extractor("regexp_group", "regexp_extract({0}, {1}, 1)", "pattern STRING")


@extractor("ipv6_48", version=2)
def ipv6_48(address: str) -> str | None:
    """The /48 network of an IPv6 address, however it is written; None for what is no IPv6 address."""
    try:
        return str(IPv6Network((int(IPv6Address(address)) >> 80 << 80, 48)))
    except ValueError:
        return None
