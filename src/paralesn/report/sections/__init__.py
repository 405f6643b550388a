"""The sections of the page, in order; each makes itself from what is stored, or says what it lacks.

To add one, write a function `Findings -> Section` in a file of its own, and name it here.
"""

from collections.abc import Callable

from paralesn.report.elements import Findings, Section
from paralesn.report.sections import (
    archive,
    compare,
    longterm,
    lra,
    mnist,
    overview,
    race,
    results,
    scaling,
    sensitivity,
    setup,
    times,
    universality,
)

SECTIONS: tuple[Callable[[Findings], Section], ...] = (
    overview.section,
    compare.section,
    results.regression,
    results.variants,
    results.classification,
    mnist.section,
    archive.section,
    longterm.section,
    lra.section,
    race.section,
    times.section,
    scaling.section,
    universality.section,
    sensitivity.section,
    setup.configurations,
    setup.surroundings,
)
