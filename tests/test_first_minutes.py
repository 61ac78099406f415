"""What people try in their first minutes: refused with a sentence that helps, or done as they meant it."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from data_skip import DataSkipError, Hybrid, MinMax, Skipping, Suffix, ValueList
from geo_skip import GeoBox
from log_skip import Formatted, register
from tests.support import Lake, aged


def test_parameters_that_an_index_does_not_have() -> None:
    with pytest.raises(ValueError, match="MinMax takes no bins"):
        MinMax("lat", bins=3)
    with pytest.raises(ValueError, match="whole number of at least 1, not '5'"):
        ValueList("city", limit="5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole number of at least 1, not '5'"):
        Hybrid("city", threshold="5")  # type: ignore[arg-type]


@pytest.fixture
def places(lake: Lake) -> Lake:
    for i in range(3):
        columns = {"temp": [i], "city": [f"c{i}"], "agent": ["curl/7.1"], "points": [[{"lat": 1.0, "lng": 2.0}]]}
        lake.file(f"{i}.parquet", columns)
    return lake


def test_dropping_one_of_two(places: Lake) -> None:
    table = places.index(Suffix("city", 1), Suffix("city", 2))
    with pytest.raises(DataSkipError, match=r"has Suffix\(city, length=1.* and Suffix\(city, length=2.*; say which"):
        table.drop_index(Suffix("city"))
    table.drop_index(Suffix("city", 1))
    table.drop_index(Suffix("city"))
    assert table.describe().rows == []


def test_the_same_index_in_other_words(places: Lake) -> None:
    table = places.index(MinMax("temp"), MinMax("temp + 1"))
    with pytest.raises(DataSkipError, match=r"has MinMax\(temp\), which is the same as MinMax\(TEMP\)"):
        table.create_index(MinMax("TEMP"))
    with pytest.raises(DataSkipError, match=r"has MinMax\(temp \+ 1\), which is the same"):
        table.create_index(MinMax("temp+1"))
    with pytest.raises(DataSkipError, match="which is the same"):
        table.create_index(ValueList("city"), ValueList("CITY"))


def test_a_path_of_pathlib(places: Lake, skipping: Skipping) -> None:
    assert skipping.table(places.folder).name == str(places.folder)


def test_boxes_of_arrays(places: Lake) -> None:
    with pytest.raises(DataSkipError, match="a coordinate of type array<double> is no number"):
        places.table().create_index(GeoBox("points.lat", "points.lng"))


def test_extractors_by_the_names_of_the_paper(places: Lake) -> None:
    register(places.spark)
    places.index(Formatted("agent", "getAgentName"))
    places.check("getAgentName(agent) = 'Firefox'", read=set())
    places.check("get_agent_name(agent) = 'curl'", read={"0.parquet", "1.parquet", "2.parquet"})
    with pytest.raises(DataSkipError, match="exists already"):
        places.table().create_index(Formatted("agent", "get_agent_name"))


SIGNS = [("Hudi", ".hoodie/hoodie.properties"), ("Iceberg", "metadata/v1.metadata.json"), ("Iceberg", "../metadata/1.metadata.json")]


@pytest.mark.parametrize(("system", "sign"), SIGNS)
def test_folders_of_other_systems(lake: Lake, skipping: Skipping, system: str, sign: str) -> None:
    lake.folder = lake.folder / "data"
    lake.file("0.parquet", {"x": [1]})
    (lake.folder / sign).parent.mkdir(exist_ok=True)
    (lake.folder / sign).write_text("{}")
    with pytest.raises(DataSkipError, match=f"is a table of {system}.*give format='parquet'"):
        skipping.table(str(lake.folder))


def test_a_folder_of_delta(skipping: Skipping, tmp_path: Path) -> None:
    folder = tmp_path / "delta"
    deltalake.write_deltalake(str(folder), pa.table({"x": [1]}))
    aged(next(folder.glob("*.parquet")))
    with pytest.raises(DataSkipError, match="is a table of Delta"):
        skipping.table(str(folder))
    skipping.table(str(folder), format="parquet").create_index(MinMax("x"))
    with pytest.raises(DataSkipError, match="is a table of Delta"):
        skipping.table(str(folder))
