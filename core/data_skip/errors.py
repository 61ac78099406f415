"""What data-skip raises."""


class DataSkipError(ValueError):
    """Something asked for cannot be done. Says what was wrong, with which value, and what to do; nothing was written."""


class DataSkipWarning(UserWarning):
    """Something that makes queries slower than they could be; never a wrong answer."""
