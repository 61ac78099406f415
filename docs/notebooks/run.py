"""Runs every notebook of this folder from its first cell to its last: `make notebooks`. Exits with 1 where a cell fails.

With --write it keeps what the cells have shown: committed, the notebooks can be read where nothing runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent
ROOT = HERE.parents[1].resolve()
SECONDS = 600  # that a cell may take


def main() -> int:
    """Runs them; the exit status."""
    parser = argparse.ArgumentParser(description="Runs the notebooks.")
    parser.add_argument("names", nargs="*", help="of notebooks, without .ipynb; all of them where none is given")
    parser.add_argument("--write", action="store_true", help="keep what the cells have shown")
    options = parser.parse_args()
    failed = [
        path.name for path in sorted(HERE.glob("*.ipynb")) if path.stem in (options.names or [path.stem]) and not run(path, options.write)
    ]
    if failed:
        print(f"FAILED: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run(path: Path, write: bool) -> bool:
    """Whether all cells of a notebook ran."""
    begun = time.perf_counter()
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=SECONDS, record_timing=False, resources={"metadata": {"path": str(HERE)}})
    try:
        client.execute()
    except CellExecutionError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return False
    print(f"{path.name}: {time.perf_counter() - begun:.0f} s", flush=True)
    if write:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [shown(output) for output in cell.outputs if is_of_the_cell(output)]
        notebook.metadata.pop("language_info", None)  # which names the version of Python
        nbformat.write(notebook, path)
    return True


def is_of_the_cell(output: nbformat.NotebookNode) -> bool:
    """Whether an output is no bar that is gone, and nothing that Java said when Spark started."""
    return not (output.output_type == "stream" and output.name == "stderr") and output.get("data", {}).get("text/html") != ""


def shown(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """An output with the place of this repository left out."""
    parts = output.data if "data" in output else output
    for name in [name for name in ("text", "text/plain", "text/html") if name in parts]:
        parts[name] = parts[name].replace(str(ROOT), "/data-skip")
    return output


if __name__ == "__main__":
    sys.exit(main())
