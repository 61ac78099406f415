"""What a user asks for besides the command itself: options that many commands have, each said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer


def _several(*names: str, metavar: str, help: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


# By the group of commands that have them: parameter -> (its type and option, default).
READER: dict[str, tuple[Any, Any]] = {
    "format": (Annotated[str | None, typer.Option(help="As of spark.read. By default that of the index, or Parquet.")], None),
    "option": (Annotated[list[str] | None, _several("--option", metavar="KEY=VALUE", help="An option of spark.read.")], None),
    "schema": (Annotated[str | None, typer.Option(metavar="DDL", help="The schema, as 'ip string, time timestamp'.")], None),
}
REGISTER: dict[str, tuple[Any, Any]] = {
    "register": (
        Annotated[list[str] | None, _several("--register", metavar="MODULE", help="Runs MODULE.register(spark): geo_skip, log_skip.")],
        None,
    ),
}
OFFLINE: dict[str, tuple[Any, Any]] = {
    "by_spark": (Annotated[bool, typer.Option("--spark", help="Asks Spark, also where it is not needed.")], False),
}
SESSION: dict[str, tuple[Any, Any]] = {
    "master": (Annotated[str | None, typer.Option(metavar="URL", help="As of spark-submit. By default Spark's own.")], None),
    "conf": (Annotated[list[str] | None, _several("--conf", metavar="KEY=VALUE", help="A setting of Spark.")], None),
    "index_root": (Annotated[str | None, typer.Option(metavar="FOLDER", help="Where indexes lie, if not beside the data.")], None),
    "verbose": (Annotated[bool, typer.Option("--verbose", help="Spark's own log.")], False),
}
OUTPUT: dict[str, tuple[Any, Any]] = {
    "as_json": (Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else there.")], False),
    "debug": (Annotated[bool, typer.Option("--debug", help="Python's trace with an error.")], False),
}


@dataclass(frozen=True)
class Asked:
    """The values of these options. conf, option: as pairs."""

    format: str | None = None
    option: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    register: Sequence[str] = ()
    by_spark: bool = False
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    index_root: str | None = None
    as_json: bool = False
    debug: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        """By the parameters of a command."""
        asked = {name: value for name, value in given.items() if value is not None}
        for name in ("conf", "option"):
            asked[name] = pairs(f"--{name}", asked.get(name, ()))
        if not asked.get("index_root", "set").strip():  # as of a variable of the shell that is not set
            raise typer.BadParameter("--index-root is empty: name a folder, or leave it out")
        return cls(**asked)

    @property
    def reader(self) -> dict[str, Any]:
        """As `Skipping.table` takes it."""
        return {"format": self.format, "schema": self.schema, "options": self.option}

    @property
    def needs_spark(self) -> bool:
        """Whether something is asked that Spark alone understands."""
        return bool(self.by_spark or self.master or self.conf or self.format or self.schema or self.option)


def pairs(option: str, texts: Sequence[str], form: str = "KEY=VALUE") -> dict[str, str]:
    """What an option says that is given in this form. A value may hold further equal signs."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{option} {text!r}: write it as {form}")
        found[key.strip()] = value
    return found
