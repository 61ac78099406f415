"""The command `data-skip`. What needs no Spark imports none of it: it starts in half a second."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from data_skip.cli.asked import OFFLINE, OUTPUT, READER, REGISTER, SESSION, Asked, pairs
from data_skip.cli.showing import ERROR, FOUND, OK, STOPPED, USAGE, Shown, table, telling
from data_skip.errors import counted

if TYPE_CHECKING:
    from data_skip.cli.offline import LocalTable
    from data_skip.index import Index
    from data_skip.session import Skipping
    from data_skip.table import Table

app = typer.Typer(
    name="data-skip",
    help="Indexes over files, by which Spark's queries skip those that hold no matching row.",
    epilog=f"Exit codes: {OK} all is well; {ERROR} an error, said in one sentence; {USAGE} a wrong option; {FOUND} rows differ (query), or"
    f" something is missing (doctor); {STOPPED} stopped by Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A folder of files, a URI, or a table of Spark's catalog.")]
Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index", "-i", metavar="INDEX", help="As 'MinMax(temp)' or 'Suffix(city, length=4)'. Again for more.", show_default=False
    ),
]
Recipes = Annotated[
    list[str] | None,
    typer.Option("--recipe", "-r", metavar="NAME:ARGS", help="As geo:lat,lng or log:raw_access_log. Again for more.", show_default=False),
]
FilesPerCommit = Annotated[int, typer.Option(min=1, help="So many files are committed at a time.")]
_PER_COMMIT = 100_000
Result = TypeVar("Result")


def _command(*groups: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function (asked, shown, ...): it also takes the options of these groups, which come as `asked`."""
    shared = {name: option for group in (*groups, OUTPUT) for name, option in group.items()}

    def made(run: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(run, eval_str=True).parameters.values() if one.name not in ("asked", "shown")]
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in shared.items()
        ]

        def command(**given: Any) -> None:
            asked = Asked.of({name: given.pop(name) for name in shared})
            with telling(asked.as_json, asked.debug) as shown:
                run(asked, shown, **given)

        named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        command.__annotations__ = {one.name: one.annotation for one in (*named, *options)}
        vars(command)["__signature__"] = inspect.Signature([*named, *options])
        app.command(run.__name__.replace("_", "-"), help=run.__doc__)(command)
        return run

    return made


@app.callback(invoke_without_command=True)
def _all(version: Annotated[bool, typer.Option("--version", help="Prints the version.")] = False) -> None:
    if version:
        from importlib.metadata import version as of_package

        typer.echo(of_package("data-skip"))
        raise typer.Exit(OK)


@_command(READER, REGISTER, SESSION)
def create(
    asked: Asked,
    shown: Shown,
    name: TableName,
    index: Indexes = None,
    recipe: Recipes = None,
    files_per_commit: FilesPerCommit = _PER_COMMIT,
) -> None:
    """Makes indexes over a table, all in one pass. An index that exists is an error: see `ensure`."""
    wanted = _indexes(index, recipe)
    with _session(asked, "create") as found:
        opened = _opened(found, asked, name)
        report = _done(found, f"indexing {name}", lambda: opened.create_index(*wanted, files_per_commit=files_per_commit))
    shown.result(asdict(report), str(report))


@_command(READER, REGISTER, SESSION)
def ensure(
    asked: Asked,
    shown: Shown,
    name: TableName,
    index: Indexes = None,
    recipe: Recipes = None,
    files_per_commit: FilesPerCommit = _PER_COMMIT,
) -> None:
    """Makes the indexes that are missing, and refreshes all others of the table: for schedulers."""
    wanted = _indexes(index, recipe)
    with _session(asked, "ensure") as found:
        opened = _opened(found, asked, name)
        done = _done(found, f"indexing {name}", lambda: opened.ensure_index(*wanted, files_per_commit=files_per_commit))
    shown.result(asdict(done), str(done))


@_command(READER, REGISTER, SESSION)
def refresh(asked: Asked, shown: Shown, name: TableName, files_per_commit: FilesPerCommit = _PER_COMMIT) -> None:
    """Brings all indexes of a table up to date: reads files that are new or have changed."""
    with _session(asked, "refresh") as found:
        opened = _opened(found, asked, name)
        report = _done(found, f"indexing {name}", lambda: opened.refresh(files_per_commit=files_per_commit))
    shown.result(asdict(report), str(report))


@_command(READER, SESSION)
def drop(asked: Asked, shown: Shown, name: TableName, index: Indexes = None) -> None:
    """Removes indexes of a table, and their records. A parameter may be left out where that leaves no doubt."""
    wanted = _indexes(index, None)
    with _session(asked, "drop") as found:
        _opened(found, asked, name).drop_index(*wanted)
    dropped = [str(one) for one in wanted]
    shown.result({"table": name, "dropped": dropped}, f"{name}: dropped {', '.join(dropped)}")


