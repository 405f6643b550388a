"""Energy and emissions of a piece of work, by CodeCarbon where it is installed (an extra)."""

import logging
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

    def so_far(self) -> dict[str, float]:
        """kWh and kg up to now, for work that may be interrupted; empty without the extra."""
        if self.tracker is None:
            return {}
        kg = self.tracker.flush()
        return self._with_earlier(float(self.tracker._total_energy.kWh), float(kg or 0.0))

    def finish(self, country: str) -> None:
        """Fill in what the tracker, which has stopped, says."""
        emissions = getattr(self.tracker, "final_emissions_data", None)
        if emissions is None:  # CodeCarbon keeps its failures to itself
            return
        self |= self._with_earlier(float(emissions.energy_consumed), float(emissions.emissions))
        self |= {
            "country": country,
            "estimate": not _counted(self.tracker),
            "by": f"codecarbon {emissions.codecarbon_version}",
        }

    def _with_earlier(self, kwh: float, kg: float) -> dict[str, float]:
        before = self.before
        return {"kwh": kwh + before.get("kwh", 0.0), "kg": kg + before.get("kg", 0.0)}


@contextmanager
def measured(country: str = COUNTRY, before: Mapping[str, float] | None = None) -> Iterator[Spent]:
    """Fill a dictionary with kWh and kg of CO2 when the work is done; left empty without the extra.

    `estimate` is true where the hardware counts no energy, so that CodeCarbon takes a typical power
    of the processor. Nothing is sent anywhere. `before` is what `so_far` said of the same work when
    it was interrupted; it is added.
    """
    spent = Spent()
    spent.before = before or {}
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
    spent.tracker = tracker
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
