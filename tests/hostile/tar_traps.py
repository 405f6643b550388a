"""Archives of tar with traps: members that are no plain files, and headers that mislead."""

import io
import tarfile

# What becomes of the whole archive: members that are none are passed over, damage is refused.
PASSED_OVER = (
    "symbolic link", "hard link", "link to itself", "device", "pipe", "holes", "path", "absolute",
    "folder", "after",
)  # fmt: skip
REFUSED = ("negative size", "chain", "no end", "checksum")


def outcome(trap, refused):
    """What should become of an archive; `refused` are traps of the kind of file."""
    return "refused" if trap in (*REFUSED, *refused) else "held"


def tar(files, trap, victim):
    """An archive of files; a trap has the name of the file `victim`, where it is a member."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    whole = content.getvalue()
    if trap == "checksum":
        return b"\x00" * 10 + whole[10:]
    if trap == "after":  # a link that would take the place of the file
        end = sum(512 + -(-len(text) // 512) * 512 for text in files.values())
        return whole[:end] + _member(victim, tarfile.SYMTYPE, linkname="/etc/passwd") + whole[end:]
    return _before(trap, victim) + whole


def _before(trap, victim):
    """What stands before the other members."""
    linked = {"symbolic link": (tarfile.SYMTYPE, "/etc/passwd"),
              "hard link": (tarfile.LNKTYPE, "../../../../etc/passwd"),
              "link to itself": (tarfile.LNKTYPE, victim)}  # fmt: skip
    if trap in linked:
        kind, target = linked[trap]
        return _member(victim, kind, linkname=target)
    if trap in ("device", "pipe", "folder"):
        kinds = {"device": tarfile.CHRTYPE, "pipe": tarfile.FIFOTYPE, "folder": tarfile.DIRTYPE}
        return _member(victim, kinds[trap])
    if trap in ("path", "absolute"):
        name = {"path": "../../../", "absolute": "/"}[trap] + victim
        return _member(name, tarfile.REGTYPE, b"elsewhere")
    if trap == "holes":  # 8 GiB, of which nothing is there
        pieces = {386: b"00000000000\0" + b"00000000000\0", 483: b"77777777777\0"}
        return _changed(_member(victim, tarfile.GNUTYPE_SPARSE), pieces)
    if trap == "negative size":
        return _changed(
            _member(victim, tarfile.REGTYPE), {124: (-1024).to_bytes(12, "big", signed=True)}
        )
    if trap == "no end":
        return _changed(_member(victim, tarfile.REGTYPE), {124: b"77777777777\0"})
    if trap == "chain":
        return _member("long", tarfile.GNUTYPE_LONGNAME) * 3000
    return b""


def _member(name, kind, text=b"", linkname=""):
    """A member with its header."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.linkname = kind, len(text), linkname
    padding = bytes(-len(text) % 512)
    return entry.tobuf(tarfile.GNU_FORMAT) + text + padding


def _changed(member, pieces):
    """A member with other bytes in its header, which is right otherwise."""
    header = bytearray(member)
    for start, piece in pieces.items():
        header[start : start + len(piece)] = piece
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header[:512])
    return bytes(header)
