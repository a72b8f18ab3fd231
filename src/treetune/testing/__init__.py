"""Checks of the contracts for models and losses, for the tests of whoever writes one.

`check_model`, `check_predictor` and `check_loss` raise an AssertionError that says which rule is broken, on which
sentence, and what was found. They need no test framework::

    from treetune.testing import check_loss

    def test_my_loss():
        check_loss(MyLoss(), treebank)
"""

from treetune.testing.losses import check_loss
from treetune.testing.models import check_model, check_predictor

__all__ = ["check_loss", "check_model", "check_predictor"]
