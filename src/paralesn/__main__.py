"""``python -m paralesn``."""

try:
    from paralesn.cli import main
except KeyboardInterrupt:  # it takes a moment
    raise SystemExit(130) from None

main()
