"""Java sources that ship with a package, compiled inside the running JVM by Janino, which ships inside Spark.

No jar to build, no version to match; Janino knows no lambdas and little of generics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load(gateway: Any, package: str, sources: tuple[str, ...], other: Any = None) -> Any:
    """The class of the last of some sources of a Python package, as `("spark/Plans.java", "spark/Shim.java")`.

    In order of use: each class sees those before it, through the class loader that is its parent, and what the `other` class sees.
    Their Java package has the name of the Python package. Compiled once for each JVM.
    """
    jvm = gateway.jvm
    loader = other.getClassLoader() if other is not None else jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for source in sources:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook(source, files(package).joinpath(source).read_text("utf-8"))
        loader = compiler.getClassLoader()
    return loader.loadClass(f"{package}.{sources[-1].rsplit('/', 1)[-1].removesuffix('.java')}")


def instance(gateway: Any, class_: Any, type_: str, arguments: Sequence[Any]) -> Any:
    """A new object of a class whose constructor takes arguments of one type, as "java.util.Map"."""
    jvm = gateway.jvm
    types, values = gateway.new_array(jvm.Class, len(arguments)), gateway.new_array(jvm.Object, len(arguments))
    for i, argument in enumerate(arguments):
        types[i], values[i] = jvm.java.lang.Class.forName(type_), argument
    return class_.getDeclaredConstructor(types).newInstance(values)