@_command(READER, OFFLINE, SESSION)
def describe(asked: Asked, shown: Shown, name: TableName) -> None:
    """Says which indexes a table has, how many files they know, and how large they are."""
    with _perhaps_without_spark(asked, "describe", name) as found:
        said = found.describe()
    data = asdict(said)
    data["indexes"] = data.pop("rows")
    shown.result(data, str(said))


@_command(OFFLINE, SESSION)
def history(
    asked: Asked, shown: Shown, name: TableName, last: Annotated[int, typer.Option(min=1, help="So many commits, the newest.")] = 20
) -> None:
    """Says what each commit to the index of a table did, the newest first."""
    with _perhaps_without_spark(asked, "history", name) as found:
        steps = found.history()[::-1][:last]
    rows = [
        [
            str(step.version),
            step.time.astimezone().strftime("%Y-%m-%d %H:%M:%S") if step.time else "?",
            step.action,
            f"{step.rows:,}" if step.rows else "",
            ", ".join(step.indexes),
            step.name[:8],
        ]
        for step in steps
    ]
    commits = [{**asdict(step), "time": step.time and step.time.isoformat(timespec="milliseconds")} for step in steps]
    lines = table(["version", "time", "what", "rows", "indexes", "commit"], rows, right=(0, 3), folded=[4])
    shown.result({"table": name, "commits": commits}, lines if rows else f"{name} has no index")


@_command(OFFLINE, SESSION)
def compact(asked: Asked, shown: Shown, name: TableName) -> None:
    """Rewrites the index of a table with one row a file. `refresh` does so by itself, once it is worth it."""
    with _perhaps_without_spark(asked, "compact", name) as found:
        found.compact()
        last = found.history()[-1:]
    version = last[0].version if last else None
    shown.result(
        {"table": name, "version": version}, f"{name} has no index" if version is None else f"{name}: compacted, version {version}"
    )


@_command(OFFLINE, SESSION)
def vacuum(
    asked: Asked,
    shown: Shown,
    name: TableName,
    hours: Annotated[int, typer.Option(min=1, max=168, help="What a version of so many hours ago needs stays.")] = 168,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only says which files.")] = False,
) -> None:
    """Deletes files of the index of a table that are out of date, or belong to commits that never came about."""
    with _perhaps_without_spark(asked, "vacuum", name) as found:
        deleted = found.vacuum(hours, dry_run)
        is_none = not deleted and not found.history()
    gone = "would be deleted" if dry_run else "was deleted" if len(deleted) == 1 else "were deleted"
    said = f"{name} has no index" if is_none else f"{name}: {counted(len(deleted), 'file', 'files')} of its index {gone}"
    shown.result({"table": name, "dry_run": dry_run, "deleted": deleted}, "\n  ".join([said, *deleted]))


@_command(READER, REGISTER, SESSION)
def files(
    asked: Asked,
    shown: Shown,
    name: TableName,
    where: Annotated[str | None, typer.Option("--where", "-w", metavar="SQL", help="The WHERE of a query.")] = None,
) -> None:
    """Lists the files that a query with this WHERE would read, a URI each line. Nothing is read."""
    with _session(asked, "files") as found:
        opened = _opened(found, asked, name)
        (read, notes), total = _done(found, "looking", lambda: opened.dry_run(where)), len(opened.files())
    shown.note(f"{len(read):,} of {counted(total, 'file', 'files')} would be read")
    _noted(shown, notes)
    if read or asked.as_json:
        counts = {"files_total": total, "files_read": len(read)}
        shown.result({"table": name, "where": where, **counts, "files": read, "notes": notes}, "\n".join(read))


@_command(READER, REGISTER, SESSION)
def query(
    asked: Asked,
    shown: Shown,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="The query; - reads it from standard input.")],
    view: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TABLE", help="A name for a table in the query. Again for more.", show_default=False)
    ] = None,
    repeats: Annotated[int, typer.Option(min=0, help="Timed runs each way, after a first one.")] = 1,
    report: Annotated[bool, typer.Option("--report", help="What each predicate skipped, and why others did not.")] = False,
) -> None:
    """Runs a query with skipping and without: whether the rows are the same, and what skipping saves."""
    from data_skip.cli.comparing import compare

    views = pairs("--view", view or (), "NAME=TABLE")  # before Spark is started
    text = typer.get_text_stream("stdin").read() if sql == "-" else sql
    with _session(asked, "query") as found:
        for name, path in views.items():
            _opened(found, asked, path).read().createOrReplaceTempView(f"`{name.replace('`', '``')}`")
        compared = _done(found, "running the query", lambda: compare(found, text, repeats))
        said = str(compared.report)  # which Spark is asked for
    shown.result(compared.as_json(), compared.as_table())
    if not compared.report.scans:
        shown.note("no scan of files with a WHERE: nothing to skip")
    elif report:
        shown.note(said)
    else:
        _noted(shown, [note for scan in compared.report.scans for note in [*scan.notes, *scan.errors]])
    if not compared.rows_equal:
        why = compared.failed or "the rows are not the same"
        shown.note(f"with skipping: {why} (rand(), LIMIT without an order and the like differ in any two runs)")
        if any(scan.contract != "listing" for scan in compared.report.scans):
            shown.note(
                "a contract other than listing is in force, by which it reads the files that the index knows; without, those that are there"
            )
        raise typer.Exit(FOUND)


