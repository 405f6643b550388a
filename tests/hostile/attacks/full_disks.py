"""Disks that are full after some bytes, or files that may not grow.

The command fails with a message that names the file, and what was there before is intact. Where the
disk only saves time, as with the cache of compiled code, the result is right.
"""

import json
import os
import re
import subprocess
from functools import cache

from hypothesis import strategies as st

from hostile import nursery
from hostile.attacks import kills
from paralesn.persistence import load

CASES = 6

RECIPES = st.fixed_dictionaries(
    {
        "what": st.sampled_from(
            ["save", "stream", "search", "reproduce", "report", "forecast", "cache", "output"]
        ),
        "disk": st.sampled_from(["limit", "mount"]),
        "bytes": st.integers(0, 12) | st.integers(0, 6000) | st.integers(0, 200_000),
    }
)

_PAGE = os.sysconf("SC_PAGE_SIZE")


def attack(recipe, folder):
    """Do the work on a full disk, then again where there is room."""
    work = folder / "work"
    work.mkdir()
    with _disk(recipe, work) as fault:
        return globals()[f"_attack_{recipe['what']}"](fault, folder, work)


@cache
def _can_mount():
    """Whether this process may mount small disks."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() or subprocess.run(_mount(folder, 1), capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def _mount(folder, blocks):
    size = f"size={blocks * _PAGE},mode=755"
    return ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]


class _disk:
    """A folder in which so many bytes fit: a small disk, else a limit of the size of each file."""

    def __init__(self, recipe, folder):
        self.folder, self.is_mounted = folder, recipe["disk"] == "mount" and _can_mount()
        self.fault = None if self.is_mounted else {"limit": recipe["bytes"]}
        self.blocks = 2 + recipe["bytes"] // _PAGE

    def __enter__(self):
        if self.is_mounted:
            subprocess.run(_mount(self.folder, self.blocks), check=True)
        return self.fault

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.folder], check=True)


def _run(fault, folder, job, *arguments, names, done=(0,), **more):
    """Run a job; whether it was done. If not, it must have said which file was the matter."""
    child = {"job": job, "arguments": [str(a) for a in arguments], "fault": fault, **more}
    (ended,) = nursery.run(folder / "io", child)
    if ended.code in done:
        return True, ended
    assert ended.code == 1, (ended.code, ended.err)
    last = ended.err.rstrip().splitlines()[-1]
    assert re.search(r"\[Errno (27|28)\]", last), ended.err
    assert any(name in last for name in names), ended.err
    assert job != "command" or "Traceback" not in ended.err, ended.err
    return False, ended


def _outcome(is_done):
    return "held" if is_done else "refused"


def _attack_save(fault, folder, work):
    path = work / "model"
    is_first, _ = _run(None, folder, "save", "old", path, names=["model"])
    before = path.read_bytes() if is_first else None
    is_done, _ = _run(fault, folder, "save", "new", path, names=["model"])
    if is_done:
        assert type(load(path)).__name__ == "ESN"
    else:
        assert (path.read_bytes() if path.exists() else None) == before
    assert not kills.leftovers(work)
    return _outcome(is_done)


def _attack_stream(fault, folder, work):
    """The answers go to another disk; every line that the state knows was answered."""
    expected, last = kills.answered(False)
    arguments = kills._stream_arguments(work, 0, False)
    is_done, ended = _run(
        fault, folder, "command", *arguments, names=["state"], done=(4,), input=kills._text(0)
    )
    out = kills.read_answers(ended.out)
    assert all(expected[number] == out[number] for number in out)
    if is_done:
        assert out == expected
        assert kills.digest(work / "state") == last
    elif (work / "state").exists():
        seen = load(work / "state").lines
        skipped = ended.err.count("; skipped\n")
        assert seen <= len(out) + skipped
    assert not kills.leftovers(work)
    return _outcome(is_done)


def _attack_search(fault, folder, work):
    names = ["narma10--ESN--paper.log"]
    is_done, _ = _run(fault, folder, "search", work, 2, names=names)
    if fault is not None:  # with room again
        kills.completed(work, folder / "io", "search", work, 2)
    return _outcome(is_done)


def _attack_reproduce(fault, folder, work):
    names = ["records.jsonl", "bell."]
    is_done, _ = _run(fault, folder, "command", *kills.reproducing(work), names=names)
    for name, content in kills.files_of(work, "bell.*").items():
        assert content == kills.reproduced()[name]
    seeds = kills.seeds_on_record(work / "records.jsonl")
    assert len(seeds) == len(set(seeds))
    assert not kills.leftovers(work)
    if fault is not None:  # with room again
        kills.completed(work, folder / "io", "command", *kills.reproducing(work))
        assert sorted(kills.seeds_on_record(work / "records.jsonl")) == [0, 1, 2, 3, 4]
        assert kills.files_of(work, "bell.*") == kills.reproduced()
    return _outcome(is_done)


def _attack_report(fault, folder, work):
    kills.reproduced()
    arguments = ["report", f"{kills.prepared()}/reproduced", "--out", work]
    is_done, _ = _run(fault, folder, "command", *arguments, names=["index.html"])
    assert kills.check_pages(work) == is_done
    assert not kills.leftovers(work)
    return _outcome(is_done)


def _attack_forecast(fault, folder, work):
    names = ["forecast.", "model.safetensors", "report.", "standard output"]
    is_done, _ = _run(fault, folder, "command", *kills.forecasting(work), names=names)
    kills.check_forecast(work)
    assert not kills.leftovers(work)
    return _outcome(is_done)


def _attack_cache(fault, folder, work):
    """Compiled code need not fit anywhere."""
    child = {"job": "compile_and_run", "arguments": [str(work)], "fault": fault}
    for _ in range(2):
        (ended,) = nursery.run(folder / "io", child)
        assert ended.code == 0, ended.err
        assert json.loads(ended.out) == 30.0
    return "held"


def _attack_output(fault, folder, work):
    """Answers that cannot be written: the state does not know of them."""
    expected, _ = kills.answered(False)
    state = work / "state"
    room = {"limit": 1200 if fault is None else max(1200, fault["limit"] // 20)}
    arguments = kills._stream_arguments(work, 0, False)
    text = kills._text(0) * 4
    is_done, ended = _run(
        room, folder, "command", *arguments, done=(4,), input=text, to_file=True,
        names=["standard output", "state"],
    )  # fmt: skip
    whole = ended.out[: ended.out.rfind("\n") + 1]
    out = kills.read_answers(whole)
    assert all(out[number] == expected[number] for number in out if number in expected)
    skipped = ended.err.count("; skipped\n")
    seen = load(state).lines if state.exists() else 0
    assert seen <= len(out) + skipped
    return _outcome(is_done)
