"""Files written completely or not at all, by processes that are killed or find the disk full.

Processes are killed before or after any call that touches the disk. Afterwards the old or the new
content is there, whole; the next one that writes leaves nothing of the earlier ones behind, and
whatever somebody planted in the folder is as it was.
"""

import errno
import json
import os
import resource
import secrets
import signal
import stat
import traceback
import warnings
from contextlib import nullcontext, suppress
from unittest import mock

from hypothesis import strategies as st

from paralesn import files
from paralesn.tables.writer import save_columns

CASES = 100
STUCK = 60  # seconds
STEPS = ("open", "write", "truncate", "ftruncate", "fsync", "replace", "unlink", "close")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EACCES", "EROFS")
_TOKENS = tuple(f"{digit:x}" * 16 for digit in range(4))

_NAME = st.one_of(
    st.sampled_from(["model.safetensors", "a", ".hidden", "x.part", "täble.csv", "files"]),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1,
            max_size=90),
    st.builds(lambda letter, n: letter * n, st.sampled_from("aü漢🌍"), st.integers(50, 260)),
)  # fmt: skip
_EVENT = st.one_of(
    st.just({"what": "nothing"}),
    st.fixed_dictionaries({"what": st.sampled_from(["kill before", "kill after", "interrupt"]),
                           "step": st.integers(0, 30)}),
    st.fixed_dictionaries({"what": st.just("error"), "step": st.integers(0, 30),
                           "number": st.sampled_from(ERRORS)}),
    st.fixed_dictionaries({"what": st.just("full"), "bytes": st.integers(0, 5000)}),
)  # fmt: skip
RECIPES = st.fixed_dictionaries({
    "name": _NAME,
    "old": st.none() | st.integers(0, 3000),
    "new": st.lists(st.integers(0, 3000), min_size=1, max_size=3),  # sizes; several: at once
    "by": st.sampled_from(["text", "json", "table", "pieces", "folder"]),
    "durable": st.booleans(),
    "planted": st.lists(st.sampled_from(
        ["link", "dangling", "folder", "fifo", "near", "guessed link", "guessed file"]),
        max_size=3, unique=True),
    "event": _EVENT,
})  # fmt: skip


def attack(recipe, folder):
    home = folder / "home"
    home.mkdir()
    path, victim = home / recipe["name"], folder / "victim"
    victim.write_text("untouched")
    if recipe["name"] in (".", ".."):
        return "refused"
    is_long = len(os.fsencode(recipe["name"])) > 255
    if not is_long and recipe["old"] is not None:
        path.write_bytes(_content(recipe["old"], "old"))
    planted = {} if is_long else _plant(path, victim, recipe["planted"])
    ends = _in_children([(recipe, path, size, k) for k, size in enumerate(recipe["new"])])
    allowed = [_content(size, f"new {k}", recipe["by"]) for k, size in enumerate(recipe["new"])]
    _check_content(recipe, path, allowed, ends, is_long)
    with suppress(OSError) if is_long else nullcontext():
        files.save_text("afterwards", path)
    with files.folder_aside(home):
        pass
    assert is_long or path.read_text() == "afterwards"
    _check_folder(home, path, planted, is_long)
    assert victim.read_text() == "untouched", "a planted link was followed"
    return "refused" if is_long or "failed" in ends else "held"


def _check_content(recipe, path, allowed, ends, is_long):
    """The target is as it was, or whole; new if a process says that it has written it."""
    if is_long:
        assert set(ends) <= {"failed", "killed", "interrupted"}, ends
        return
    if path.is_file():
        found = path.read_bytes()
        if recipe["old"] is not None and "written" not in ends:
            allowed = [*allowed, _content(recipe["old"], "old")]
        assert found in allowed, f"{len(found)} bytes that nobody wrote, ends {ends}"
    else:
        assert recipe["old"] is None, f"the old file is gone, ends {ends}"
        assert "written" not in ends, "what was written is not there"


def _check_folder(home, path, planted, is_long):
    """Nothing but the target and what was planted is there."""
    names = set() if is_long else {path.name}
    assert set(os.listdir(home)) == names | set(planted), "something is left behind"
    for name, kind in planted.items():
        assert stat.S_IFMT((home / name).lstat().st_mode) == kind, f"{name} was changed"


# -- what is planted -------------------------------------------------------------------------------


