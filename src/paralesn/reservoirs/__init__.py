"""Reservoirs: hyperparameters, drawn layers, and running them through an engine."""
