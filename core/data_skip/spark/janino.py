"""Java sources that ship with a package, compiled inside the running JVM by Janino, which ships inside Spark.

No jar to build, no version to match; Janino knows no lambdas and little of generics. What it has compiled is kept as Python keeps what it
has compiled of a package (PEP 3147): in `__pycache__`, or below PYTHONPYCACHEPREFIX; not with PYTHONDONTWRITEBYTECODE, in a zip, or where
that cannot be written: there it is compiled anew. So whoever can change it can change what this Python runs, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname
from zipfile import ZipFile, ZipInfo

from py4j.java_gateway import is_instance_of

Sources = tuple[str, tuple[str, ...]]  # a Python package, and files of it; the last one is that of the class that is asked for

_KEPT = 8  # versions: of sources, and of Spark


@cache
def load(gateway: Any, package: str, sources: tuple[str, ...], below: Sources | None = None) -> Any:
    """The class of the last of some sources of a Python package, as `("spark/Plans.java", "spark/Shim.java")`.

    These see each other, and what is `below`. Their Java package has the name of the Python package. Loaded once for each JVM.
    """
    jvm = gateway.jvm
    parent = load(gateway, *below).getClassLoader() if below else jvm.java.lang.Thread.currentThread().getContextClassLoader()
    classes = jvm.java.util.HashMap()  # class files by their names, as "data_skip/Shim.class"
    texts = _texts(package, sources)
    place = _place(package, sources[-1], repr([*_built_with(gateway), below and _texts(*below), texts]))
    if not _read(place, classes):
        _compile(gateway, texts, parent, classes)
        _keep(place, classes)
    util = jvm.org.codehaus.commons.compiler.util
    loader = util.ResourceFinderClassLoader(util.resource.MapResourceFinder(classes), parent)
    return loader.loadClass(f"{package}.{_stem(sources[-1])}")


def _compile(gateway: Any, texts: dict[str, str], parent: Any, classes: Any) -> None:
    jvm = gateway.jvm
    resource = jvm.org.codehaus.commons.compiler.util.resource
    found = resource.MapResourceFinder(jvm.java.util.HashMap())  # a StringResource is of the JVM's own encoding, which may have no é
    asked = gateway.new_array(resource.Resource, len(texts))
    for i, (source, text) in enumerate(texts.items()):
        found.addResource(source, text.encode())
        asked[i] = found.findResource(source)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setSourceCharset(jvm.java.nio.charset.StandardCharsets.UTF_8)
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(parent))
    compiler.setSourceFinder(resource.MapResourceFinder(jvm.java.util.HashMap()))  # there are no others
    compiler.setClassFileCreator(resource.MapResourceCreator(classes))
    compiler.setDebugSource(True)
    compiler.setDebugLines(True)
    compiler.compile(asked)


def _texts(package: str, sources: tuple[str, ...]) -> dict[str, str]:
    return {source: files(package).joinpath(source).read_text("utf-8") for source in sources}


def _built_with(gateway: Any) -> Iterator[Any]:
    """What else decides what is compiled: the versions of Java, and of all jars: those of Spark, and of `spark.jars` and the like."""
    system, loader = gateway.jvm.java.lang.System, gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    yield system.getProperty("java.version")
    jars = system.getProperty("java.class.path").split(os.pathsep)
    while loader is not None:
        if is_instance_of(gateway, loader, "java.net.URLClassLoader"):
            jars += [url2pathname(urlsplit(str(url)).path) for url in loader.getURLs()]
        loader = loader.getParent()
    for jar in jars:
        with suppress(OSError):
            seen = os.stat(jar)
            yield jar, seen.st_size, seen.st_mtime_ns


def _place(package: str, source: str, of: str) -> Path | None:
    """Where classes are kept that are made of something. None: nowhere."""
    file = files(package).joinpath(source)
    if not isinstance(file, Path) or sys.implementation.cache_tag is None:
        return None
    return Path(cache_from_source(str(file))).with_name(f"{_stem(source)}.{sha256(of.encode()).hexdigest()[:32]}.zip")


def _read(place: Path | None, classes: Any) -> bool:
    """Whether classes are kept there; they are put into a map of the JVM."""
    if place is None:
        return False
    try:
        with ZipFile(place) as kept:
            for name, content in [(name, kept.read(name)) for name in kept.namelist()]:  # of what is damaged, none
                classes.put(name, content)
    except Exception:  # whatever is wrong with it: that is written anew
        return False
    return True


def _keep(place: Path | None, classes: Any) -> None:
    if place is None or sys.dont_write_bytecode:
        return
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent) as folder:
            made = Path(folder) / place.name
            with ZipFile(made, "w") as kept:
                for name in classes.keySet().toArray():
                    kept.writestr(ZipInfo(str(name)), bytes(classes.get(name)))  # of no time: one before 1980 is refused
            made.replace(place)
        others = sorted(place.parent.glob(f"{place.name.partition('.')[0]}.*.zip"), key=lambda other: other.stat().st_mtime)
        for other in others[:-_KEPT]:
            other.unlink()


def _stem(source: str) -> str:
    return source.rsplit("/", 1)[-1].removesuffix(".java")


def instance(gateway: Any, class_: Any, type_: str, arguments: Sequence[Any]) -> Any:
    """A new object of a class whose constructor takes arguments of one type, as "java.util.Map"."""
    jvm = gateway.jvm
    types, values = gateway.new_array(jvm.Class, len(arguments)), gateway.new_array(jvm.Object, len(arguments))
    for i, argument in enumerate(arguments):
        types[i], values[i] = jvm.java.lang.Class.forName(type_), argument
    return class_.getDeclaredConstructor(types).newInstance(values)
