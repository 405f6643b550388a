"""Readouts: what is trained, in one pass over blocks of states."""
