"""Sentence pairs to word alignments: hidden Markov models of thot in both directions (Vogel et al. 1996).

Needs ``pip install 'treetune[align]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from treetune.corpus.alignments import Links
from treetune.errors import ConfigError

Words = Sequence[str]

# Iterations of IBM Model 1, then of the HMM, in each direction, and one step for its links.
ITERATIONS = 5
STEPS = 2 * (2 * ITERATIONS + 1)
# Sentences of which alignments are asked for at once.
_BATCH = 1000


def align_words(
    pairs: Sequence[tuple[Words, Words]], *, advance: Callable[[], None] = lambda: None
) -> list[tuple[Links, float]]:
    """Return the links on which both directions agree, from 1, with a confidence for each pair.

    The confidence is the agreement of the two directions, twice the links that both have over the links of each.
    Letters count as small ones. `advance` is called after each of `STEPS` steps.

    Raises:
        ConfigError: the package ``sil-thot`` is not installed.
    """
    thot = _thot()
    lowered = [([word.lower() for word in a], [word.lower() for word in b]) for a, b in pairs]
    to_target = list(_one_direction(thot, lowered, advance))
    to_source = list(_one_direction(thot, [(b, a) for a, b in lowered], advance))
    found = []
    for forward, backward in zip(to_target, to_source, strict=True):
        turned = {(word, place) for place, word in backward}
        both = tuple(sorted(turned & set(forward)))
        found.append((both, 2 * len(both) / ((len(forward) + len(turned)) or 1)))
    return found


def _thot() -> Any:
    try:
        return import_module("thot.alignment")
    except ImportError:
        raise ConfigError(
            "expected the package sil-thot, which aligns words, found none; install treetune[align], or give the "
            "alignments of another aligner with --links"
        ) from None


def _one_direction(thot: Any, pairs: Sequence[tuple[Words, Words]], advance: Callable[[], None]) -> Iterator[Links]:
    """Yield the links of each pair, at most one for each word of the second sentence."""
    first = thot.Ibm1AlignmentModel()
    model = thot.HmmAlignmentModel(first)
    # As the authors of the package train it for translation.
    model.hmm_p0, model.lexical_smoothing_factor, model.hmm_alignment_smoothing_factor = 0.1, 0.1, 0.3
    for one, other in pairs:
        model.add_sentence_pair(one, other, 1)
    for part in (first, model):
        part.start_training()
        for _ in range(ITERATIONS):
            part.train()
            advance()
        part.end_training()
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        for _, matrix in model.get_best_alignments([one for one, _ in batch], [other for _, other in batch]):
            places = enumerate(matrix.to_list(), start=1)
            yield tuple((word, place) for place, word in places if word)
    advance()
