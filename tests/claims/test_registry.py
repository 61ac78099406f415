"""What the driver evaluates while planning is what a job gives: of every function in Spark's registry, on columns, with NULLs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from data_skip import Skipping
from tests.claims.registry import Registry, described, examples
from tests.support import settings_of

SIZE = int(os.environ.get("DATA_SKIP_CLAIMS", "1"))
SEED = int(os.environ.get("DATA_SKIP_SEED", "0"))
BATCH = 25
pytestmark = pytest.mark.skipif("DATA_SKIP_CLAIMS" not in os.environ, reason="takes minutes: make claims")


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_the_driver_evaluates_as_a_job_does(spark: SparkSession, skipping: Skipping, tmp_path: Path, ansi: str) -> None:
    settings = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.subexpressionElimination.enabled": "false",  # it evaluates parts before TryEval catches their errors
        "spark.sql.legacy.allowHashOnMapType": "true",
    }
    random = Random(f"{SEED} {ansi}")
    with settings_of(spark, settings):
        registry = Registry(spark, skipping, tmp_path / "values", random, 300 * min(SIZE, 10))
        known = examples(spark)
        assert len(known) > 300
        names = sorted(known) if SIZE > 1 else random.sample(sorted(known), 60)
        asked = [(name, text) for name in names for sql in known[name] for text in registry.variants(sql, 30 if SIZE > 1 else 1)]
        wrong, compared = [], 0
        for start in range(0, len(asked), BATCH):
            unlike, values = registry.compare([text for _, text in asked[start : start + BATCH]])
            wrong, compared = wrong + unlike, compared + values
    (tmp_path / "wrong.txt").write_text("\n".join(wrong), "utf-8")
    print(f"{len({name for name, _ in asked})} functions, {len(asked)} expressions, {compared} values")
    assert not wrong, "\n".join(wrong)
    assert len({name for name, _ in asked}) > 0.6 * len(names)


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_of_any_arguments(spark: SparkSession, skipping: Skipping, tmp_path: Path, ansi: str) -> None:
    settings = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.legacy.allowHashOnMapType": "true",
    }
    random = Random(f"any {SEED} {ansi}")
    with settings_of(spark, {**settings, "spark.sql.subexpressionElimination.enabled": "false"}):
        registry = Registry(spark, skipping, tmp_path / "values", random, 200)
        known = {name: about for name, about in described(spark).items() if re.fullmatch(r"\w+", name) and "window" not in name}
        names = sorted(known) if SIZE > 1 else random.sample(sorted(known), 60)
        asked = [text for name in names for text in registry.calls(name, *known[name], wanted=max(1, min(SIZE, 40) // 4))]
        found = [registry.compare(asked[start : start + BATCH]) for start in range(0, len(asked), BATCH)]
    print(f"{len(names)} functions, {len(asked)} calls, {sum(values for _, values in found)} values")
    wrong = [text for unlike, _ in found for text in unlike]
    assert not wrong, "\n".join(wrong)
    assert sum(values for _, values in found) > len(asked)
