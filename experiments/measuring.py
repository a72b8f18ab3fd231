"""The measuring code of `benchmarks/`, which is no package, for the experiments: one place for both."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from measure import data_option, provenance, say, sha256, write_json
from table import markdown, origin

__all__ = ["data_option", "markdown", "origin", "provenance", "say", "sha256", "write_json"]
