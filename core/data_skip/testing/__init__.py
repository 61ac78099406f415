"""For who writes an index: is it sound (`check_index`)? What do filters see of a predicate (`show_tree`)?"""

from data_skip.testing.soundness import Checked, check_index
from data_skip.testing.tree import ShownTree, show_tree

__all__ = ["Checked", "ShownTree", "check_index", "show_tree"]
