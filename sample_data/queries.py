"""The demo's queries, and the indexes that serve them."""

from __future__ import annotations

from dataclasses import dataclass

import geo_skip
import log_skip
from data_skip import Index, MinMax, Prefix, Suffix, ValueList
from geo_skip import S2Covering

BOT = "regexp_extract(user_agent, '([A-Za-z]+[Bb]ot)', 1)"


def weather_indexes() -> list[Index]:
    """The indexes over the table weather. MinMax and ValueList take any deterministic SQL expression."""
    return [
        *geo_skip.recipe("lat", "lng"),
        S2Covering("lat", "lng"),
        MinMax("temp"),
        MinMax("time"),
        Suffix("city", 4),
        ValueList("country"),
        ValueList("month(time)"),
    ]


def access_log_indexes() -> list[Index]:
    """The indexes over the table access_log."""
    return [MinMax("time"), MinMax("bytes"), Prefix("path", 8), Suffix("path", 4), ValueList("status"), ValueList(BOT)]


@dataclass(frozen=True)
class Query:
    """One query of the demo. `sql` is printed as it stands."""

    title: str
    sql: str


REGIONS = ("India", "Switzerland", "Brazil", "Russia")  # SQL variables that hold the outlines

GEO_QUERIES = [
    Query(
        "How hot is it in India's cities that end in -pur? The variable India holds the country's outline (WKT)",
        """
SELECT max(temp) FROM weather
WHERE ST_CONTAINS(India, lat, lng) AND city LIKE '%pur'""",
    ),
    *(
        Query(
            f"A {size} country: {name}",
            f"""
SELECT month(time), min(temp), max(temp) FROM weather
WHERE ST_CONTAINS({name}, lat, lng)
GROUP BY 1""",
        )
        for size, name in (("small", "Switzerland"), ("large", "Brazil"))
    ),
    Query(
        "The largest, on both sides of the date line, and NOT: Russia's Arctic",
        """
SELECT count(DISTINCT station) FROM weather
WHERE ST_CONTAINS(Russia, lat, lng) AND NOT (lat < 66.5)""",
    ),
    Query(
        "A radius: within two degrees of Munich",
        """
SELECT station, city, max(temp) FROM weather
WHERE ST_DISTANCE('POINT(11.58 48.14)', lat, lng) < 2
GROUP BY 1, 2""",
    ),
    Query(
        "A spatial join: the outlines are looked up first, then the files are chosen",
        """
SELECT name, max(temp) FROM weather JOIN countries ON ST_CONTAINS(outline, lat, lng)
WHERE name IN ('Nepal', 'Peru')
GROUP BY name""",
    ),
]

SEDONA_QUERIES = [
    Query(
        "India's cities that end in -pur, with the functions of Apache Sedona",
        """
SELECT max(temp) FROM weather
WHERE ST_Contains(ST_GeomFromWKT(India), ST_Point(lng, lat)) AND city LIKE '%pur'""",
    ),
    Query(
        "A radius in metres, over the date line: within 500 km of Fiji's Taveuni",
        """
SELECT DISTINCT station, city FROM weather
WHERE ST_DistanceSphere(ST_Point(-179.98, -16.8), ST_Point(lng, lat)) < 500000""",
    ),
]

