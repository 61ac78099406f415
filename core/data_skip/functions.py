"""Versions of Python functions, by which an index over one knows that it is the same function.

    def half(code):
        return "odd" if int(code[1:]) % 2 else "even"

    spark.udf.register("half", data_skip.versioned(half, 1), "string")
    table.create_index(ValueList("half(code)"))

What a function gives depends on code that its pickle only names, on what Spark's workers have loaded by that name, on their Python, their
packages and environment. Nobody can look through all of that, so its author says when it has become another one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import Any

from data_skip.errors import DataSkipError


class Versioned:
    """A function with its version: called as the function is, and pickled as both; one of a module by its name."""

    def __init__(self, function: Callable[..., Any], version: int | str) -> None:
        self._function, self._version = function, version
        update_wrapper(self, function, updated=())  # PySpark asks it for its name, its signature, and its types
        try:
            self.__signature__ = signature(function)
        except ValueError:  # of a function that was written in C
            self.__signature__ = Signature([Parameter("arguments", Parameter.VAR_POSITIONAL)])

    # PythonResults.java knows a function with a version by this being the first that its pickle names.
    def __reduce__(self) -> tuple[Any, ...]:
        return Versioned, (self._function, self._version)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._function(*arguments, **named)


def versioned(function: Callable[..., Any], version: int | str) -> Versioned:
    """A Python function of which indexes may be made, to be registered, or made a UDF, in place of it.

    By this you promise: as long as the version is the same, the function gives the same value for the same arguments, in each session, on
    each worker, and whatever rows stand beside; and it leaves its arguments as they are, which Spark gives to others as well. Raise the
    version whenever what it gives changes: by an edit of the function, or of anything that it calls or reads. Then indexes over it are not
    used, and the report says so, until they are made again.

    function: of one row, or of vectors, as PySpark takes it. DataSkipError for a version that is neither a whole number nor a text.
    """
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise DataSkipError(f"the version of a function must be a whole number or a text, not {version!r}")
    if not callable(function) or hasattr(function, "evalType"):
        raise DataSkipError(f"versioned takes a function, before udf() or pandas_udf() make one of Spark's of it, not {function!r}")
    return Versioned(function, version)
