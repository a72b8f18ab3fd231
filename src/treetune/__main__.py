"""``python -m treetune``: the same as the command ``treetune``."""

import sys

from treetune.cli import main

if __name__ == "__main__":
    sys.exit(main())
