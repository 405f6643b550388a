"""Tasks generated from equations and rules."""
