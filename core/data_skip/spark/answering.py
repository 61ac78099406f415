"""What the JVM calls: a BiFunction of Python, which leaves the connection of the thread that is asked as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Answering:
    """The JVM's java.util.function.BiFunction."""

    def __init__(self, gateway: Any, answer: Callable[[Any, Any], Any]) -> None:
        self._client, self._answer = gateway._gateway_client, answer

    def apply(self, question: Any, java: Any) -> Any:
        """The answer.

        A thread has its connection in use while Python is asked on it, and so not among those that py4j keeps. But what Python
        asks back puts it there, and the call itself once more at its end; and only once is it taken out when its thread ends. Each thread
        would leave an open file here, and a thread and another file in the JVM.
        """
        try:
            return self._answer(question, java)
        finally:
            with suppress(AttributeError, ValueError):  # the first of another py4j; the second where nothing was asked back
                self._client.deque.remove(self._client.get_thread_connection())

    class Java:
        """What py4j asks of a Python object that the JVM calls."""

        implements = ("java.util.function.BiFunction",)
