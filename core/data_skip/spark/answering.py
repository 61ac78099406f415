"""What the JVM calls: a BiFunction of Python, which leaves the connection of the thread that is asked as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Answering:
    """The JVM's java.util.function.BiFunction."""

    def __init__(self, gateway: Any, answer: Callable[[Any, Any], Any]) -> None:
        """answer: what is said. py4j keeps this as long as the JVM may ask, and the JVM all that Python holds of it: neither would ever let
        go of a session that is not used any more, if there were no other answer then.
        """
        self._client, self.answer = gateway._gateway_client, answer

    def apply(self, question: Any, java: Any) -> Any:
        """The answer.

        A thread has its connection in use while Python is asked on it, and so not among those that py4j keeps. But what Python
        asks back puts it there, and the call itself once more at its end; and only once is it taken out when its thread ends. Each thread
        would leave an open file here, and a thread and another file in the JVM.
        """
        try:
            return self.answer(question, java)
        finally:
            with suppress(AttributeError, ValueError):  # the first of another py4j; the second where nothing was asked back
                self._client.deque.remove(self._client.get_thread_connection())

    class Java:
        """What py4j asks of a Python object that the JVM calls."""

        implements = ("java.util.function.BiFunction",)
