"""For who writes an index: is it sound (`check_index`)? Is all of a plugin (`check_plugin`)? What do filters see (`show_tree`)?"""

from importlib import import_module
from typing import TYPE_CHECKING

from data_skip.testing.soundness import Checked, check_index
from data_skip.testing.tree import ShownTree, show_tree

if TYPE_CHECKING:
    from data_skip.testing.plugin import PluginChecked, check_plugin

__all__ = ["Checked", "PluginChecked", "ShownTree", "check_index", "check_plugin", "show_tree"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What draws needs hypothesis, which the others do not."""
        if name not in ("PluginChecked", "check_plugin"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module("data_skip.testing.plugin"), name)
        except ModuleNotFoundError as error:
            raise ImportError(f"{name} needs {error.name}: pip install 'data-skip[testing]'") from error
