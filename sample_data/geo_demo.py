"""Watch Spark skip files by place: the second part of `make demo`, or `python -m sample_data.geo_demo`.

The paper's query for countries of different sizes, a radius, and a spatial join, over the weather table of the first part. Sedona
computes where it runs (pyspark 4.0; Spark fetches it the first time), else the functions of `geo_skip.register`.
Exits with 1 if a query returns other rows with skipping than without it, or reads every file all the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyspark

import data_skip
import geo_skip
from data_skip import Suffix
from data_skip.spark.java import ensure_java
from geo_skip import GeoBox, S2Covering
from sample_data import printing
from sample_data.comparing import compare
from sample_data.countries import read_countries, write_countries
from sample_data.demo import start_spark
from sample_data.queries import Query
from sample_data.weather import write_weather
from sample_data.world_map import draw

SEDONA = "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0,org.datasyslab:geotools-wrapper:1.8.0-33.1"
REGIONS = ("India", "Switzerland", "Brazil", "Russia")

QUERIES = [
    Query(
        "The paper's query: how hot is it in India's cities that end in -pur?",
        "SELECT max(temp) FROM weather WHERE ST_CONTAINS(India, lat, lng) AND city LIKE '%pur'",
    ),
    *(
        Query(
            f"A {size} country: {name}",
            f"SELECT month(time), min(temp), max(temp) FROM weather WHERE ST_CONTAINS({name}, lat, lng) GROUP BY 1",
        )
        for size, name in (("small", "Switzerland"), ("large", "Brazil"))
    ),
    Query(
        "The largest, on both sides of the date line, and NOT: Russia's Arctic",
        "SELECT count(DISTINCT station) FROM weather WHERE ST_CONTAINS(Russia, lat, lng) AND NOT (lat < 66.5)",
    ),
    Query(
        "A radius: within two degrees of Munich",
        "SELECT station, city, max(temp) FROM weather WHERE ST_DISTANCE('POINT(11.58 48.14)', lat, lng) < 2 GROUP BY 1, 2",
    ),
    Query(
        "A spatial join: the outlines are looked up first, then the files are chosen",
        """
SELECT name, max(temp) FROM weather JOIN countries ON ST_CONTAINS(outline, lat, lng)
WHERE name IN ('Nepal', 'Peru') GROUP BY name""",
    ),
]
WITH_SEDONA = [
    Query(
        "A radius in metres, over the date line: within 500 km of Fiji's Taveuni",
        "SELECT DISTINCT station, city FROM weather WHERE ST_DistanceSphere(ST_Point(-179.98, -16.8), ST_Point(lng, lat)) < 500000",
    ),
]


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; the exit status is 0 if every query skipped files and lost no row."""
    parser = argparse.ArgumentParser(prog="python -m sample_data.geo_demo", description="Watch Spark skip files by place.")
    parser.add_argument("--out", type=Path, default=Path("build/demo/geo"), help="where tables and pictures go (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of each query, each way (%(default)s)")
    options = parser.parse_args(arguments)
    ensure_java()
    weather, countries = write_weather(options.out / "weather"), write_countries(options.out / "countries")
    sedona = pyspark.__version__.startswith("4.0.")
    spark = start_spark({"spark.jars.packages": SEDONA} if sedona else {})
    try:
        if sedona:
            from sedona.spark import SedonaContext

            SedonaContext.create(spark)
        geo_skip.register(spark)
        skipping = data_skip.enable(spark)
        print(printing.heading("Places"), flush=True)
        table = skipping.table(str(weather.folder))
        print(table.create_index(*geo_skip.recipe("lat", "lng"), S2Covering("lat", "lng"), Suffix("city", 4), progress=True), flush=True)
        for name, written in (("weather", weather), ("countries", countries)):
            spark.read.parquet(str(written.folder)).createOrReplaceTempView(name)
        outlines = read_countries()
        for name in REGIONS:
            spark.sql(f"DECLARE OR REPLACE VARIABLE {name} STRING DEFAULT '{outlines[name]}'")
        outcomes = []
        for number, query in enumerate([*QUERIES, *(WITH_SEDONA if sedona else [])], start=1):
            outcomes.append(compare(spark, skipping, query, options.repeats))
            print(printing.one(number, outcomes[-1]), flush=True)
        print(printing.summary(outcomes))
        for name in REGIONS:
            picture = options.out / f"{name.lower()}.png"
            draw(table, GeoBox("lat", "lng"), f"ST_CONTAINS({name}, lat, lng)", name, outlines[name], picture)
            print(f"   {picture}: the files' boxes, those that are read in red")
    finally:
        spark.stop()
    failed = [number for number, outcome in enumerate(outcomes, start=1) if not outcome.passed]
    if failed:
        print(f"\nFAILED: queries {', '.join(map(str, failed))}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
