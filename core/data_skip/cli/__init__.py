"""The command `data-skip`: what the doors offer, from a shell."""

import sys


def main() -> None:
    """The entry point of the package."""
    try:
        from data_skip.cli.app import app  # takes a moment, in which Ctrl-C is no error

        app(prog_name="data-skip")
    except KeyboardInterrupt:
        sys.exit(130)
