"""Weights of a finished training are freed at once, not by the next collection of garbage."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


@pytest.mark.parametrize("make", [TransitionParser, GraphParser])
def test_a_learner_and_its_decoder_are_freed_with_their_last_name(make: Callable[[], Parser]) -> None:
    treebank = generate(5)
    learner = make().learner(treebank, seed=1)
    decoder = learner.online_decoder([example.sentence for example in treebank])
    decoder.k_best(0, 2)
    alive = weakref.ref(learner)
    gc.disable()
    try:
        del learner, decoder
        assert alive() is None
    finally:
        gc.enable()
