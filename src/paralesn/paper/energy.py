"""Energy and emissions of a piece of work, by CodeCarbon where it is installed (an extra)."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COUNTRY = "ITA"  # whose electricity is counted unless said otherwise: the paper's


def checked_country(country: str) -> str:
    """A country as CodeCarbon names it, in capitals."""
    if len(country) != 3 or not (country.isascii() and country.isalpha()):
        raise ValueError(f"country must be a code of three letters such as 'ITA', got {country!r}")
    return country.upper()


@contextmanager
def measured(country: str = COUNTRY) -> Iterator[dict[str, Any]]:
    """Fill a dictionary with kWh and kg of CO2 when the work is done; left empty without the extra.

    `estimate` is true where the hardware counts no energy, so that CodeCarbon takes a typical power
    of the processor. Nothing is sent anywhere.
    """
    spent: dict[str, Any] = {}
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
    try:
        yield spent
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracker.stop()
    emissions = getattr(tracker, "final_emissions_data", None)
    if emissions is None:  # CodeCarbon keeps its failures to itself
        return
    spent |= {
        "kwh": float(emissions.energy_consumed),
        "kg": float(emissions.emissions),
        "country": country,
        "estimate": not _counted(tracker),
        "by": f"codecarbon {emissions.codecarbon_version}",
    }


def _counted(tracker: Any) -> bool:
    """Whether the processor's own counters were read."""
    modes = [getattr(part, "_mode", "") for part in getattr(tracker, "_hardware", [])]
    return any(mode in ("intel_rapl", "intel_power_gadget") for mode in modes)
