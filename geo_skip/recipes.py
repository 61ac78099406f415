"""Which indexes to create over places, for those who do not want to choose."""

from __future__ import annotations

from data_skip import Index, MinMax
from geo_skip.geo_box import GeoBox
from geo_skip.places import refuse_count


def recipe(*expressions: str, boxes: int = 4) -> list[Index]:
    """The indexes for a latitude and a longitude, or for a column of geometry.

        skipping.table("data/weather").create_index(*geo_skip.recipe("lat", "lng"))

    A GeoBox, and for latitude and longitude a MinMax of each, which serves all other predicates about them. Files skip well whose rows
    lie near each other: partition or sort the table by place. S2Covering keeps more a file and follows winding outlines.
    """
    refuse_count(expressions, "recipe")
    plain = [MinMax(expression) for expression in expressions] if len(expressions) == 2 else []
    return [GeoBox(*expressions, boxes=boxes), *plain]
