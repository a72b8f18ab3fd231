"""Losses: the cost of one output, which training minimizes.

`base` has the contract, `table` the losses by name; a Python function (`function`) or an external program
(`program`) is a loss too. See docs/writing-losses.md.
"""

from treetune.losses.arclength import ArcLength
from treetune.losses.attachment import Attachment, ZeroOne
from treetune.losses.base import Loss
from treetune.losses.function import Function, as_loss
from treetune.losses.meaning import NaturalLogicalForm
from treetune.losses.partial import PartialTree
from treetune.losses.program import Program
from treetune.losses.reordering import Reordering
from treetune.losses.root import Root
from treetune.losses.table import LOSSES, make_loss
from treetune.losses.tags import EntityF1, EntityHamming, MainVerb
from treetune.losses.weighted import Weighted

__all__ = [
    "LOSSES",
    "ArcLength",
    "Attachment",
    "EntityF1",
    "EntityHamming",
    "Function",
    "Loss",
    "MainVerb",
    "NaturalLogicalForm",
    "PartialTree",
    "Program",
    "Reordering",
    "Root",
    "Weighted",
    "ZeroOne",
    "as_loss",
    "make_loss",
]
