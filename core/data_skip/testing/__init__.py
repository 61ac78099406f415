"""For who writes an index: is it sound (`check_index`)? Is all of a plugin (`check_plugin`)? What do filters see (`show_tree`)?"""

from data_skip.testing.drawn import COLUMNS
from data_skip.testing.plugin import PluginChecked, check_plugin
from data_skip.testing.soundness import Checked, check_index
from data_skip.testing.tree import ShownTree, show_tree

__all__ = ["COLUMNS", "Checked", "PluginChecked", "ShownTree", "check_index", "check_plugin", "show_tree"]
