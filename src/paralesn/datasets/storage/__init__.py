"""Where data files are: found, downloaded, prepared once and kept."""
