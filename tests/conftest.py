"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def _find_data() -> Path | None:
    named = os.environ.get("TREETUNE_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real treebanks; without it the test is skipped, and pytest -ra says so."""
    found = _find_data()
    if found is None:
        pytest.skip("needs the treebanks: set TREETUNE_DATA to a folder with ud/ and questions/")
    return found
