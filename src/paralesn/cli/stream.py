"""The command `stream`: numbers in, predictions out, line by line and at once."""

import hashlib
import json as encoder
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from paralesn.cli.shared import (
    SKIPPED,
    Json,
    ModelFile,
    UnusableError,
    app,
    failing,
    load_model,
    say,
    stderr,
)

if TYPE_CHECKING:
    import numpy as np

    from paralesn.estimators.live import Live, Standing

_KINDS = ("ReservoirForecaster", "ReservoirRegressor")


@app.command()
def stream(
    model: ModelFile,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on from the state in this file, and keep it there.", dir_okay=False),
    ] = None,
    save_every: Annotated[
        float,
        typer.Option(min=0.0, help="Seconds between writes of --resume; 0: after every line."),
    ] = 1.0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin from zero, not from the end of training.")
    ] = False,
    json: Json = False,
) -> None:
    """Predict from live data: a line of numbers in, a line of predictions out at once.

    Numbers are separated by commas or blanks, in the order of the columns of training. A forecaster
    writes its whole horizon, step by step (of several targets, all of a step side by side). A line
    that is not right is reported on standard error and skipped; the state stays as it was.

    The file of --resume is replaced as a whole, at most about --save-every seconds after a line and
    at the end, so a crash leaves an earlier state; how many lines it has seen is said at the start.
    """
    from paralesn.estimators.live import Live

    with failing():
        if resume is not None and not resume.parent.is_dir():
            expected = f"the folder {resume.parent} does not exist"
            raise typer.BadParameter(expected, param_hint="--resume")
        fitted = load_model(model, *_KINDS)
        live = _started(Live, fitted, fresh, model)
        before = 0
        if resume is not None and resume.exists():
            before = _go_on(live, resume, fresh)
        keeper = _Keeper(live, resume, save_every)
        names = _names(fitted)
        with _ending() as ending, keeper:
            skipped = _serve(live, keeper, ending, before, names, json)
    if ending.code:
        raise typer.Exit(ending.code)
    if skipped:
        raise typer.Exit(SKIPPED)


def _started(make: Any, fitted: Any, fresh: bool, path: Path) -> "Live":
    try:
        live: Live = make(fitted, fresh)
    except (TypeError, ValueError) as error:
        raise UnusableError(f"{path}: {error}") from error
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    live.standing = replace(live.standing, model=digest)
    return live


def _go_on(live: "Live", path: Path, fresh: bool) -> int:
    """Take up the state in a file; the number of lines it has seen."""
    if fresh:
        raise typer.BadParameter(f"{path} is there already", param_hint="--fresh and --resume")
    found: Standing = load_model(path, "Standing")
    if found.model != live.standing.model:
        raise UnusableError(f"{path} belongs to another model, or to another version of this one")
    live.standing = found
    say(stderr(), f"Resumed after line {found.lines}.")
    return found.lines


def _names(fitted: Any) -> str:
    """What a line must hold."""
    names = getattr(fitted, "_names", {}).get("y")
    if names is None and hasattr(fitted, "feature_names_in_"):
        names = [str(name) for name in fitted.feature_names_in_]
    count = int(fitted.n_features_in_)
    text = f"{count} number{'s' if count > 1 else ''}"
    return text if names is None else f"{text} ({', '.join(names)})"


class _Ending:
    """Whether to end, and with which exit code; a line in hand is finished first."""

    def __init__(self) -> None:
        self.is_asked, self.code, self.waits = False, 0, False

    def ask(self, number: int, _frame: Any) -> None:
        self.is_asked, self.code = True, 130 if number == signal.SIGINT else 0
        if self.waits:
            raise InterruptedError


@contextmanager
def _ending() -> Iterator[_Ending]:
    """Let Ctrl-C and SIGTERM end the stream between two lines."""
    ending = _Ending()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, ending.ask) for number in numbers}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Keeper:
    """Writes the state to a file: after every line, or once in a while and at the end.

    A state is never changed, only replaced by the next one, so the thread that writes sees either.
    """

    def __init__(self, live: "Live", path: Path | None, every: float) -> None:
        self._live, self._path, self._every = live, path, every
        self._saved: Standing | None = live.standing if path and path.exists() else None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def line(self) -> None:
        """Called after every line, before its prediction is written."""
        if self._every == 0:
            self._save()

    def _save(self) -> None:
        from paralesn.persistence import save

        standing = self._live.standing
        if self._path is not None and standing is not self._saved:
            save(standing, self._path)
            self._saved = standing

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._save()
            except OSError as error:
                say(stderr(), f"The state cannot be written: {error}")

    def __enter__(self) -> "_Keeper":
        self._save()  # what cannot be written should be known at once
        if self._path is not None and self._every > 0:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._save()


def _serve(
    live: "Live", keeper: _Keeper, ending: _Ending, before: int, names: str, json: bool
) -> int:
    """Answer lines until they end; the number of lines that were skipped."""
    skipped, number, out = 0, before, sys.stdout
    source: BinaryIO = sys.stdin.buffer
    while not ending.is_asked:
        line = _next(source, ending)
        if not line:
            break
        number += 1
        try:
            found = live.read(_row(line, live.width, names), number)
        except ValueError as error:
            skipped += 1
            live.standing = replace(live.standing, lines=number)
            sys.stderr.write(f"line {number}: {error}; skipped\n")
            sys.stderr.flush()
            continue
        keeper.line()
        out.write(_written(found, number, json))
        out.flush()
    return skipped


def _next(source: BinaryIO, ending: _Ending) -> bytes:
    """The next line, nothing at the end or when asked to end."""
    ending.waits = True
    try:
        return b"" if ending.is_asked else source.readline()
    except InterruptedError:
        return b""
    finally:
        ending.waits = False


def _row(line: bytes, width: int, names: str) -> "np.ndarray":
    """Numbers of a line."""
    import numpy as np

    text = line.decode("utf-8", errors="replace").strip()
    parts = (text.replace(",", " ") if "," in text else text).split()
    try:
        row = np.array([float(part) for part in parts])
    except ValueError:
        raise ValueError(f"expected {names}, got {text[:80]!r}") from None
    if row.size != width or (text.count(",") and text.count(",") != width - 1):
        raise ValueError(f"expected {names}, got {text[:80]!r}")
    if not np.isfinite(row).all():
        raise ValueError(f"expected finite numbers, got {text[:80]!r}")
    return row


def _written(found: "np.ndarray", number: int, json: bool) -> str:
    if json:
        return encoder.dumps({"line": number, "prediction": found.tolist()}) + "\n"
    return ",".join(map(repr, found.ravel().tolist())) + "\n"