WEATHER_QUERIES = [
    Query(
        "A box in place of an outline, and cities that end in -pur",
        """
SELECT max(temp) FROM weather
WHERE lat BETWEEN 8 AND 36 AND lng BETWEEN 62 AND 88 AND city LIKE '%pur'""",
    ),
    Query(
        "A threshold: where was it hotter than 110 °F?",
        """
SELECT station, city, country, time, temp FROM weather
WHERE temp > 110""",
    ),
    Query(
        "A month, and a list of countries",
        """
SELECT country, count(*), min(temp), max(temp) FROM weather
WHERE time >= TIMESTAMP '2024-07-01' AND time < TIMESTAMP '2024-08-01'
  AND country IN ('IN', 'PK', 'BD', 'NP', 'LK')
GROUP BY country""",
    ),
    Query(
        "December in Iceland: an index over month(time); MinMax(time) serves year(time)",
        """
SELECT station, time, temp, wind_speed FROM weather
WHERE month(time) = 12 AND year(time) = 2024 AND country = 'IS'""",
    ),
    Query(
        "OR and NOT: extreme temperatures anywhere, or heat in cities that end in -pur",
        """
SELECT station, city, time, temp FROM weather
WHERE NOT (temp BETWEEN -45 AND 113)
   OR (city LIKE '%pur' AND NOT (temp <= 105 OR country = 'MY'))""",
    ),
]

ACCESS_LOG_QUERIES = [
    Query(
        "The start of a path",
        """
SELECT ip, time, path FROM access_log
WHERE path LIKE '/kibana/%'""",
    ),
    Query(
        "The end of a path: who fetched PDF files, and how much?",
        """
SELECT ip, count(*), sum(bytes) FROM access_log
WHERE path LIKE '%.pdf'
GROUP BY ip""",
    ),
    Query(
        "A rare status",
        """
SELECT time, status, method, path FROM access_log
WHERE status >= 500""",
    ),
    Query(
        "A function of the user agent: the visits of one robot",
        f"""
SELECT count(*), min(time), max(time) FROM access_log
WHERE {BOT} = 'AhrefsBot'""",
    ),
    Query(
        "OR and NOT on the log: odd statuses but not of text files, or huge answers",
        """
SELECT time, status, bytes, path FROM access_log
WHERE NOT (status IN (200, 206, 301, 304, 404) OR path LIKE '%.txt')
   OR (bytes > 60000000 AND NOT status = 206)""",
    ),
]


def busy_log_indexes() -> list[Index]:
    """The indexes over the table busy_log: those that log_skip has ready for an access log."""
    return log_skip.recipe("access_log")


BUSY_LOG_QUERIES = [
    Query(
        "By agent: what does one browser ask for?",
        """
SELECT path, count(*) FROM busy_log
WHERE get_agent_name(user_agent) = 'Konqueror'
GROUP BY path""",
    ),
    Query(
        "Robots that met an error of the server",
        """
SELECT time, user_agent, path FROM busy_log
WHERE is_bot(user_agent) AND status >= 500""",
    ),
    Query(
        "Status 5xx",
        """
SELECT time, status, method, path FROM busy_log
WHERE status BETWEEN 500 AND 599""",
    ),
    Query(
        "The start of a path",
        """
SELECT ip, time, path FROM busy_log
WHERE path LIKE '/files/bingerpc%'""",
    ),
    Query(
        "The end of a path: who saw one picture?",
        """
SELECT ip, count(*), sum(bytes) FROM busy_log
WHERE path LIKE '%webhits-1.png'
GROUP BY ip""",
    ),
    Query(
        "By client",
        """
SELECT time, path, status FROM busy_log
WHERE ip = '199.102.67.16'""",
    ),
    Query(
        "Text search",
        """
SELECT time, path FROM busy_log
WHERE path LIKE '%xul%runner%'""",
    ),
    Query(
        "Text search by a regular expression",
        """
SELECT time, user_agent FROM busy_log
WHERE user_agent RLIKE '(libwww-perl|ELinks)/[0-9.]+'""",
    ),
    Query(
        "A part of the text that no index was made for",
        """
SELECT time, ip, path FROM busy_log
WHERE regexp_extract(user_agent, 'Chrome/([0-9.]+)', 1) = '25.0.1364.172'""",
    ),
    Query(
        "A parsed field: visitors from one search engine",
        """
SELECT time, referrer, path FROM busy_log
WHERE url_host(referrer) IN ('duckduckgo.com', 'www.duckduckgo.com')""",
    ),
]
