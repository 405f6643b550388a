"""Attacks on the package: damaged files, odd arrays, kills, full disks, many processes at once."""
