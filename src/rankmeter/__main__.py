"""`python -m rankmeter` is the command line."""

import sys

from rankmeter.cli import main

if __name__ == "__main__":
    sys.exit(main())
