"""``python -m paralesn``, and the command `paralesn`."""


def main() -> None:
    """Import the command line, which takes a moment, and run it."""
    try:
        from paralesn import cli

        cli.main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
