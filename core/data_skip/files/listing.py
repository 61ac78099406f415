"""The files of one scan, in bulk."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.clause import Mask
from data_skip.expression import Column, decode_value
from data_skip.spark.bridge import Scan
from data_skip.spark.kept import Kept
from data_skip.store import Snapshot
from data_skip.store.versions import KEYS

_PATHS = 1 << 14  # that cross at a time


class Listing:
    """The files that Spark would read for one scan. They stay in the JVM; what crosses is mostly bits."""

    def __init__(self, found: Callable[[], Any], scan: Scan, told: Mapping[str, Any] = MappingProxyType({})) -> None:
        """found: gives the Listing of the JVM. `told`: what is known of it already, else it is asked for."""
        self._found, self.scan, self._told = found, scan, told

    @classmethod
    def now(cls, scan: Scan) -> Listing:
        """The files that Spark would read for a scan now."""
        java = scan.java.listing()
        return cls(lambda: java, scan)

    @classmethod
    def beside(cls, scan: Scan) -> Listing:
        """The files that Spark lists for a scan, and looks at for columns and the types of partitions, but does not read."""
        java = scan.java.beside()
        return cls(lambda: java, scan)

    @classmethod
    def of(cls, kept: Kept, told: str) -> Listing:
        """A Listing that the JVM keeps, with the scan that it is of, and what AskedScan.told tells of both."""
        which, of_listing, of_scan = told.split("\n", 2)
        found = {**json.loads(which), **json.loads(of_listing)}

        def java() -> Any:
            return kept.java

        return cls(java, Scan(listing=java, told={**found, "description": of_scan}), found)

    @property
    def java(self) -> Any:
        """The Listing of the JVM."""
        return self._found()

    @property
    def is_answered(self) -> bool:
        """Whether the JVM takes away what the answer to it tells, so that it need not be asked to."""
        return not self._told.get("by_calls", True)

    @property
    def execution_id(self) -> str:
        """Spark's number of the running query; "" outside of one. Of a Listing of the JVM."""
        return str(self._told["execution_id"])

    @cached_property
    def contract(self) -> str:
        """By which contract the files are listed: "listing", or "snapshot" and the version of the index."""
        return str(self._told["contract"] if self._told else self.java.contract())

    @property
    def refusals(self) -> list[str | None]:
        """For each runtime filter of the scan why what it needs may not be run; None where it may. Of a Listing of the JVM."""
        return list(self._told["refusals"])

    @property
    def found_by_tasks(self) -> Mapping[str, Any] | None:
        """What EvaluationJob.java tells of the job that was handed over when this was asked before; None where none was."""
        return self._told.get("tasks")

    @cached_property
    def count(self) -> int:
        """How many files there are."""
        return int(self._told["count"] if self._told else self.java.count())

    @cached_property
    def total_bytes(self) -> int:
        """Their size."""
        return int(self._told["bytes"] if self._told else self.java.bytes())

    def tells(self, snapshot: Snapshot) -> bool:
        """Whether it was told which file versions of an index's snapshot are listed."""
        return snapshot.id in self._told.get("present", {})

    def present(self, snapshot: Snapshot, root: str) -> ListedVersions:
        """Which file versions of an index's snapshot, of the table at this root, are listed."""
        bits = self._told.get("present", {}).get(snapshot.id) or self.java.present(snapshot.id)
        if bits is None:
            bits = snapshot.hand_over(lambda file, mapped_as: self.java.present(snapshot.id, root, file, mapped_as))
        return ListedVersions(self, snapshot.id, _flags(bits, snapshot.count) & snapshot.recorded)

    def partition_values(self, column: Column) -> list[Any]:
        """The value of a partition column in each directory, as literals have them."""
        encoded = json.loads(self.java.partitionValues(column.path[0]))
        return [decode_value(value) for value in encoded]

    def keep_all(self) -> None:
        """Takes back what was taken away."""
        self.java.keepAll()

    def keep_only(self, chosen: Mask) -> None:
        """Takes away all files but those chosen."""
        self.java.keepOnly(chosen.astype("uint8").tobytes())

    def unchanged(self, chosen: Mask) -> Mask | None:
        """Which of the files chosen have not changed since they were listed; None where to list all again is faster than to tell."""
        told = self.java.unchanged(chosen.astype("uint8").tobytes())
        return None if told is None else np.frombuffer(b64decode(told), dtype=np.uint8) == 1

    def cuts_otherwise(self) -> bool:
        """Whether Spark cuts a file that may give other rows then into other parts, since files were taken away."""
        return bool(self.scan.java.cutsOtherwise(self.java))

    @property
    def keep(self) -> Mask:
        """Which of `paths` are to be read."""
        return np.frombuffer(b64decode(self.java.keep()), dtype=np.uint8) == 1

    @property
    def kept(self) -> list[str]:
        """The paths that are to be read."""
        return [path for path, kept in zip(self.paths, self.keep, strict=True) if kept]

    @property
    def paths(self) -> list[str]:
        """The path of each file, as `_metadata.file_path` has it: an escaped URI."""
        return list(self.files["path"].to_pylist())

    @cached_property
    def files(self) -> pa.Table:
        """The path, as in `paths`, the size, and the modification time (ms) of each file, as of versions.KEYS."""
        parts = [self._paths(start, min(start + _PATHS, self.count)) for start in range(0, self.count, _PATHS)]
        paths = pa.chunked_array(parts, pa.large_string())  # not as one, which may be longer than the store's type of them can be
        pairs = np.frombuffer(b64decode(self.java.identities()), dtype=">i8").astype(np.int64).reshape(-1, 2)
        return pa.table([paths, *(pa.array(np.ascontiguousarray(column)) for column in pairs.T)], list(KEYS))

    def _paths(self, start: int, end: int) -> pa.Array:
        return pa.array(b64decode(self.java.paths(start, end)).decode("utf-8").split("\n"), pa.large_string())


