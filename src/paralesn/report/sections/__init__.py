"""The sections of the page, in order; each makes itself from what is stored, or says what it lacks.

A section is None where there would be no sense in it.

To add one, write a function `Findings -> Section` in a file of its own, and name it here.
"""

from collections.abc import Callable

from paralesn.report.elements import Findings, Section
from paralesn.report.sections import (
    approximation,
    archive,
    compare,
    complex_real,
    digits,
    growth,
    hyperparameters,
    learning_curves,
    long_horizon,
    long_range,
    overview,
    paper_tables,
    run_again,
    sequential_images,
    setup,
    small_images,
    times,
)

SECTIONS: tuple[Callable[[Findings], Section | None], ...] = (
    overview.section,
    run_again.section,
    compare.section,
    paper_tables.regression,
    paper_tables.variants,
    paper_tables.earlier,
    complex_real.section,
    paper_tables.classification,
    sequential_images.section,
    small_images.section,
    archive.section,
    long_horizon.section,
    long_range.section,
    learning_curves.section,
    times.section,
    growth.section,
    digits.section,
    approximation.section,
    hyperparameters.section,
    setup.configurations,
    setup.surroundings,
)
