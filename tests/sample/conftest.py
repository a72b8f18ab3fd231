"""Sentences shared by the tests of the sample English."""

from __future__ import annotations

import pytest

from treetune.corpus.sentence import Example
from treetune.sample import KINDS, generate


@pytest.fixture(scope="session")
def by_kind() -> dict[str, list[Example]]:
    return {kind: generate(1500, seed=11, kinds=(kind,)) for kind in KINDS}


@pytest.fixture(scope="session")
def everything(by_kind: dict[str, list[Example]]) -> list[Example]:
    return [example for examples in by_kind.values() for example in examples]