class ListedVersions:
    """The file versions of one snapshot, as a listing has them: what `Listing.present` gives."""

    def __init__(self, listing: Listing, snapshot: str, mask: Mask) -> None:
        self._listing, self._snapshot = listing, snapshot
        self.mask = mask  # which of them are listed

    def directories(self) -> npt.NDArray[np.int32]:
        """For each file version the number of its directory (see `Listing.partition_values`); -1 where it is not listed."""
        told = self._listing.java.versions(self._snapshot).directories(len(self.mask))
        return np.frombuffer(b64decode(told), dtype=">i4").astype(np.int32)

    def steady(self, versions: Mask) -> None:
        """Notes that listed file versions give the same rows, however Spark cuts them into parts."""
        self._listing.java.versions(self._snapshot).steady(_bits(versions))

    def skip(self, versions: Mask) -> Mask:
        """Takes away listed file versions from the listing. A file that has changed since it was listed stays; returns those taken away."""
        if not versions.any():
            return versions
        changed = self._listing.java.skip(self._snapshot, _bits(versions))
        return versions & ~_flags(changed, len(versions))


def told(snapshot: Snapshot, versions: Mask) -> str:
    """Which file versions of a snapshot are to be taken away, for Listing.skipAll of the JVM."""
    return f"{snapshot.id} {b64encode(_bits(versions)).decode('ascii')}"


def _bits(flags: Mask) -> bytes:
    """An array as the bits of a java.util.BitSet."""
    return np.packbits(flags, bitorder="little").tobytes()


def _flags(bits: str, count: int) -> Mask:
    """The bits of a java.util.BitSet as an array."""
    flags = np.zeros(count, dtype=bool)
    found = np.unpackbits(np.frombuffer(b64decode(bits), dtype=np.uint8), bitorder="little")[:count]
    flags[: len(found)] = found
    return flags
