"""Estimators: a reservoir and a readout together, for a task."""
