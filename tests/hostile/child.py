"""One attack in a process of its own, which it may crash or hang: ``python -m hostile.child``."""

import json
import resource
import sys
import time
from pathlib import Path

from hostile import trying

MEMORY = 12 * 2**30  # a case that wants more is a failure, not the end of the machine
AT_ONCE = 200  # cases of one seed


def main(name: str, first: int, seconds: float, notes: Path) -> None:
    """Try cases of seed after seed, and note on disk what is tried and what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    attack, until, whole = trying.attack_named(name), time.monotonic() + seconds, trying.Tally()
    current = notes / "current.json"

    def say(recipe: object) -> None:
        current.write_text(trying.as_text(recipe), encoding="utf-8")

    number = first
    while (left := until - time.monotonic()) > 0:
        whole.add(trying.try_cases(attack, AT_ONCE, number, left, say))
        (notes / "tally.json").write_text(json.dumps(whole.as_json()), encoding="utf-8")
        number += 1
    (notes / "ended").touch()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
