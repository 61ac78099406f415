"""What a command shows: to people in text and tables, to machines as JSON; errors in one sentence; and the exit code."""

from __future__ import annotations

import json
import logging
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import typer

OK, ERROR, USAGE, FOUND, STOPPED = 0, 1, 2, 3, 130
STOPPING = Event()  # set once Ctrl-C was pressed: what fails from then on fails for that
_WIDE = 10_000  # columns, where there is no terminal: nothing is cut off


class Shown:
    """Standard output for the result and nothing else, standard error for all that is said besides."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, data: dict[str, Any], text: object) -> None:
        """The result of a command: as JSON, or as a text or a table of rich."""
        if self.as_json:
            print(json.dumps(data, indent=2, default=str))
        elif isinstance(text, str):
            print(text)
        else:
            from rich.console import Console

            width = None if sys.stdout.isatty() else _WIDE
            Console(markup=False, highlight=False, emoji=False, width=width).print(text)

    def note(self, text: str) -> None:
        """Something besides the result."""
        print(text, file=sys.stderr, flush=True)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), folded: Sequence[int] = ()) -> object:
    """A table of rich; right: the columns of numbers, folded: those that may take several lines."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for i, title in enumerate(titles):
        made.add_column(Text(title), justify="right" if i in right else "left", overflow="fold", no_wrap=i not in folded)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


@contextmanager
def telling(as_json: bool, debug: bool) -> Iterator[Shown]:
    """Within, a command runs: what goes wrong is said in one sentence, and ends it with its exit code. debug: with Python's trace."""
    shown = Shown(as_json)
    with warnings.catch_warnings(), _logs():
        warnings.simplefilter("always")
        warnings.showwarning = _warned  # type: ignore[assignment]
        try:
            yield shown
        except (typer.Exit, typer.BadParameter):
            raise
        except BrokenPipeError:  # nobody reads on, as with `| head`
            sys.stderr.close()
            raise typer.Exit(OK) from None
        except (Exception, KeyboardInterrupt) as error:
            if STOPPING.is_set() or not isinstance(error, Exception):
                _failed(shown, "stopped; what was committed before stays, and nothing is half there", debug)
                raise typer.Exit(STOPPED) from None
            _failed(shown, sentence(error), debug)
            raise typer.Exit(ERROR) from None


def sentence(error: Exception) -> str:
    """What an error says, in one line."""
    from data_skip.errors import DataSkipError
    from data_skip.spark.errors import SPARK_ERRORS, first_line

    if isinstance(error, DataSkipError):
        text = str(error)
    elif isinstance(error, SPARK_ERRORS):
        text = f"Spark: {first_line(error)}"
    else:
        text = f"{type(error).__name__}: {error}; --debug shows where"
    if "[UNRESOLVED_ROUTINE]" in text:
        text += "; functions of your own are there with --register MODULE"
    return " ".join(text.split())


@contextmanager
def _logs() -> Iterator[None]:
    """Within, what data-skip logs is shown in a line each, and what PySpark logs, with its stack, when it is stopped, is not."""
    handler = logging.Handler()
    handler.addFilter(lambda record: record.name.partition(".")[0] == "data_skip")
    vars(handler)["emit"] = lambda record: _say(record.levelname.lower(), record.getMessage())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _failed(shown: Shown, text: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    if shown.as_json:
        print(json.dumps({"error": text}, indent=2))
    _say("error", text)


def _warned(message: Warning | str, category: type[Warning], *_: Any) -> None:
    """As warnings.showwarning: one line; of others than ours, nothing, since Python's own are for developers."""
    from data_skip.errors import DataSkipWarning

    if issubclass(category, DataSkipWarning):
        _say("warning", str(message))


def _say(kind: str, text: str) -> None:
    print(f"{kind}: {' '.join(text.split())}", file=sys.stderr, flush=True)
