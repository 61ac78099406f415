"""Random places and random predicates: rows with skipping equal those without."""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pyarrow as pa
import shapely

from data_skip import MinMax
from geo_skip import GeoBox, S2Covering
from tests.support import Lake

FILES = 8
EXAMPLES = int(os.environ.get("DATA_SKIP_EXAMPLES", "30"))
RELATIONS = ("Contains", "Within", "Covers", "CoveredBy", "Intersects", "Equals", "Touches", "Overlaps", "Crosses", "Disjoint")
GRID = (-180.0, -90.0, -10.0, 0.0, 10.0, 45.0, 90.0, 180.0)  # places that borders meet


def number(random: Random, limit: float) -> float:
    return random.choice([g for g in GRID if abs(g) <= limit]) if random.random() < 0.3 else round(random.uniform(-limit, limit), 2)


def region(random: Random, valid: bool) -> str:
    x, y = number(random, 180), number(random, 90)
    match random.randrange(5 if valid else 6):
        case 0:
            shape = shapely.Point(x, y)
        case 1:
            shape = shapely.box(x, y, x + random.choice([5, 40, 170]), y + random.choice([5, 30]))
        case 2:
            shape = shapely.Point(x, y).buffer(random.uniform(1, 50), quad_segs=4)
        case 3:
            shape = shapely.LineString([(x, y), (number(random, 180), number(random, 90))])
        case 4:
            hole = shapely.Point(x, y).buffer(random.uniform(1, 10), quad_segs=2)
            shape = shapely.box(x - 20, y - 20, x + 20, y + 20).difference(hole)
        case _:
            ring = [(x + random.uniform(-30, 30), y + random.uniform(-30, 30)) for _ in range(5)]
            shape = shapely.Polygon(ring)  # mostly not valid
    return f"ST_GeomFromWKT('{shape.wkt}')"


def leaf(random: Random, geometry: str, points: bool) -> str:
    relation = random.choice(RELATIONS)
    sides = [geometry, region(random, valid=relation == "Equals")]  # of others ST_Equals raises an error
    random.shuffle(sides)
    operands = ", ".join(sides)
    kind = random.randrange(10 if points else 8)
    if kind < 5:
        return f"ST_{relation}({operands})"
    operator = random.choice(["<", "<=", ">", ">=", "="])
    if kind < 7:
        return f"ST_Distance({operands}) {operator} {random.choice([0, 3, 30, 120])}"
    if kind == 7:
        return f"ST_DWithin({operands}, {random.choice([0.0, 5.0, 60.0])})"
    if kind == 8:
        return f"lat {operator} {number(random, 90)} AND lng {random.choice(['<', '>='])} {number(random, 180)}"
    metres = random.choice([1000, 2_000_000, 15_000_000])
    return f"ST_Distance{random.choice(['Sphere', 'Spheroid'])}({operands}) {random.choice(['<', '>='])} {metres}"


def predicate(random: Random, geometry: str, points: bool, depth: int = 2) -> str:
    if depth == 0 or random.random() < 0.4:
        text = leaf(random, geometry, points)
    else:
        sides = [predicate(random, geometry, points, depth - 1) for _ in range(2)]
        text = f"({sides[0]}) {random.choice(['AND', 'OR'])} ({sides[1]})"
    return f"NOT ({text})" if random.random() < 0.25 else text


def test_points(sedona: Lake) -> None:
    random, numbers = Random(11), np.random.default_rng(11)
    for i in range(FILES):
        centre = np.array([number(random, 90), number(random, 180)])
        places = centre + numbers.normal(scale=random.choice([0.0, 3.0, 20.0]), size=(6, 2))
        lats, lngs = np.clip(places[:, 0], -90, 90).tolist(), np.clip(places[:, 1], -180, 180).tolist()
        if i % 3 == 0:
            lats, lngs = [*lats, None, 1.0], [*lngs, 1.0, None]
        sedona.file(f"{i}.parquet", {"lat": lats, "lng": lngs})
    sedona.index(GeoBox("lat", "lng", boxes=2), S2Covering("lat", "lng", max_cells=8), MinMax("lat"), MinMax("lng"))
    compare(sedona, random, "ST_Point(lng, lat)", True)


def test_geometry(sedona: Lake) -> None:
    random = Random(12)
    for i in range(FILES):
        shapes = []
        for _ in range(4):
            x, y = number(random, 150) * (i + 1) / FILES, number(random, 80) * (i + 1) / FILES
            shapes.append(
                random.choice([shapely.Point(x, y), shapely.box(x, y, x + 4, y + 3), shapely.LineString([(x, y), (x + 9, y + 1)])])
            )
        texts = [shapely.to_wkb(shape) for shape in shapes]
        sedona.file(f"{i}.parquet", {"g": pa.array([*texts, None] if i % 2 else texts, pa.binary())})
    sedona.index(GeoBox("g", boxes=2), S2Covering("g", max_cells=12, max_level=12))
    compare(sedona, random, "ST_GeomFromWKB(g)", False)


def compare(lake: Lake, random: Random, geometry: str, points: bool) -> None:
    """Random predicates, of which one in ten is run with skipping and without; and that files are skipped at all."""
    skipped = 0
    for _ in range(0, EXAMPLES, 30):
        predicates = [predicate(random, geometry, points) for _ in range(30)]
        skipped += sum(FILES - len(read) for read in lake.reads(*predicates))
        for where in predicates[::10]:
            lake.query(f"SELECT * FROM t WHERE {where}")
    assert skipped > EXAMPLES
