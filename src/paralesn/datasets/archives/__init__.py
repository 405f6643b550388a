"""Public archives: what is in their files."""
