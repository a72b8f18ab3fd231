"""Cohen's kappa equals what is computed by hand."""

from __future__ import annotations

import pytest

from treetune.evaluation.agreement import cohen_kappa


def test_kappa_of_a_table_from_a_textbook() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, by chance 0.5.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_kappa_of_extremes() -> None:
    assert cohen_kappa([]) is None
    assert cohen_kappa([(1, 1), (2, 2)]) == 1.0
    assert cohen_kappa([(1, 1), (1, 1)]) == 1.0
    assert cohen_kappa([(1, 2), (2, 1)]) == -1.0
