"""What the JVM calls while it plans and runs queries, on whatever thread that happens: the answers, and the reports of what was decided."""

from __future__ import annotations

import logging
from typing import Any

from data_skip.files.listing import Listing
from data_skip.planning.catalog import Catalog
from data_skip.planning.decide import decide_once, represent, unprofitable
from data_skip.planning.report import Reports
from data_skip.spark.bridge import Scan
from data_skip.store import StoreError

log = logging.getLogger("data_skip")


class Callback:
    """The JVM's java.util.function.BiFunction: holds no state of a query."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog: Catalog | None = catalog
        self.reports = Reports()
        self._logged: set[str] = set()

    def close(self) -> None:
        """From now on nothing is answered, and every file is read."""
        self._catalog = None

    def apply(self, what: str, java: Any) -> str | None:
        """The answer to a question of the JVM; where there is none, None, and all files are read.

        what = "list", java a Listing: takes away the files that need not be read, and says "decided"; or "ask", to be asked again once
        Python functions have been run (SkippingFileIndex.runWorkers).
        what = "runtime_filters", java a Listing: for each of them a line, why it is not worth knowing; "" where it is.
        what = "indexed", java a SkippingFileIndex: "yes" where its table has an index; else None, and what its report will be is kept.
        what = "explain", java a SkippingFileIndex: its clause, for people.
        """
        catalog = self._catalog
        if catalog is None:
            return "disabled" if what == "explain" else None
        try:
            if what == "explain":
                return _explained(Scan(java), catalog)
            if what == "indexed":
                return self._indexed(Scan(java), catalog)
            listing = Listing.of(java)
            if what == "runtime_filters":
                return "\n".join(unprofitable(listing, catalog.find, catalog.knowledge))
            return self._decide(listing, catalog)
        except StoreError as error:
            return str(error) if what == "explain" else None
        except Exception as error:
            log.warning("data-skip skipped nothing: %s: %s", type(error).__name__, error)
            return f"{type(error).__name__}: {error}" if what == "explain" else None

    def _decide(self, listing: Listing, catalog: Catalog) -> str:
        report = decide_once(listing, catalog.find, catalog.knowledge)
        if listing.scan.asks and report.files_read:
            return "ask"
        for error in set(report.errors) - self._logged:
            self._logged.add(error)
            log.warning("data-skip keeps the files of %s that it is unsure of: %s", report.table, error)
        self.reports.add(listing.execution_id, listing.scan.number, report)
        return "decided"

    def _indexed(self, scan: Scan, catalog: Catalog) -> str | None:
        try:
            indexed = bool(catalog.find(scan.roots))
        except StoreError:
            indexed = True  # its report says what is wrong with it
        if indexed:
            return "yes"
        # Its files are listed for the report only, when somebody looks at it.
        self.reports.add(scan.java.executionId(), scan.number, lambda: decide_once(Listing.now(scan), lambda _: [], catalog.knowledge))
        return None

    class Java:
        """What py4j asks of a Python object that the JVM calls."""

        implements = ("java.util.function.BiFunction",)


def _explained(scan: Scan, catalog: Catalog) -> str:
    found = catalog.find(scan.roots)
    if not found:
        return "no index"
    return "; ".join(str(represent(scan, snapshot, catalog.knowledge, []).clause) for _, snapshot in found)
