"""`python -m rankmeter` is the command line."""

import sys

INTERRUPTED = 130


def run() -> int:
    """The command line; an interrupt while it is loaded ends it as one later does."""
    try:
        from rankmeter.cli import main
    except KeyboardInterrupt:
        return INTERRUPTED
    return main()


if __name__ == "__main__":
    sys.exit(run())
