"""The command line: one file a command; `main` is the entry point."""

from treetune.cli.app import main

__all__ = ["main"]