def _plant(path, victim, kinds):
    """Put things where unfinished files could be; their names and kinds."""
    planted = {}
    for number, kind in enumerate(kinds):
        token = _TOKENS[0] if "guessed" in kind else _TOKENS[1 + number]
        place = path.with_name(f"{files._prefix(path)}{token}.part")
        if kind == "near":
            place = path.with_name(f"{files._prefix(path)}part")
        if place.name in planted or os.path.lexists(place):
            continue
        if kind.endswith("link"):
            place.symlink_to(victim)
        elif kind == "dangling":
            place.symlink_to(victim.with_name("made"))
        elif kind == "folder":
            place.mkdir()
        elif kind == "fifo":
            os.mkfifo(place)
        else:
            place.write_text("planted")
        if kind != "guessed file":  # which looks like one of ours, and may be removed
            planted[place.name] = stat.S_IFMT(place.lstat().st_mode)
    if path.name == "files":  # folders beside this one look like those of `folder_aside`
        planted = {name: kind for name, kind in planted.items() if not stat.S_ISDIR(kind)}
    return planted


# -- processes that write --------------------------------------------------------------------------


def _content(size, word, by="text"):
    """What is written, to the byte."""
    text = (word + " ") * (size // (len(word) + 1) + 1)
    if by == "json":
        return (json.dumps([text], indent=1) + "\n").encode()
    if by == "table":
        return f"a,b\n{text},{size}\n".encode()
    return text.encode()


def _write(recipe, path, size, word):
    """Write the target in one of the ways that the package has."""
    text, by = _content(size, word).decode(), recipe["by"]
    if by == "text":
        files.save_text(text, path)
    elif by == "json":
        files.save_json([text], path)
    elif by == "table":
        save_columns(path, {"a": [text], "b": [size]})
    elif by == "folder":
        with files.folder_aside(path.parent) as aside:
            (aside / "made").write_text(text)
            os.replace(aside / "made", path)
    else:
        with files.replacing(path, recipe["durable"]) as unfinished:
            handle, left = os.open(unfinished, os.O_WRONLY), text.encode()
            while left:  # a nearly full disk takes a part of it
                left = left[os.write(handle, left[:700]) :]
            os.close(handle)


def _in_children(tasks):
    """How processes ended that write at the same time."""
    children = []
    for task in tasks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            signal.alarm(STUCK)
            os._exit(_child(*task))
        children.append(child)
    ends = []
    for child in children:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        known = {0: "written", 1: "failed", 2: "interrupted", -signal.SIGKILL: "killed"}
        assert code in known, f"a process ended with {code}"
        ends.append(known[code])
    return ends


def _child(recipe, path, size, number):
    """Write, with what happens to the first of the processes; the exit status."""
    event = recipe["event"] if number == 0 else {"what": "nothing"}
    guesses = iter([_TOKENS[0]])
    token = secrets.token_hex
    try:
        guess = mock.patch.object(secrets, "token_hex", lambda n: next(guesses, None) or token(n))
        with guess, _Steps(event):
            _write(recipe, path, size, f"new {number}")
    except KeyboardInterrupt:
        return 2
    except OSError as error:
        expected = {errno.ENAMETOOLONG, errno.EFBIG, errno.EISDIR}
        expected |= {getattr(errno, name) for name in ERRORS}
        return 1 if error.errno in expected else _unexpected()
    except BaseException:
        return _unexpected()
    return 0


def _unexpected():
    traceback.print_exc()
    return 3


class _Steps:
    """Count calls of the system, and do at one of them what is to happen there."""

    def __init__(self, event):
        self._event, self._left = event, event.get("step", -1)
        self._patches = []

    def __enter__(self):
        if self._event["what"] == "full":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._event["bytes"],) * 2)
        for name in STEPS:
            self._patches.append(mock.patch.object(os, name, self._counted(getattr(os, name))))
        for patch in self._patches:
            patch.start()

    def __exit__(self, *_):
        for patch in self._patches:
            patch.stop()

    def _counted(self, call):
        def counted(*arguments, **options):
            self._left -= 1
            if self._left != -1:
                return call(*arguments, **options)
            what = self._event["what"]
            if what == "interrupt":
                raise KeyboardInterrupt
            if what == "error" and call is not os_close:
                raise OSError(getattr(errno, self._event["number"]), "as the recipe says")
            if what == "kill before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if what == "kill after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted


os_close = os.close  # what fails there has happened all the same
