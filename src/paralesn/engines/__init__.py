"""Engines: arrays in, arrays out. No validation, no randomness."""
