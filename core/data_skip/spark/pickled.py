"""What a pickle names of modules: read without running anything of it, nor importing what it names."""

from __future__ import annotations

import dis
import io
import pickle
from collections.abc import Iterator
from types import CodeType
from typing import Any

from pyspark.cloudpickle import cloudpickle


def names_of(pickled: bytes) -> set[str]:
    """The names of modules, and of what may be some, that a pickle of cloudpickle names, or that code which it holds imports as it runs.

    "." stands before one of the code's own package. Any error for what is no such pickle.
    """
    reading = _Reading(pickled)
    reading.load()
    return reading.modules.union(*map(_imported, reading.codes))


class _Any(type):
    """Of what stands for all that a pickle makes, by calls or otherwise, and fills."""

    def _itself(cls, *_: object, **__: object) -> _Any:
        return cls

    __call__ = __setstate__ = append = extend = add = __setitem__ = _itself


class _Anything(metaclass=_Any):
    def __new__(cls, *_: object, **__: object) -> Any:
        return cls


class _Reading(pickle.Unpickler):
    def __init__(self, pickled: bytes) -> None:
        super().__init__(io.BytesIO(pickled))
        self.modules: set[str] = set()
        self.codes: list[CodeType] = []
        # Of what cloudpickle itself needs to make a function; by its names, which are not public
        self._known = {"subimport": self._module, "_builtin_type": self._type}

    def find_class(self, module: str, name: str) -> Any:
        if module == cloudpickle.__name__:
            return self._known.get(name, _Anything)
        self.modules.add(module)
        return _Anything

    def _module(self, name: str) -> Any:
        self.modules.add(name)
        return _Anything

    def _type(self, name: str) -> Any:
        return self._code if name == "CodeType" else _Anything

    def _code(self, *parts: Any) -> CodeType:
        self.codes.append(CodeType(*parts))
        return self.codes[-1]


def _imported(code: CodeType) -> Iterator[str]:
    """The modules that code imports, and what is taken of them by `from a import b`, as a.b."""
    before: tuple[Any, Any] = (0, None)  # the two steps before say how many packages above it is, and what is taken of it
    name, takes = "", False
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":  # of the next one
            continue
        if step.opname == "IMPORT_NAME":
            name, takes = f"{'.' if before[0] else ''}{step.argval}", before[1] is not None
            yield name
        elif step.opname == "IMPORT_FROM" and takes:  # `import a.b as c` takes b of a
            yield f"{name}.{step.argval}"
        before = (before[1], step.argval)
