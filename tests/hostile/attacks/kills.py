"""Commands that are killed or interrupted at any step on disk, some of them again and again.

Afterwards every file is the old or the new one, and whole. The same command then completes the work:
nothing is missing, nothing is there twice, and nothing is left lying about.
"""

import json
import re
import signal
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from hostile import jobs, nursery
from paralesn.persistence import load
from paralesn.persistence.model_file import read_header

CASES = 6

KILLS = st.fixed_dictionaries({"at": st.integers(1, 45), "signal": st.just("SIGKILL")})
TEARS = st.fixed_dictionaries({"limit": st.integers(0, 5000), "torn": st.just(True)})
SIGNALS = st.fixed_dictionaries(
    {"at": st.integers(1, 45), "signal": st.sampled_from(["SIGINT", "SIGTERM", "SIGHUP"])}
)
LINES = ["10.1", "10.3", "what", "10.2 9", "9.8", "nan", "9.9", "10", "10.4", "9.6"]


def _recipes(what, faults, most=2, **more):
    return st.fixed_dictionaries(
        {"what": st.just(what), "faults": st.lists(faults, min_size=1, max_size=most), **more}
    )


RECIPES = st.one_of(
    _recipes("save", KILLS | TEARS, most=4),
    _recipes(
        "stream", KILLS | SIGNALS, most=3,
        every=st.sampled_from([0, 0, 1e-3, 1.0]), learn=st.booleans(),
    ),
    _recipes("search", KILLS | TEARS),
    _recipes("reproduce", KILLS | TEARS | SIGNALS),
    _recipes("report", KILLS | TEARS | SIGNALS),
    _recipes("forecast", KILLS | TEARS | SIGNALS, most=1),
)  # fmt: skip


def attack(recipe, folder):
    """Let the faults happen one after the other, then let the command complete."""
    return globals()[f"_attack_{recipe['what']}"](recipe, folder)


# -- what every command owes -----------------------------------------------------------------------


def check_end(ended, fault, done=(0,)):
    """Check that a process ended as its fault asks, or was done before; whether it was stopped."""
    assert "Traceback" not in ended.err, ended.err
    assert "Exception ignored" not in ended.err, ended.err
    if ended.code in done:
        return False
    number = signal.SIGXFSZ if fault.get("torn") else getattr(signal, fault["signal"])
    by_itself = fault.get("signal") not in (None, "SIGKILL")
    assert ended.code in (-number, 128 + number if by_itself else -number), (ended.code, ended.err)
    return True


def leftovers(folder):
    """Temporary files and locks."""
    return {p for p in folder.rglob("*") if p.name[0] == "." or p.suffix in (".part", ".lock")}


def stopped(folder, outputs, fault, job, *arguments, done=(0,), **more):
    """Run a job with a fault; one that may clean up must have done so."""
    child = {"job": job, "arguments": [str(a) for a in arguments], "fault": fault, **more}
    before = leftovers(folder)
    (ended,) = nursery.run(outputs, child)
    check_end(ended, fault, done)
    if ended.code >= 0:
        assert not leftovers(folder) - before, (leftovers(folder), ended)
    return ended


def completed(folder, outputs, job, *arguments, done=(0,), **more):
    """Run a job without a fault."""
    child = {"job": job, "arguments": [str(a) for a in arguments], **more}
    (ended,) = nursery.run(outputs, child)
    assert ended.code in done, ended.err
    assert not leftovers(folder)
    return ended


# -- save ------------------------------------------------------------------------------------------


def _attack_save(recipe, folder):
    work, path = folder / "work", folder / "work" / "model"
    work.mkdir()
    completed(work, folder / "io", "save", "old", path)
    old, new = path.read_bytes(), None
    for fault in recipe["faults"]:
        stopped(work, folder / "io", fault, "save", "new", path)
        if path.read_bytes() != old:
            new = path.read_bytes()
            assert type(load(path)).__name__ == "ESN"
    completed(work, folder / "io", "save", "new", path)
    assert new in (None, path.read_bytes())
    return "held"


# -- stream ----------------------------------------------------------------------------------------


@cache
def answered(learn):
    """Answers of a stream that nobody stops, by line, and the digest of its last state."""
    folder = Path(prepared()) / f"stream-{learn}"
    folder.mkdir()
    arguments = _stream_arguments(folder, 60.0, learn)
    ended = completed(
        folder, Path(prepared()) / "io", "command", *arguments, input=_text(0), done=(4,)
    )
    return read_answers(ended.out), digest(folder / "state")


@cache
def prepared():
    """A folder with a model and a table, for all cases of this process."""
    import tempfile

    _kept.append(tempfile.TemporaryDirectory(prefix="hostile-prepared-"))
    folder = Path(_kept[0].name)
    completed(folder, folder / "io", "forecaster", folder / "model")
    (folder / "data.csv").write_text(jobs.series()[0], encoding="utf-8")
    return str(folder)


_kept = []  # folders that go with the process


def _stream_arguments(folder, every, learn):
    options = ["--json", "--resume", str(folder / "state"), "--save-every", str(every)]
    return ["stream", f"{prepared()}/model", *options, *(["--learn"] if learn else [])]


def _text(seen):
    return "".join(line + "\n" for line in LINES[seen:])


