"""Learn a class, or a number, for every series of people's own files, and judge that."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.tables.case_targets import recognise_numbers, target_numbers
from paralesn.tables.cases import CaseColumns, LabelledCases, as_classes, read_cases
from paralesn.tables.errors import TableError
from paralesn.tables.formats import labels_array
from paralesn.tables.notes import listed
from paralesn.tables.reading import Reading
from paralesn.workflows.case_answers import check_channels, truth_of
from paralesn.workflows.case_result import CaseRequest, Classification, SeriesRegression
from paralesn.workflows.cross_validation import FoldPlan, plan_folds
from paralesn.workflows.evaluation import (
    Asked,
    ClassEvaluation,
    NumberEvaluation,
    ask_other,
    cross_validate,
)
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.series_tasks import ClassTask, NumberTask, Task
from paralesn.workflows.yardsticks import MODEL


def classify_files(
    train: Path,
    test: Path | None = None,
    *,
    columns: CaseColumns | None = None,
    missing: str = "error",
    reading: Reading | None = None,
    regress: bool | None = None,
    request: CaseRequest | None = None,
    progress: Progress = silent,
) -> Classification | SeriesRegression:
    """Learn from the series of a file, judge that, and answer for those of another.

    Parameters
    ----------
    train, test : Path
        UCR's ``.tsv``, aeon's ``.ts``, or long tables (CSV, Excel, Parquet). `test` may lack
        labels. Without labels to test on, the model is cross-validated on the training cases.
    columns : CaseColumns, optional
        Names of the columns of long tables.
    missing : "error" or "interpolate"
        What to do about missing values inside series.
    reading : Reading, optional
        How long tables are written. Default: as their content suggests.
    regress : bool, optional
        Whether labels are numbers to predict, not classes. Default: as
        `paralesn.tables.case_targets.recognise_numbers` finds.
    request : CaseRequest, optional
    progress : function, optional
        Told what is being done.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from paralesn.workflows.classify import classify_files
    >>> t, folder = np.arange(60), Path(tempfile.mkdtemp())
    >>> for name, phases in (("train", range(8)), ("test", range(8, 12))):
    ...     lines = [
    ...         "\\t".join([label, *(f"{v:.6f}" for v in np.sin(t / period + phase))])
    ...         for phase in phases
    ...         for label, period in (("slow", 9), ("fast", 5))
    ...     ]
    ...     _ = (folder / f"{name}.tsv").write_text("\\n".join(lines))
    >>> result = classify_files(folder / "train.tsv", folder / "test.tsv")
    >>> result.evaluation.accuracy, result.evaluation.majority_accuracy
    (1.0, 0.5)
    >>> alone = classify_files(folder / "train.tsv")
    >>> alone.evaluation.plan.words(), alone.evaluation.accuracy
    ('8-fold cross-validation, 10 times', 1.0)
    """
    columns = columns or CaseColumns()
    train_cases = read_cases(train, columns, missing, reading)
    test_cases = None if test is None else read_cases(test, columns, missing, reading)
    if train_cases.labels is None:
        raise TableError(
            f"{train.name} has no column {columns.label!r} (`label`) to learn from",
            parameter="label",
        )
    recognised = recognise_numbers(train_cases)
    if regress is None and recognised.note is not None:
        train_cases = train_cases._replace(notes=(*train_cases.notes, recognised.note))
    learn = regress_cases if (recognised.is_number if regress is None else regress) else classify
    try:
        return learn(train_cases, test_cases, request, progress=progress)
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{train.name} cannot be learnt from: {error}") from error


def classify(
    train: LabelledCases,
    test: LabelledCases | None = None,
    request: CaseRequest | None = None,
    *,
    progress: Progress = silent,
) -> Classification:
    """Fit the default `ReservoirClassifier` to labelled cases, judge it, and classify others.

    Its features are drawn with the seed of the request; with 0, they are those of
    ``ReservoirClassifier()``.
    """
    start, request = time.monotonic(), request or CaseRequest()
    task = class_task(train, test, request)
    _check_channels(train, test)
    progress("learning", 0.0)
    result = Classification(
        task.fit(train.series), train, test, request=request, notes=_notes(train)
    )
    if test is not None and test.labels is None:
        progress("classifying", 0.0)
        answer = task.ask(result.model, test.series)
        classes = task.classes[answer.values]
        result = replace(result, predictions=classes, probabilities=answer.probabilities)
    if test is not None and test.labels is not None:
        truth, labels = truth_of(test.labels, task.classes)
        asked = ask_other(task, result.model, train.series, test.series, progress)
        values = asked.answers[MODEL][0].astype(int)
        evaluation = ClassEvaluation(
            truth, asked.answers, None, labels, task.classes.size, asked.probabilities
        )
        result = replace(
            result, predictions=task.classes[values], probabilities=asked.probabilities,
            evaluation=evaluation, notes=(*result.notes, *asked.notes),
        )  # fmt: skip
    else:
        result = _cross_validated(result, task, request, progress)
    return replace(result, seconds=time.monotonic() - start)


def _held_out(
    task: Task, train: LabelledCases, request: CaseRequest, progress: Progress
) -> tuple[FoldPlan | None, Asked]:
    """The folds, and answers to cases of training while they were held out."""
    plan = plan_folds(task.strata, _values(train.series), request.folds, request.repeats)
    if plan is not None:
        asked = cross_validate(task, train.series, plan, seed=request.seed, progress=progress)
        return plan, asked
    why = "every class has one case only" if task.strata.size > 1 else "there is one case only"
    why = "as wanted" if request.repeats == 0 else why
    return None, Asked({}, None, (f"the model was not evaluated: {why}",))


def _cross_validated(
    result: Classification, task: ClassTask, request: CaseRequest, progress: Progress
) -> Classification:
    """The result with its model judged on cases of training that were held out."""
    plan, asked = _held_out(task, result.train, request, progress)
    notes = (*result.notes, *asked.notes)
    if plan is None:
        return replace(result, notes=notes)
    labels = tuple(str(label) for label in task.classes.tolist())
    evaluation = ClassEvaluation(
        task.truth, asked.answers, plan, labels, len(labels), asked.probabilities
    )
    single = [repr(labels[k]) for k in np.flatnonzero(task.strata == 1)]
    if single:
        have = "class has" if len(single) == 1 else "classes have"
        note = f"{len(single)} {have} one case only ({listed(single, 5)}): learnt from, not tested"
        notes = (*notes, note)
    return replace(result, evaluation=evaluation, notes=notes)


def regress_cases(
    train: LabelledCases,
    test: LabelledCases | None = None,
    request: CaseRequest | None = None,
    *,
    progress: Progress = silent,
) -> SeriesRegression:
    """Fit the default `ReservoirSeriesRegressor` to cases, judge it, and predict for others."""
    start, request = time.monotonic(), request or CaseRequest()
    if train.labels is None:
        raise ValueError("train must have labels to learn from, got None")
    if request.class_weight is not None:
        raise TableError(
            "`class_weight` weighs classes, but labels are numbers to predict",
            parameter="class_weight",
        )
    task = NumberTask(target_numbers(train.labels, train.names), request.seed)
    _check_channels(train, test)
    progress("learning", 0.0)
    result = SeriesRegression(task.fit(train.series), train, test, request=request,
                              notes=train.notes)  # fmt: skip
    if test is not None and test.labels is None:
        progress("predicting", 0.0)
        result = replace(result, predictions=task.ask(result.model, test.series).values)
    if test is not None and test.labels is not None:
        truth = target_numbers(test.labels, test.names)
        asked = ask_other(task, result.model, train.series, test.series, progress)
        result = replace(
            result, predictions=asked.answers[MODEL][0],
            evaluation=NumberEvaluation(truth, asked.answers), notes=(*train.notes, *asked.notes),
        )  # fmt: skip
    else:
        plan, asked = _held_out(task, train, request, progress)
        evaluation = plan and NumberEvaluation(task.truth, asked.answers, plan)
        result = replace(result, evaluation=evaluation, notes=(*train.notes, *asked.notes))
    return replace(result, seconds=time.monotonic() - start)


# -- labels ----------------------------------------------------------------------------------------


def class_task(train: LabelledCases, test: LabelledCases | None, request: CaseRequest) -> ClassTask:
    """What is to be learnt: classes of the type they have in both files, weights by class."""
    if train.labels is None:
        raise ValueError("train must have labels to learn from, got None")
    together = [train.labels]
    if test is not None and test.labels is not None:
        together.append(test.labels)  # so that 1 and 1.0 are one label
    classes, codes = np.unique(labels_array(*together)[0], return_inverse=True)
    weight = request.class_weight
    if isinstance(weight, Mapping):
        known = {str(label) for label in classes.tolist()}
        keys = as_classes(list(weight), classes).tolist()
        for key in keys:
            if str(key) not in known:
                raise TableError(
                    f"`class_weight` names the label {key!r}, expected one of "
                    f"{listed(sorted(map(repr, known)), 20)}",
                    parameter="class_weight",
                )
        weight = dict(zip(keys, weight.values(), strict=True))
    return ClassTask(codes, classes, weight, request.seed)


def _notes(train: LabelledCases) -> tuple[str, ...]:
    """Notes of the file, and one on classes whose names look alike."""
    alike: dict[str, list[str]] = {}
    for label in dict.fromkeys(train.labels or ()):
        alike.setdefault(" ".join(label.casefold().split()), []).append(label)
    pairs = [names for names in alike.values() if len(names) > 1]
    more = [f"{listed(list(map(repr, names)))} are different classes" for names in pairs]
    return (*train.notes, *more)


def _values(series: Any) -> int:
    """Numbers in all series together."""
    return int(sum(values.size for values in series))


def _check_channels(train: LabelledCases, test: LabelledCases | None) -> None:
    if test is not None:
        check_channels(test, train.series[0].shape[1])
