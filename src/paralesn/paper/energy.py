"""Energy and emissions of a piece of work, by CodeCarbon where it is installed (an extra)."""

import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

COUNTRY = "ITA"  # whose electricity is counted unless said otherwise: the paper's


def checked_country(country: str) -> str:
    """A country as CodeCarbon names it, in capitals."""
    if len(country) != 3 or not (country.isascii() and country.isalpha()):
        raise ValueError(f"country must be a code of three letters such as 'ITA', got {country!r}")
    return country.upper()


class Spent(dict[str, Any]):
    """kWh and kg of CO2 of a piece of work, filled in when it is done."""

    tracker: Any = None
    before: Mapping[str, float] = {}
    waiting = True
    began = (0.0, 0.0)

    def so_far(self) -> dict[str, float]:
        """kWh and kg up to now, for work that may be interrupted; empty without the extra."""
        if self.tracker is None:
            return {}
        kg = self.tracker.flush()
        total, memory = self.tracker._total_energy.kWh, self.tracker._total_ram_energy.kWh
        return self._whole(float(total), float(memory), float(kg or 0.0))

    def finish(self, country: str) -> None:
        """Fill in what the tracker, which has stopped, says."""
        found = getattr(self.tracker, "final_emissions_data", None)
        if found is None:  # CodeCarbon keeps its failures to itself
            return
        energies = float(found.energy_consumed), float(found.ram_energy)
        self |= self._whole(*energies, float(found.emissions))
        self |= {
            "country": country,
            "estimate": not _counted(self.tracker),
            "by": f"codecarbon {found.codecarbon_version}",
        }

    def _whole(self, kwh: float, memory: float, kg: float) -> dict[str, float]:
        """What was spent, with what was before an interruption."""
        if not self.waiting:
            own = kwh - memory * (1 - self._working())
            kwh, kg = own, kg * own / kwh if kwh else 0.0
        before = self.before
        return {"kwh": kwh + before.get("kwh", 0.0), "kg": kg + before.get("kg", 0.0)}

    def _working(self) -> float:
        """Share of the time that the process was at work."""
        wall, worked = (now - then for now, then in zip(_clocks(), self.began, strict=True))
        return min(1.0, worked / wall) if wall > 0 else 1.0


def _clocks() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


@contextmanager
def measured(
    country: str = COUNTRY, before: Mapping[str, float] | None = None, waiting: bool = True
) -> Iterator[Spent]:
    """Fill a dictionary with kWh and kg of CO2 when the work is done; left empty without the extra.

    `estimate` is true where the hardware counts no energy, so that CodeCarbon takes a typical power
    of the processor. Nothing is sent anywhere. `before` is what `so_far` said of the same work when
    it was interrupted; it is added. Memory is counted for as long as the work lasts, or, without
    `waiting`, for as long as the processor is at work: what shares the machine then adds nothing.
    """
    spent = Spent()
    spent.before, spent.waiting, spent.began = before or {}, waiting, _clocks()
    try:
        from codecarbon import OfflineEmissionsTracker
    except ModuleNotFoundError:
        yield spent
        return
    logging.getLogger("codecarbon").setLevel(logging.CRITICAL)  # it speaks before it is told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about hardware that is not there
        tracker = OfflineEmissionsTracker(
            country_iso_code=country,
            tracking_mode="process",
            save_to_file=False,
            log_level="critical",
            allow_multiple_runs=True,
        )
        tracker.start()
    spent.tracker, spent.began = tracker, _clocks()
    try:
        yield spent
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracker.stop()
    spent.finish(country)


def _counted(tracker: Any) -> bool:
    """Whether the processor's own counters were read."""
    modes = [getattr(part, "_mode", "") for part in getattr(tracker, "_hardware", [])]
    return any(mode in ("intel_rapl", "intel_power_gadget") for mode in modes)
