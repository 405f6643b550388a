"""Write the records that come with the package, from folders of records.

```console
$ python -m paralesn.paper.shipping results complexity universality race
```

Only runs that make the tables are taken, in one file for each protocol, and records of studies as
they are. Cells that are given replace those in the files, all others stay.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from paralesn.files import save_text
from paralesn.paper import protocols, record_files, selection, shipped_records
from paralesn.paper.compact_records import compact, rounded
from paralesn.paper.record_files import is_study
from paralesn.paper.records import Record

FOLDER = Path("src/paralesn/paper/data") / shipped_records.FOLDER  # in a clone


def ship(paths: Sequence[Path], folder: Path) -> dict[Path, int]:
    """Write the records of files and folders to a folder of shipped ones.

    Returns
    -------
    dict of Path to int
        The number of records in each file that was written.
    """
    found = [record for _, held in record_files.named(paths) for record in held]
    before = shipped_records.read(folder)
    written = {}
    for name, fresh in _by_file(chosen(found)).items():
        older = _by_file([*before.runs, *before.experiments]).get(name, [])
        stays = shipped_records.beside(fresh, older)
        path = folder / f"{name}{shipped_records.SUFFIX}"
        save_text(as_text([*stays, *fresh]), path)
        written[path] = len(stays) + len(fresh)
    return written


def chosen(found: Iterable[Record]) -> list[Record]:
    """Runs that make the tables, and records of studies: no trials of searches."""
    found = list(found)
    of_protocols = [r for r in found if not is_study(r) and protocols.of_kind(r["kind"])]
    rows = {id(run): run for _, run in selection.recorded(of_protocols)}
    others = [r for r in found if is_study(r) or protocols.of_kind(r["kind"]) is None]
    return [*rows.values(), *others]


def as_text(records: Iterable[Record]) -> str:
    """Lines of a file: runs of protocols compactly, others as they are."""
    plain = [{n: v for n, v in record.items() if n != "shipped"} for record in records]
    runs = [r for r in plain if not is_study(r) and protocols.of_kind(r["kind"])]
    others = [rounded(r) for r in plain if is_study(r) or protocols.of_kind(r["kind"]) is None]
    lines = [*sorted(compact(runs), key=_order), *others]
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)


def _order(line: Record) -> list[str]:
    return [str(line.get(name, "")) for name in ("task", "model", "space")]


def _by_file(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records by the name of their file, that of a protocol, of a study or of a race."""
    files: dict[str, list[Record]] = {}
    for record in records:
        name = record["experiment"] if is_study(record) else record["kind"]
        files.setdefault(name.replace(" ", "-"), []).append(record)
    return files


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Write shipped records to a folder, and say how many each file has."""
    parser = argparse.ArgumentParser(prog="python -m paralesn.paper.shipping")
    parser.add_argument("records", nargs="+", type=Path, help="files of records, or folders")
    asked = parser.parse_args(arguments)
    if not folder.parent.is_dir():
        parser.error(f"the folder {folder.parent} does not exist: run this in a clone")
    try:
        written = ship(asked.records, folder)
    except ValueError as error:
        parser.error(str(error))
    for path, count in written.items():
        print(f"{path}: {count:,} records, {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