def read_answers(text):
    """Predictions by the number of their line, from strict JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    records = [json.loads(line, parse_constant=refuse) for line in text.splitlines()]
    numbers = [record["line"] for record in records]
    assert numbers == sorted(set(numbers))
    return {record["line"]: record["prediction"] for record in records}


def digest(path):
    """Checksum of all that a state holds, whatever the order of its header."""
    return read_header(path.read_bytes())["sha256"]


def _attack_stream(recipe, folder):
    expected, last = answered(recipe["learn"])
    work, state, out = folder / "work", folder / "work" / "state", {}
    work.mkdir()
    arguments = _stream_arguments(work, recipe["every"], recipe["learn"])
    heard, seen = set(), 0
    for fault in recipe["faults"]:
        ended = stopped(
            work,
            folder / "io",
            fault,
            "command",
            *arguments,
            input=_text(seen),
            done=(0, 4),
            to_file=True,
        )
        out |= _checked_answers(ended, seen, expected, heard)
        seen = load(state).lines if state.exists() else 0
        assert set(range(1, seen + 1)) <= heard, "a state knows of answers that nobody has"
    ended = completed(
        work, folder / "io", "command", *arguments, input=_text(seen), done=(0, 4), to_file=True
    )  # fmt: skip
    out |= _checked_answers(ended, seen, expected, heard)
    assert out == expected
    assert digest(state) == last
    return "held"


def _checked_answers(ended, seen, expected, heard):
    """Answers of a stream that began after line `seen`, equal to those of one uninterrupted."""
    if seen and ended.err:
        assert ended.err.startswith(f"Resumed after line {seen}.\n"), ended.err
    found = read_answers(ended.out)
    assert all(number > seen and expected[number] == found[number] for number in found)
    heard |= set(found) | {int(n) for n in re.findall(r"^line (\d+): .*skipped$", ended.err, re.M)}
    return found


# -- search, reproduce, report, forecast -----------------------------------------------------------


def _attack_search(recipe, folder):
    from paralesn.paper import bayesian

    work, trials = folder / "work", 3
    work.mkdir()
    for fault in recipe["faults"]:
        stopped(work, folder / "io", fault, "search", work, trials)
    completed(work, folder / "io", "search", work, trials)
    check_trials(bayesian.existing_study(*jobs.STUDY, str(work)), trials)
    return "held"


def check_trials(study, wanted):
    """Check that so many trials are done, each slot of them once."""
    from optuna.trial import TrialState

    done = study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))
    assert len(done) == wanted, [(t.number, t.state) for t in study.get_trials()]
    enqueued = [t.user_attrs["key"] for t in done if "key" in t.user_attrs]
    assert len(set(enqueued)) == len(enqueued)


@cache
def reproduced():
    """Files that a run of `reproduce` writes that nobody stops."""
    folder = Path(prepared()) / "reproduced"
    completed(folder, Path(prepared()) / "io", "command", *reproducing(folder))
    return files_of(folder, "bell.*")


def reproducing(folder):
    return ["reproduce", jobs.TASK, "--jobs", "1", "--out", str(folder)]


def files_of(folder, pattern):
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def seeds_on_record(path):
    """Seeds of runs, of lines that are whole; a line that is not is the last of its writer."""
    seeds = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            seeds.append(json.loads(line)["seed"])
        except ValueError:
            continue
    return seeds


def _attack_reproduce(recipe, folder):
    work = folder / "work"
    for fault in recipe["faults"]:
        before = seeds_on_record(work / "records.jsonl")
        stopped(work, folder / "io", fault, "command", *reproducing(work))
        seeds = seeds_on_record(work / "records.jsonl")
        assert len(seeds) == len(set(seeds))
        assert set(before) <= set(seeds)
        for name, content in files_of(work, "bell.*").items():
            assert content == reproduced()[name]
    completed(work, folder / "io", "command", *reproducing(work))
    assert sorted(seeds_on_record(work / "records.jsonl")) == [0, 1, 2, 3, 4]
    assert files_of(work, "bell.*") == reproduced()
    return "held"


def _attack_report(recipe, folder):
    records, work = Path(prepared()) / "reproduced", folder / "work"
    reproduced()
    arguments = ["command", "report", records, "--out", work]
    for fault in recipe["faults"]:
        stopped(work, folder / "io", fault, *arguments)
        check_pages(work)
    completed(work, folder / "io", *arguments)
    assert check_pages(work) == 1
    return "held"


def check_pages(folder):
    """Check that pages are whole; how many there are."""
    pages = list(folder.glob("*.html"))
    for page in pages:
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    return len(pages)


def forecasting(folder):
    options = ["--target", "load", "--horizon", "4", "--season", "1", "--out", str(folder)]
    return ["forecast", f"{prepared()}/data.csv", *options]


@cache
def forecast():
    """The forecast that nobody stops."""
    folder = Path(prepared()) / "forecast"
    completed(folder, Path(prepared()) / "io", "command", *forecasting(folder))
    return (folder / "forecast.csv").read_bytes()


def _attack_forecast(recipe, folder):
    work = folder / "work"
    for fault in recipe["faults"]:
        stopped(work, folder / "io", fault, "command", *forecasting(work))
        check_forecast(work)
    completed(work, folder / "io", "command", *forecasting(work))
    check_forecast(work)
    assert len([path for path in work.iterdir() if path.is_file()]) == 5
    return "held"


def check_forecast(folder):
    """Check that every file of a forecast is whole, where it is there."""
    if (folder / "forecast.csv").exists():
        assert (folder / "forecast.csv").read_bytes() == forecast()
    if (folder / "model.safetensors").exists():
        load(folder / "model.safetensors")
    if (folder / "forecast.png").exists():
        assert (folder / "forecast.png").read_bytes()[-8:-4] == b"IEND"
    if (folder / "report.json").exists():
        json.loads((folder / "report.json").read_text(encoding="utf-8"))
    check_pages(folder)
