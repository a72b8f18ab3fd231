"""The official validator of Universal Dependencies accepts what is generated, at its strictest level."""

from __future__ import annotations

from pathlib import Path

import pytest

from treetune.corpus import write_conllu
from treetune.sample import KINDS, generate

# English treebanks give modals no Mood and "there" no PronType; the validator warns.
EXPECTED_WARNINGS = {"verbform-fin-without-mood", "pron-det-without-prontype"}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", KINDS)
def test_the_official_validator_finds_no_error(kind: str, tmp_path: Path) -> None:
    validator = pytest.importorskip("udtools.validator")
    path = tmp_path / "sample.conllu"
    write_conllu(generate(300, seed=21, kinds=(kind,)), path)
    state = validator.Validator(lang="en", level=5, output=None, max_store=100).validate_files([str(path)])
    assert state.passed(), str(state)
    assert {incident.testid for incident in state.error_tracker} <= EXPECTED_WARNINGS
