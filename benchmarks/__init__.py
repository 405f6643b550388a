"""Measured claims. ``make bench`` prints them; every one is a ratio to a rival in the same run."""
