"""Journals of studies as killed processes, full disks and bad sectors leave them, then continued.

The truth is what the journal held before: trials whose lines are whole stay as they were, a torn end
is dropped, and damage before the end is refused by its line.
"""

import re
import time
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from paralesn.files import DamagedFileError, DamagedFileWarning
from paralesn.workflows import study_storage
from paralesn.workflows.study_journal import StudyJournal

CASES = 60
QUICK = 5.0  # seconds that nobody waits for the dead

NAME = "study.log"
TRIALS = 3  # that are added
BLOCKS = [b"\0", b"\xff\xfe", b"{", b'{"op_code": 4', b"null", b"[]", b"1", b"\r\n", b"\n", b"\n\n",
          b'{"op_code":4,"x":"\xc3', b"[" * 5000, b" " * 100_000]  # fmt: skip

_at = st.integers(0, 100_000)
RECIPES = st.fixed_dictionaries(
    {
        "trials": st.integers(0, 6),
        "damage": st.one_of(
            st.just(["none"]),
            st.tuples(st.just("cut"), _at).map(list),
            st.tuples(st.just("add"), st.integers(0, len(BLOCKS) - 1)).map(list),
            st.tuples(st.just("flip"), _at, st.integers(0, 255)).map(list),
            st.tuples(st.just("put"), _at, st.integers(0, len(BLOCKS) - 1)).map(list),
            st.tuples(st.just("zeros"), _at, st.integers(1, 400)).map(list),
        ),
        "cut": st.integers(0, 30),
        "lock": st.sampled_from(["none", "link", "file", "folder"]),
        "writers": st.integers(1, 2),
    }
)


def _loss(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.set_user_attr("text", "an ü")
    trial.report(x, 0)
    return x + trial.suggest_categorical("kind", [0, 1])


def _study(folder):
    import optuna

    storage = study_storage.opened(str(folder), NAME)
    sampler = optuna.samplers.RandomSampler(0)
    return study_storage.create_study(storage, "a study", sampler=sampler)


@cache
def _journal(trials):
    """A journal of so many trials."""
    with TemporaryDirectory() as folder:
        _study(folder).optimize(_loss, n_trials=trials)
        return (Path(folder) / NAME).read_bytes()


def _damaged(content, recipe):
    """The journal as somebody left it."""
    content = content[: len(content) - recipe["cut"]]
    kind, *more = recipe["damage"]
    at = more[0] % max(1, len(content)) if more else 0
    if kind == "cut":
        return content[:at]
    if kind == "add":
        return content + BLOCKS[more[0]]
    if kind == "flip" and content:
        return content[:at] + bytes([more[1]]) + content[at + 1 :]
    if kind == "put":
        return content[:at] + BLOCKS[more[1]] + content[at:]
    if kind == "zeros":
        return (content[:at] + b"\0" * more[1] + content[at + more[1] :])[: len(content)]
    return content


def _lines_kept(before, now):
    """Whole lines that are as they were, from the first one on."""
    kept = 0
    for one, other in zip(before.split(b"\n")[:-1], now.split(b"\n")[:-1], strict=False):
        if one != other:
            break
        kept += 1
    return kept


def _known(study):
    """Trials by what is known of them."""
    return [(t.state, t.params, t.value, t.user_attrs) for t in study.get_trials()]


def _expected(before, kept, folder):
    """Trials of the lines that were kept, read by Optuna's own backend."""
    import optuna

    path = folder / "expected.log"
    path.write_bytes(b"".join(line + b"\n" for line in before.split(b"\n")[:kept]))
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    try:
        study = optuna.load_study(
            study_name="a study", storage=optuna.storages.JournalStorage(backend)
        )
    except KeyError:
        return []
    return _known(study)


def attack(recipe, folder):
    """Open a damaged journal, and continue its study."""
    before = _journal(recipe["trials"])
    now = _damaged(before, recipe)
    (folder / NAME).write_bytes(now)
    lock = folder / f"{NAME}.lock"
    if recipe["lock"] == "link":
        lock.symlink_to(folder / NAME)
    elif recipe["lock"] == "file":
        lock.touch()
    elif recipe["lock"] == "folder":
        lock.mkdir()
    kept = _lines_kept(before, now)
    begun = time.monotonic()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            trials = _known(_study(folder))
        except DamagedFileError as error:
            _check_refusal(str(error), now, folder)
            return "refused"
        for _ in range(recipe["writers"]):
            _study(folder).optimize(_loss, n_trials=TRIALS)
        after = _known(_study(folder))
    assert time.monotonic() - begun < QUICK, "somebody was waited for"
    wrong = [w for w in warned if not issubclass(w.category, DamagedFileWarning)]
    assert not wrong, [str(w.message) for w in wrong]
    if now.split(b"\n")[kept:] != [b""]:
        assert warned or _means_the_same(now, kept), "an end was dropped without a note"
    if not _means_the_same(now, kept):  # only a torn end: all before it is as it was
        assert trials == _expected(before, kept, folder)
    assert after[: len(trials)] == trials
    assert len(after) == len(trials) + recipe["writers"] * TRIALS
    _check_journal(folder)
    return "held"


def _check_refusal(told, now, folder):
    """The line that is named is damaged, and the file is as it was."""
    assert str(folder / NAME) in told
    assert (folder / NAME).read_bytes() == now
    line = re.search(r"is damaged: line (\d+) is no change", told)
    if line is not None:
        import json

        try:
            whole = json.loads(now.split(b"\n")[int(line[1]) - 1])
        except (ValueError, RecursionError):
            return
        assert not isinstance(whole, dict), f"line {line[1]} is whole"


def _means_the_same(now, kept):
    """Whether lines behind those that were kept are changes, too: an edit that JSON does not show."""
    import json

    for line in now.split(b"\n")[kept:-1]:
        try:
            if isinstance(json.loads(line), dict):
                return True
        except (ValueError, RecursionError):
            continue
    return False


def _check_journal(folder):
    """What was written is whole, and Optuna's own backend reads the same."""
    import optuna

    content = (folder / NAME).read_bytes()
    assert content.endswith(b"\n")
    ours = StudyJournal(folder / NAME).read_logs(0)
    assert len(ours) == content.count(b"\n")
    theirs = optuna.storages.journal.JournalFileBackend(str(folder / NAME))
    assert list(theirs.read_logs(0)) == ours
