"""The command `stream`: numbers in, predictions out, line by line and at once."""

import json as encoder
import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from stat import S_ISREG as is_regular
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from paralesn.cli.application import INTERRUPTED, SKIPPED, app, exit_on_error, load_model
from paralesn.cli.console import say, stderr
from paralesn.cli.interruption import Request, handled_by
from paralesn.cli.options import Json, ModelFile, file_in_folder

if TYPE_CHECKING:
    import numpy as np

    from paralesn.estimators.live import Live
    from paralesn.workflows.stream import LineReader, StateSaver

_KINDS = ("ReservoirForecaster", "SmootherBank", "StateForecaster", "ReservoirRegressor")


@app.command()
def stream(
    model: ModelFile,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Continue from the state in this file, and save it there.", dir_okay=False
        ),
    ] = None,
    save_every: Annotated[
        float,
        typer.Option(min=0.0, help="Seconds between writes of --resume; 0: after every line."),
    ] = 1.0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start from zero, not from the end of training.")
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn from every line, by recursive least squares.")
    ] = False,
    forget: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="With --learn, multiply what was learnt by this before each line.",
        ),
    ] = 1.0,
    save: Annotated[
        Path | None,
        typer.Option(help="With --learn, write the learnt model there at the end.", dir_okay=False),
    ] = None,
    json: Json = False,
) -> None:
    """Predict from live data: a line of numbers in, a line of predictions out at once.

    Numbers are separated by commas or blanks, in the order of the columns in training. A forecaster
    writes its whole horizon, step by step; with several targets, all those of a step side by side.
    A wrong line is reported on standard error and skipped; the state stays as it was. A
    ReservoirForecaster takes nan for a missing value.

    With --learn a forecaster learns from every line, then forecasts. A regressor predicts from the
    inputs of a line first; targets may follow them (nan: not known), and it learns from these. With
    --forget 0.999 a line that is a thousand lines old counts a third.

    The file of --resume is replaced as a whole, about --save-every seconds after a line at the
    latest and at the end, and only by a state whose answers are out. At the start, the number of
    lines it has seen is printed: feed the lines after that one. After a crash an answer may so
    come twice, the same to the last bit, but none is missing; --json numbers them. No other stream
    may use the file meanwhile.
    """
    from paralesn.persistence import save as save_model
    from paralesn.runtime.sole_writer import sole_writer
    from paralesn.workflows.stream import LineReader, StateSaver

    file_in_folder(resume, "--resume")
    file_in_folder(save, "--save")
    _check_learning(learn, forget, save)
    alone = nullcontext() if resume is None else sole_writer(resume)
    with exit_on_error(), alone:
        live = _start(model, resume, fresh, learn, forget)
        saver = StateSaver(live, resume, save_every, _report_unsaved, _output_to_disk)
        with handled_by((stop := _Stop()).handle), saver:
            skipped = _answer(LineReader(live), saver, stop, live.state.lines, json)
        if save is not None:
            save_model(live.learnt_model(), save)
    if stop.exit_code:
        raise typer.Exit(stop.exit_code)
    if skipped:
        raise typer.Exit(SKIPPED)


def _check_learning(learn: bool, forget: float, save: Path | None) -> None:
    """Refuse options that say something about learning where nothing is learnt."""
    if not forget > 0:
        raise typer.BadParameter("must be more than 0 and at most 1", param_hint="--forget")
    for name, is_given in (("--forget", forget < 1), ("--save", save is not None)):
        if is_given and not learn:
            raise typer.BadParameter("needs --learn", param_hint=name)


def _start(model: Path, resume: Path | None, fresh: bool, learn: bool, forget: float) -> "Live":
    """The model, where its training ended or where an earlier stream did."""
    from paralesn.workflows import stream as workflow

    given = load_model(model, *_KINDS)
    live = workflow.start(given, model, fresh=fresh, learn=learn, forget=forget)
    if resume is not None and resume.exists():
        if fresh:
            exists = f"{resume} is there already"
            raise typer.BadParameter(exists, param_hint="--fresh and --resume")
        workflow.resume(live, load_model(resume, "LiveState"), resume)
        say(stderr(), f"Resumed after line {live.state.lines}.")
    return live


def _report_unsaved(error: OSError) -> None:
    say(stderr(), f"The state cannot be written: {error}")


def _output_to_disk() -> None:
    """Bring what was written to the disk, if it goes to a file there, before the state is."""
    try:
        number = sys.stdout.fileno()
    except OSError:  # in tests it is no file
        return
    if is_regular(os.fstat(number).st_mode):
        os.fsync(number)


class _Stop:
    """Whether a signal asked to stop; a line that was read is answered first."""

    def __init__(self) -> None:
        self.request, self.is_waiting = Request(), False

    @property
    def is_asked(self) -> bool:
        return self.request.number is not None

    @property
    def exit_code(self) -> int:
        """Streams are ended from outside, so only Ctrl-C counts as an interruption."""
        return INTERRUPTED if self.request.number == signal.SIGINT else 0

    def handle(self, number: int, _frame: Any) -> None:
        is_first = not self.is_asked
        if not self.request.heed(number):
            return
        if not is_first:  # whoever reads the answers does not take them
            raise KeyboardInterrupt
        if self.is_waiting:
            raise InterruptedError


def _answer(reader: "LineReader", saver: "StateSaver", stop: _Stop, number: int, json: bool) -> int:
    """Answer the lines of standard input after line `number`; how many of them were skipped."""
    skipped = 0
    while not stop.is_asked and (line := _next_line(sys.stdin.buffer, stop)):
        number += 1
        try:
            predictions = reader.read(line, number)
        except ValueError as error:
            skipped += 1
            sys.stderr.write(f"line {number}: {error}; skipped\n")
            sys.stderr.flush()
        else:
            sys.stdout.write(_as_text(predictions, number, json))
            sys.stdout.flush()
        saver.answered()
    return skipped


def _next_line(source: BinaryIO, stop: _Stop) -> bytes:
    """The next line, nothing at the end or when asked to stop."""
    try:
        try:
            stop.is_waiting = True
            return b"" if stop.is_asked else source.readline()
        finally:
            stop.is_waiting = False
    except InterruptedError:
        return b""


def _as_text(predictions: "np.ndarray", number: int, json: bool) -> str:
    if json:
        answer = {"line": number, "prediction": predictions.tolist()}
        return encoder.dumps(answer, allow_nan=False) + "\n"
    return ",".join(map(repr, predictions.ravel().tolist())) + "\n"
