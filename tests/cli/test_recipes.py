"""Recipes of plugins, as a shell names them."""

from __future__ import annotations

import pytest

from data_skip import DataSkipError, Index, MinMax
from data_skip.cli import recipes
from data_skip.cli.recipes import recipe_of
from geo_skip import GeoBox


def test_recipes_of_plugins() -> None:
    assert recipe_of("geo:lat,lng") == [GeoBox("lat", "lng"), MinMax("lat"), MinMax("lng")]
    assert recipe_of("geo: lat, lng, boxes=9")[0] == GeoBox("lat", "lng", boxes=9)
    renamed = recipe_of("log:json_events, time=to_timestamp(ts, 'yyyy,MM'), user_id=None")
    assert renamed[0] == MinMax("to_timestamp(ts, 'yyyy,MM')")
    assert not any("user_id" in index.expressions for index in renamed)
    for text, why in {
        "gei:a": "there are: geo, log",
        "log:nothing": "no recipe is called 'nothing'",
        "geo:": "an SQL expression is missing",
    }.items():
        with pytest.raises(DataSkipError, match=why):
            recipe_of(text)


def test_a_recipe_that_is_written_wrongly_is_told_as_a_recipe() -> None:
    for text in ("geo:", "geo", "geo:lat,", "geo:f(lat", "geo:'lat"):
        with pytest.raises(DataSkipError, match=r"; write a recipe as 'geo:lat,lng' or 'log:raw_access_log'$"):
            recipe_of(text)
    with pytest.raises(DataSkipError, match=r"'geo:lat,lng,bxes=3': the recipe takes no bxes=...; it takes boxes=...$"):
        recipe_of("geo:lat,lng,bxes=3")
    with pytest.raises(DataSkipError, match=r"recipe access_log has no column tme; it has .*time"):
        recipe_of("log:access_log,tme=x")


def test_a_parameter_that_may_stand_by_its_place_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_column(column: str, *, limit: int = 1) -> list[Index]:
        return [MinMax(column)] * limit

    monkeypatch.setattr(recipes, "_recipes", lambda: {"mine": of_column})
    assert recipe_of("mine:column=x, limit=2") == [MinMax("x")] * 2
    with pytest.raises(DataSkipError, match=r"the recipe takes no colum=...; it takes column=..., limit=...$"):
        recipe_of("mine:colum=x")
