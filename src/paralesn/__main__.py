"""``python -m paralesn``."""

from paralesn.cli import main

main()
