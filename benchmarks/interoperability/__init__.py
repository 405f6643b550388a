"""Does paralesn work with what people use beside it? Cases that are run, not claims.

``python -m benchmarks.interoperability [word ...] [--quick]`` prints a table: what was done, and
whether it passed, fails (with the reason), was skipped for want of a package, or asks for something
that paralesn does not have. Words select cases by name; ``--quick`` leaves the slow ones out, as
the tests do.
"""
