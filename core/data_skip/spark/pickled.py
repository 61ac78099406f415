"""What a pickle names of modules: read without running anything of it, nor importing what it names."""

from __future__ import annotations

import dis
import io
import pickle
from collections.abc import Iterator
from functools import lru_cache
from pickletools import genops
from types import CodeType
from typing import Any, NamedTuple

from pyspark.cloudpickle import cloudpickle

# By which code is loaded that no import names: modules; functions and attributes that code takes; ways to read a pickle.
_LOADING = (  # the last one starts another program
    "pickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "marshal",
    "importlib",
    "pkgutil",
    "pydoc",
    "runpy",
    "imp",
    "zipimport",
    "ctypes",
    "cffi",
    "subprocess",
)
_RUNNING = (  # text as code, or what it names
    "code",
    "codeop",
    "timeit",
    "profile",
    "cProfile",
    "pdb",
    "trace",
    "doctest",
    "unittest",
    "site",
    "shelve",
    "jsonpickle",
)
_LOADING_BELOW = ("pyspark.cloudpickle", "pyspark.serializers", "logging.config", "multiprocessing.reduction")
_PATHS = {"path", "meta_path", "path_hooks"}  # of sys: where modules are looked for; beside it, of os as well: nobody tells the two apart
_LOADERS = {"eval", "exec", "__import__", "modules", "read_pickle", "load_module", "exec_module"}
_WITH_LOAD = {"numpy", "joblib", "torch"}  # whose `load` reads pickles, also compressed ones, beside whatever else they are for
_READING = {"load", "loads", "Unpickler"}
_OF_BYTES = {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_CLASSES = {"_make_skeleton_class", "_make_skeleton_enum"}  # of cloudpickle, which is told their numbers


class Names(NamedTuple):
    """What a pickle names."""

    first: tuple[str, str]  # (module, name) of what its first object is made by
    modules: frozenset[str]
    imported: frozenset[str]  # the modules that code, which the pickle holds, imports as it runs; "." before one of its own package
    taken: frozenset[tuple[str, str]]  # of a module something that is a module as well, perhaps
    loaders: frozenset[str]  # by what, other than that, it may load any code
    has_classes: bool  # whether it holds classes, as those of a notebook, which workers keep by a number


@lru_cache(maxsize=100)
def names_of(pickled: bytes) -> Names:
    """What is named by a pickle of cloudpickle, and by those that it holds as bytes. Any error for what is none."""
    reading = _Reading(pickled)
    reading.load()
    names = _of(reading)
    for step, held, _ in genops(pickled):
        if step.name in _OF_BYTES and isinstance(held, bytes | bytearray) and _is_pickle(held):
            names = _with_inner(names, bytes(held))
    return names


def _of(reading: _Reading) -> Names:
    taken = frozenset(found for code in reading.codes for found in _imported(code))
    imported = frozenset(module for module, _ in taken)
    names = {name for code in reading.codes for name in code.co_names}
    texts = {held for code in reading.codes for held in code.co_consts if isinstance(held, str)}  # getattr(sys, "modules")
    loaders = _LOADERS & (names | texts)
    if "sys" in reading.modules | imported and (found := _PATHS & names):
        loaders.add(f"sys.{min(found)}")
    if "load" in names:
        loaders |= {f"{module}.load" for module in _WITH_LOAD.intersection(map(_top, reading.modules | imported))}
    loaders |= reading.loaders | set(filter(_loads, {*reading.modules, *imported, *map(".".join, taken)}))
    return Names(reading.first, frozenset(reading.modules), imported, taken, frozenset(loaders), reading.has_classes)


def _is_pickle(held: bytes | bytearray) -> bool:
    """Whether bytes are steps of a pickle from the first to the last, by any protocol that says which one it is."""
    try:
        return held[:1] == pickle.PROTO and held[-1:] == pickle.STOP and [place for _, _, place in genops(bytes(held))][-1] == len(held) - 1
    except Exception:  # the steps of bytes that are none
        return False


def _with_inner(names: Names, held: bytes) -> Names:
    """The same, with what is named by a pickle that is read by whatever the function calls."""
    try:
        inner = names_of(held)
    except Exception:  # of one that only a worker can read
        return names._replace(loaders=names.loaders | {"a pickle that it holds"})
    return Names(
        names.first,
        names.modules | inner.modules,
        names.imported | inner.imported,
        names.taken | inner.taken,
        names.loaders | inner.loaders,
        names.has_classes or inner.has_classes,
    )


def _loads(module: str) -> bool:
    """Whether a module is one by which any code may be loaded; some packages have a cloudpickle of their own."""
    return _top(module) in _LOADING + _RUNNING or module.startswith(_LOADING_BELOW) or "cloudpickle" in module.split(".")


def _top(module: str) -> str:
    return module.partition(".")[0]


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
        self.first = ("", "")
        self.modules: set[str] = set()
        self.loaders: set[str] = set()
        self.codes: list[CodeType] = []
        self.has_classes = False
        # Of what cloudpickle itself needs to make a function; by its names, which are not public
        self._known = {"subimport": self._module, "_builtin_type": self._type}

    def find_class(self, module: str, name: str) -> Any:
        self.first = self.first if any(self.first) else (module, name)
        if name in _LOADERS or (name in _READING and _loads(module)) or (name == "load" and _top(module) in _WITH_LOAD):
            self.loaders.add(f"{module}.{name}")
        if module == cloudpickle.__name__:
            self.has_classes |= name in _CLASSES
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


def _imported(code: CodeType) -> Iterator[tuple[str, str]]:
    """The modules that code imports, each with what is taken of it by `from a import b`, or ""."""
    before: tuple[Any, Any] = (0, None)  # the two steps before say how many packages above it is, and what is taken of it
    name, takes = "", False
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":  # of the next one
            continue
        if step.opname == "IMPORT_NAME":
            name, takes = f"{'.' if before[0] else ''}{step.argval}", before[1] is not None
            yield name, ""
        elif step.opname == "IMPORT_FROM" and takes:  # `import a.b as c` takes b of a
            yield name, step.argval
        before = (before[1], step.argval)
