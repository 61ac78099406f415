"""Makes the screenshots of the documentation with a headless Chromium, in light and in dark: `make screenshots`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image, ImageChops

import data_skip
import geo_skip
from sample_data.countries import read_countries
from sample_data.demo import start_spark
from sample_data.queries import GEO_QUERIES, weather_indexes
from sample_data.weather import write_weather

PICTURES = Path(__file__).parent / "pictures"
BUILD = Path("build/screenshots")
WIDTH, HEIGHT = 732, 4000  # pixels: a page of 700 with its margins; what is below its end is cut off
COLOURS = 64  # of a picture: enough for text and areas, in a third of the bytes
SCHEMES = {"light": 1, "dark": 0}  # as Chromium numbers them
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Writes docs/pictures/report-light.png and report-dark.png."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"screenshots need a browser: install one of {', '.join(BROWSERS)}, as by apt-get install chromium")
    page = report()
    PICTURES.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        path = PICTURES / f"report-{scheme}.png"
        shoot(browser, page, scheme, path)
        print(f"{path.relative_to(Path.cwd())}: {path.stat().st_size:,} bytes")


def report() -> Path:
    """The page of the demo's first query."""
    written = write_weather(BUILD / "weather", 32)
    spark = start_spark()
    skipping = data_skip.enable(spark)
    geo_skip.register(spark)
    spark.sql(f"DECLARE VARIABLE India STRING DEFAULT '{read_countries()['India']}'")
    skipping.table(written.folder).create_index(*weather_indexes())
    spark.read.parquet(str(written.folder)).createOrReplaceTempView("weather")
    spark.sql(GEO_QUERIES[0].sql).collect()
    found = skipping.report()
    for scan in found.scans:
        scan.table = "data/weather"  # not where it lies here
    page = found.save(BUILD / "report.html")
    spark.stop()
    return page.resolve()


def shoot(browser: str, page: Path, scheme: str, path: Path) -> None:
    """A picture of a whole page."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    options += [f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={path}"]
    subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=120)
    picture = Image.open(path).convert("RGB")
    ground = Image.new("RGB", picture.size, picture.getpixel((0, picture.height - 1)))
    box = ImageChops.difference(picture, ground).getbbox()
    if box is None:
        sys.exit(f"{page} is empty in the browser")
    picture.crop((0, 0, picture.width, min(box[3] + 16, picture.height))).quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
