"""A model on a stream of lines: numbers of a line, predictions, and a state that is saved."""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from paralesn.estimators.forecaster.live_members import Position
from paralesn.estimators.live import Live, LiveState
from paralesn.persistence import save
from paralesn.tables.notes import listed
from paralesn.tables.numerals import plain_numbers
from paralesn.workflows.describe import learnt_columns


def start(
    model: Any, path: Path, *, fresh: bool = False, learn: bool = False, forget: float = 1.0
) -> Live:
    """Feed a model from where its training ended, or from zero if `fresh`; see `Live`.

    The state is tied to the contents of `path`, the file of the model.
    """
    try:
        live = Live(model, fresh, learn=learn, forget=forget)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    live.state = replace(live.state, model=digest)
    return live


def resume(live: Live, state: LiveState, path: Path) -> None:
    """Continue from a state, which must be of the same model; `path` is where it came from."""
    if state.model != live.state.model:
        raise ValueError(f"{path} belongs to another model, or to another version of this one")
    if live.learns and state.learnt is None:
        raise ValueError(f"{path} is of a stream that did not learn: begin another one to learn")
    try:
        live.state = state
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be continued from: {error}") from error


class LineReader:
    """Predict from lines of numbers, separated by commas or blanks.

    Where a regressor learns, its targets may follow the inputs; nan for one that is not known.

    Parameters
    ----------
    live : Live
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._expected = _expected_numbers(live)

    def read(self, line: bytes, number: int) -> np.ndarray:
        """Predictions after line `number`; a wrong line is counted and raises ValueError.

        So does one after which predictions or the state would not be finite, ever after.
        """
        before = self._live.state
        try:
            predictions = self._live.read(self._row(line), number)
            if not np.isfinite(predictions).all() or not _is_finite(self._live.state):
                text = _quoted(line)
                raise ValueError(f"expected numbers that give a finite prediction, got {text}")
            return predictions
        except ValueError:
            self._live.state = replace(before, lines=number)
            raise

    def _row(self, line: bytes) -> np.ndarray:
        """The numbers of a line."""
        text, width = line.decode("utf-8", errors="replace").strip(), self._live.width
        targets = self._live.n_targets
        commas = text.count(",")
        try:
            row = np.array(plain_numbers(text.replace(",", " ").split()))
        except ValueError:
            row = np.zeros(0)
        wrong = row.size not in (width, width + targets)
        if wrong or (commas and commas != row.size - 1):
            raise ValueError(f"expected {self._expected}, got {_quoted(line)}")
        if np.isinf(row).any() or (np.isnan(row[:width]).any() and not self._live.may_miss):
            raise ValueError(f"expected finite numbers, got {_quoted(line)}")
        return row


def _quoted(line: bytes) -> str:
    """The beginning of a line, as messages show it."""
    return repr(line.decode("utf-8", errors="replace").strip()[:80])


def _is_finite(state: LiveState) -> bool:
    """Whether all states of reservoirs are; others are checked where they are made."""
    at = state.state
    states = at.states if isinstance(at, Position) else () if at is None else (at,)
    return all(np.isfinite(h).all() for own in states for h in own.layers)


def _expected_numbers(live: Live) -> str:
    """What a line must hold."""
    names, model, count = None, live.model, live.width
    if hasattr(model, "horizon_"):
        names, _ = learnt_columns(model)
    elif hasattr(model, "feature_names_in_"):
        names = [str(name) for name in model.feature_names_in_]
    text = f"{count} number{'s' if count > 1 else ''}"
    if names is not None:
        text += f" ({listed(names, 10)})"
    if live.n_targets:
        text += f", or {live.n_targets} more for the target{'s' if live.n_targets > 1 else ''}"
    return text


class StateSaver:
    """Save the state of a stream once its answers are out: after every line, or at intervals.

    Only the state after the last line that `answered` was called for is ever saved, so what
    is on disk may know less than the reader of the answers, never more: after a kill an answer may
    come twice, but none is missing. A state is never changed, only replaced by the next one, so the
    thread that saves sees either.

    Parameters
    ----------
    live : Live
    path : Path or None
        None saves nothing.
    seconds : float
        Between saves; 0 saves in `answered`.
    on_error : function
        Told of an error between two saves; the last save raises it.
    before : function
        Called before each save: brings the answers to where the state will be, the disk.
    """

    def __init__(
        self,
        live: Live,
        path: Path | None,
        seconds: float,
        on_error: Callable[[OSError], None],
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self._live, self._path, self._seconds, self._on_error = live, path, seconds, on_error
        self._before = before
        self._answered = live.state
        self._saved: LiveState | None = live.state if path and path.exists() else None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def answered(self) -> None:
        """Call after every line, when its prediction, or what is wrong with it, is out."""
        self._answered = self._live.state
        if self._seconds == 0:
            self._save()

    def _save(self) -> None:
        state = self._answered
        if self._path is not None and state is not self._saved:
            self._before()
            save(state, self._path)
            self._saved = state

    def _save_at_intervals(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._save()
            except OSError as error:
                self._on_error(error)

    def __enter__(self) -> Self:
        self._save()  # a file that cannot be written should be known at once
        if self._path is not None and self._seconds > 0:
            self._thread = threading.Thread(target=self._save_at_intervals, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._save()
