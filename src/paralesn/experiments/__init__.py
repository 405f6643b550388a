"""Experiments: what is run, measured and reported."""
