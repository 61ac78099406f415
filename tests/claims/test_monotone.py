"""What is claimed of functions is true of boundary values: see lab.py."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from data_skip import Skipping
from data_skip.data_types import FRACTIONAL, INTEGRAL
from data_skip.proofs.monotone import CASTS, RULES
from tests.claims.families import CLOCKS, DECIMALS, MOMENTS, TYPES, ZONES
from tests.claims.lab import Findings, Lab
from tests.support import settings_of

SIZE = int(os.environ.get("DATA_SKIP_CLAIMS", "1"))
SEED = int(os.environ.get("DATA_SKIP_SEED", "0"))
VALUES, CONSTANTS = 250 * SIZE, 1 if SIZE == 1 else 6
CASES = [
    (type_, ansi, zone)
    for type_ in TYPES
    for ansi, few in (("false", ZONES[1:3]), ("true", ZONES[:1]))
    for zone in (ZONES[1:2] if type_ not in ("date", *MOMENTS) else ZONES if SIZE > 1 else few)
]
GROUPS = (INTEGRAL, FRACTIONAL, DECIMALS)  # types of which one will do for a function, where little is asked


@pytest.fixture(scope="module")
def found() -> Findings:
    """Of all tests of this module."""
    return Findings()


@pytest.mark.parametrize(("type_", "ansi", "zone"), CASES)
def test_of_columns_of(spark: SparkSession, skipping: Skipping, tmp_path: Path, found: Findings, type_: str, ansi: str, zone: str) -> None:
    settings = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.session.timeZone": zone,
        "spark.sql.subexpressionElimination.enabled": "false",  # it evaluates parts before TryEval catches their errors
    }
    with settings_of(spark, settings):
        lab = Lab(spark, skipping, tmp_path / "values", type_, zone, VALUES, Random(f"{SEED} {type_} {ansi} {zone}"))
        alike = next((group for group in GROUPS if type_ in group), (type_,))
        cases = [case for case in CASES if case[0] in alike]
        step = 1 if SIZE > 1 else len(cases)
        findings = lab.run(CONSTANTS, cases.index((type_, ansi, zone)) % step, step)
    found.asked += findings.asked
    found.claimed |= findings.claimed
    print(f"{type_}: {findings.asked} asked")
    assert not findings.wrong, "\n".join(findings.wrong)


def test_of_all_that_is_claimed(found: Findings) -> None:
    """No row of the tables is passed over; where little is asked, few are: constants are drawn of which nothing may be claimed."""
    if not found.asked:
        pytest.skip("asks of what the others found")
    rows = {*RULES} | {f"{a} to {b}" for a, b in CASTS}
    assert len(rows - found.claimed) <= (0 if SIZE > 1 else 0.2 * len(rows)), rows - found.claimed


@pytest.mark.parametrize(("zone", "moment"), CLOCKS if SIZE > 1 else CLOCKS[:1] + CLOCKS[-1:])
@pytest.mark.parametrize(
    ("type_", "policy"), [("timestamp", "EXCEPTION"), ("timestamp", "LEGACY"), ("date", "LEGACY"), ("bigint", "LEGACY")]
)
def test_where_clocks_and_calendars_change(
    spark: SparkSession, skipping: Skipping, tmp_path: Path, type_: str, policy: str, zone: str, moment: str
) -> None:
    """Formats by java.text (LEGACY), and months, days and hours near moments that local time leaves out or has twice."""
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": zone,
        "spark.sql.legacy.timeParserPolicy": policy,
        "spark.sql.subexpressionElimination.enabled": "false",
    }
    about = "format|from_unixtime" if policy == "LEGACY" else "MONTH|QUARTER|DAY|date|last_day|HOUR"
    with settings_of(spark, settings):
        lab = Lab(spark, skipping, tmp_path / "values", type_, zone, VALUES, Random(f"{SEED} {type_} {zone}"), moment)
        findings = lab.run(CONSTANTS if policy == "EXCEPTION" else 4, 0, 1 if SIZE > 1 or policy == "LEGACY" else 3, about)
    assert not findings.wrong, "\n".join(findings.wrong)
