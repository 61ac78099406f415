"""The JVM side: Java sources that ship with this package, compiled inside the running session."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

# In order of use: each class sees those before it, through the class loader that is its parent.
SOURCES = (
    *("Plans", "TreeEncoder", "Conditions", "Domain", "Evaluator", "Ranges"),
    *("KnownFiles", "Freshness", "Listing", "ChosenFiles", "SmallSide", "KeyPredicates", "Pending", "SkippingFileIndex"),
    *("Groups", "Generators", "SkippingRule", "Shim"),
)


@cache
def shim(gateway: Any) -> Any:
    """The Shim object of this JVM, compiled with Janino, which ships inside Spark: no jar to build, no version to match."""
    jvm = gateway.jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in SOURCES:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook(f"{name}.java", files(__package__).joinpath(f"{name}.java").read_text("utf-8"))
        loader = compiler.getClassLoader()
    return (
        loader.loadClass("data_skip.Shim")
        .getDeclaredConstructor(gateway.new_array(jvm.Class, 0))
        .newInstance(gateway.new_array(jvm.Object, 0))
    )
