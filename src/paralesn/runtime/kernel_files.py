"""Files of compiled code, read only if they are as this package wrote them.

Compiled code is kept as pickles and machine code, which execute. So each file begins with a digest
of its content, its name and what it was compiled with; whatever does not agree is taken for absent,
compiled anew and replaced. That finds damage, not malice: who can write to the folder can write
digests, too. Files and folders that others may write to are therefore not used at all.
"""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from paralesn.files import replacing

MAGIC = b"paralesn kernel 1\n"
LARGEST = 2**28  # bytes of a file; those of one kernel take less than a thousandth
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # as far as the system has them
_OPEN = sum(getattr(os, name, 0) for name in _FLAGS)
_SIZE = hashlib.sha256().digest_size


def sealed(content: bytes, identity: str) -> bytes:
    """What is written to a file."""
    return MAGIC + _digest(content, identity) + content


def unsealed(data: bytes, identity: str) -> bytes | None:
    """The content of a file, None if it is damaged or something else."""
    start = len(MAGIC) + _SIZE
    content = data[start:]
    return content if data[:start] == MAGIC + _digest(content, identity) else None


def _digest(content: bytes, identity: str) -> bytes:
    digest = hashlib.sha256(identity.encode() + b"\0")
    digest.update(content)
    return digest.digest()


def read(path: Path, identity: str, owners: frozenset[int] | None) -> bytes | None:
    """Content of a file that nobody but `owners` can have written, else None."""
    try:
        handle = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return None
    try:
        if not _is_trusted(os.fstat(handle), owners):
            return None
        with open(handle, "rb", closefd=False) as file:
            return unsealed(file.read(), identity)
    finally:
        os.close(handle)


def _is_trusted(status: os.stat_result, owners: frozenset[int] | None) -> bool:
    """Whether a file is one, of a sensible size, that nobody but `owners` can have written."""
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        return False
    return owners is None or (status.st_uid in owners and not status.st_mode & _OTHERS)


def write(path: Path, identity: str, content: bytes) -> None:
    """Replace a file as a whole, writable by nobody else whatever the mask of the process."""
    with suppress(OSError):  # an empty folder, or a pipe, would be in the way
        if path.is_dir():
            path.rmdir()
        elif not path.is_file():
            path.unlink()
    # What a power cut loses is found out by the digest.
    with replacing(path, durable=False) as unfinished:
        if hasattr(os, "geteuid"):
            unfinished.chmod(unfinished.stat().st_mode & ~_OTHERS)
        unfinished.write_bytes(sealed(content, identity))


def trusted_owners(source: Path) -> frozenset[int] | None:
    """Who may own compiled code: this user, root, and who owns the source; None on Windows."""
    if not hasattr(os, "geteuid"):
        return None
    owners = {os.geteuid(), 0}
    with suppress(OSError):  # a module in an archive
        owners.add(source.stat().st_uid)
    return frozenset(owners)


def fault_of(folder: Path, owners: frozenset[int] | None) -> str | None:
    """Why compiled code is not kept in a folder, and what helps; None if nothing is wrong."""
    if owners is None:
        return None
    status = folder.stat()
    if status.st_uid not in owners:
        return f"{folder} belongs to another user (number {status.st_uid})"
    if status.st_mode & stat.S_ISVTX:  # others can add files to it, but not replace ours
        return None
    if status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, status.st_uid)
    ):
        return f"other users may write to {folder} (chmod go-w would end that)"
    return None


def _is_private(group: int, user: int) -> bool:
    """Whether a group is the one that systems make for each user, with nobody else in it."""
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:  # numbers without names, as in containers
        return False
    others = set(members.gr_mem) - {owner.pw_name}
    return group == owner.pw_gid and members.gr_name == owner.pw_name and not others
