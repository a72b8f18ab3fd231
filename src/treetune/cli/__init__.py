"""The command line: one file a command; `main` is the entry point."""

import gc

# Starting makes hundreds of thousands of objects that stay: looking through them again and again for garbage
# would be a sixth of the time until the first tree.
gc.set_threshold(100_000, 50, 50)

from treetune.cli.app import main  # noqa: E402

__all__ = ["main"]
