"""Pictures of files and predicates. matplotlib is loaded when one is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from data_skip.errors import DataSkipError


def by_matplotlib() -> ModuleType:
    """The module that draws. DataSkipError without matplotlib."""
    try:
        return import_module("data_skip.pictures.drawing")
    except ImportError as error:
        raise DataSkipError(f"pictures need matplotlib ({error}): pip install 'data-skip[plots]'") from error
