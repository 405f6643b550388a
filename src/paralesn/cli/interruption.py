"""Signals that end a command: Ctrl-C, SIGTERM, and SIGHUP of a terminal that was closed.

The first is raised as KeyboardInterrupt, so that files half written are removed and processes end.
Meanwhile further ones are ignored, as impatient people and process groups send several. One that
comes when this has taken long ends the process at once.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 5.0  # seconds for a command to end by itself
_AN_INSTANT = 0.05  # seconds in which whatever swallowed an interruption is over


class Request:
    """Which signal asked to end, if any did."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._since = 0.0

    def heed(self, number: int) -> bool:
        """Note a signal; whether something is to be done about it."""
        if self.number is None:
            self.number, self._since = number, time.monotonic()
            return True
        return time.monotonic() - self._since > _PATIENCE

    @property
    def exit_code(self) -> int:
        """As shells count what a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
        return 0 if self.number is None else 128 + self.number


class Interruption:
    """Raises the first signal in the main thread, also where a callback swallowed it."""

    def __init__(self) -> None:
        self.request = Request()
        self._process = os.getpid()

    def await_(self) -> None:
        """Heed signals from now on."""
        atexit.register(self._leave)  # as the first, it is called as the last
        sys.unraisablehook = self._swallowed
        for number in _heeded():
            signal.signal(number, self._handle)

    def end(self) -> None:
        """Let signals end the process, as nothing is left to clean up, unless one is heeded."""
        if self.request.number is None:
            for number in _heeded():
                signal.signal(number, signal.SIG_DFL)

    def _leave(self) -> None:
        """Have the exit code tell what is heeded: from here on Python handles no signal."""
        if self.request.number is not None:
            for number in _heeded():
                signal.signal(number, signal.SIG_IGN)
            # An interruption that came through `exec`, as of dataclasses that are being imported,
            # is one that Python repeats at its end, unless another `exec` came later.
            exec("")

    def _handle(self, number: int, _frame: Any) -> None:
        is_first = self.request.number is None
        if os.getpid() != self._process or (self.request.heed(number) and not is_first):
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif is_first:
            raise KeyboardInterrupt

    def _swallowed(self, unraisable: Any) -> None:
        """Send a signal again that a callback has swallowed; say what else was swallowed."""
        number = self.request.number
        if number is None or not issubclass(unraisable.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
            return
        self.request = Request()
        again = threading.Timer(_AN_INSTANT, _send_to_main_thread, (number,))
        again.daemon = True
        again.start()


def _heeded() -> list[int]:
    """Signals that end a command, but those that whoever started it has ignored."""
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    return [n for n in numbers if n is not None and signal.getsignal(n) != signal.SIG_IGN]


def _send_to_main_thread(number: int) -> None:
    thread = threading.main_thread().ident
    if thread is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:  # Windows
        signal.raise_signal(number)


@contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    """Have the signals that end a command handled by a function in the block."""
    before = {number: signal.signal(number, handler) for number in _heeded()}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