@_command(READER, SESSION)
def doctor(
    asked: Asked,
    shown: Shown,
    tables: Annotated[list[str] | None, typer.Argument(metavar="[TABLE]...", help="Tables whose indexes are to be looked at.")] = None,
) -> None:
    """Looks whether all is there: Java, Spark, its workers, plugins, Sedona; of tables, rights and credentials."""
    from data_skip.cli.doctor import FAILED, examine

    checks = []
    for check in examine(asked, tables or []):
        checks.append(check)
        if not asked.as_json:
            shown.result({}, "\n    do: ".join(filter(None, [f"{check.state:<8} {check.name}: {check.found}", check.todo])))
    failed = [check.name for check in checks if check.state == FAILED]
    if asked.as_json:
        shown.result({"ok": not failed, "checks": [asdict(check) for check in checks]}, "")
    if failed:
        shown.note(f"not well: {', '.join(failed)}")
        raise typer.Exit(FOUND)


@_command()
def new_plugin(
    asked: Asked,
    shown: Shown,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the package, as max-length: its index is MaxLength then.")],
    folder: Annotated[Path, typer.Option(help="Where its folder is made.", exists=True, file_okay=False)] = Path(),
) -> None:
    """Writes a package with an index of your own, to begin with: it installs, and passes its tests. See docs/plugins.md."""
    from data_skip.cli.new_plugin import write_plugin

    files = [str(path) for path in write_plugin(name, folder)]
    todo = f"cd {shlex.quote(str(folder / name))} && pip install -e '.[test]' && pytest"
    shown.result({"files": files}, "\n".join(files))
    shown.note(f"now: {todo}")


def _indexes(index: list[str] | None, recipe: list[str] | None) -> list[Index]:
    """The indexes that are asked for. A usage error for a text that spells none."""
    from data_skip.building.index_text import parse_index
    from data_skip.cli.recipes import recipe_of
    from data_skip.errors import DataSkipError
    from data_skip.planning.catalog import kinds_of

    if not index and not recipe:
        raise typer.BadParameter("give an index, as --index 'MinMax(temp)'; `data-skip describe` shows those that a table has")
    kinds = kinds_of(None if recipe else (re.match(r"\s*(\w*)", text)[0].strip() for text in index or ()))  # type: ignore[index]
    try:
        return [*(parse_index(text, kinds) for text in index or ()), *(one for text in recipe or () for one in recipe_of(text))]
    except DataSkipError as error:
        raise typer.BadParameter(str(error)) from error


@contextmanager
def _session(asked: Asked, command: str) -> Iterator[Skipping]:
    from data_skip.cli.running import skipping

    with skipping(asked, command) as found:
        yield found


def _noted(shown: Shown, notes: Sequence[str]) -> None:
    """A line for each note of a report."""
    for note in dict.fromkeys(notes):
        shown.note(f"note: {' '.join(note.split())}")


def _opened(found: Skipping, asked: Asked, name: str) -> Table:
    from data_skip.cli.running import opened

    return opened(found, asked, name)


@contextmanager
def _perhaps_without_spark(asked: Asked, command: str, name: str) -> Iterator[Table | LocalTable]:
    """Within, a table; Spark is asked for one that is no folder of this machine, and where the user wants it."""
    from data_skip.cli.offline import LocalTable, is_elsewhere, is_local

    if is_local(name) and not is_elsewhere(asked.index_root or "") and not asked.needs_spark:
        yield LocalTable(name, asked.index_root)
        return
    with _session(asked, command) as found:
        yield _opened(found, asked, name)


def _done(found: Skipping, title: str, work: Callable[[], Result]) -> Result:
    """What some work of Spark's gives. It is shown how far it is, and functions of plugins are there where it needs them."""
    from data_skip.cli.progress import progress
    from data_skip.cli.running import with_functions

    with progress(found.spark, title):
        return with_functions(found, work)
