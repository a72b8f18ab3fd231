"""Kernels that choose the words of tokens that may be multiword tokens, and how that is learned.

A token has candidates, the numbers of scripts that tell its words. The features of the token and of its neighbours are
the same for all of them; turned by the number of a script they are those of the script. No script scores 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner
from treetune.models.tokenizer._kernels import PARAGRAPH, fill_features, hash_word, weigh
from treetune.weights._flat_kernels import STEPS, add_weight

WORD_ATOMS = (
    *(f"{index}.{value}" for index in ("P2", "P1", "T0", "N1", "N2") for value in ("word", "shape", "suffix")),
    "T0.ending", "T0.length",
)  # fmt: skip

# No script: the token is one word.
KEEP = -1
_SCRIPT_BITS = np.uint64(0x9E3779B97F4A7C15)


class Candidates(NamedTuple):
    """Tokens that may have several words; the scripts of token i are `scripts[starts[i]:starts[i + 1]]`."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]
    scripts: NDArray[np.int64]


@inner
def fill_word(values, text, tokens, count, token):  # type: ignore[no-untyped-def]
    """Fill the atoms of a token: of itself, and of two tokens before and after it in its paragraph."""
    for i in range(15):
        values[i] = np.uint64(0)
    first = token
    while first > 0 and first > token - 2 and tokens.gaps[first] != PARAGRAPH:
        first -= 1
    last = token + 1
    while last < count and last < token + 3 and tokens.gaps[last] != PARAGRAPH:
        last += 1
    for index in range(first, last):
        base = 3 * (index - token + 2)
        end = tokens.ends[index]
        values[base] = tokens.words[index]
        values[base + 1] = tokens.shapes[index]
        values[base + 2] = hash_word(text.lower, max(tokens.starts[index], end - 3), end)
    values[15] = hash_word(text.lower, max(tokens.starts[token], tokens.ends[token] - 5), tokens.ends[token])
    values[16] = np.uint64(min(tokens.ends[token] - tokens.starts[token], 12))


@inner
def script_bits(script):  # type: ignore[no-untyped-def]
    """Return the bits that turn the features of a token into those of a script."""
    return np.uint64(script + 1) * _SCRIPT_BITS


@entry
def choose_scripts(text, tokens, count, candidates, templates, store, work, chosen):  # type: ignore[no-untyped-def]
    """Write the script with the highest score of each token, or KEEP."""
    for i in range(candidates.tokens.shape[0]):
        fill_word(work.values, text, tokens, count, candidates.tokens[i])
        features = fill_features(templates, work)
        best = 0.0
        chosen[i] = KEEP
        for place in range(candidates.starts[i], candidates.starts[i + 1]):
            score = weigh(store, work, features, script_bits(candidates.scripts[place]))
            if score > best:
                best = score
                chosen[i] = candidates.scripts[place]


@entry
def learn_scripts(text, tokens, candidates, gold, order, templates, store, averages, work, rate):  # type: ignore[no-untyped-def]
    """Learn the scripts of the tokens in an order by logistic regression; there must be room for all features."""
    scores = np.zeros(np.diff(candidates.starts).max(), np.float64)
    for step in range(order.shape[0]):
        averages.counters[STEPS] += 1
        i = order[step]
        fill_word(work.values, text, tokens, tokens.starts.shape[0], candidates.tokens[i])
        features = fill_features(templates, work)
        first, last = candidates.starts[i], candidates.starts[i + 1]
        largest = 0.0
        for place in range(first, last):
            scores[place - first] = weigh(store, work, features, script_bits(candidates.scripts[place]))
            largest = max(largest, scores[place - first])
        total = np.exp(-largest)
        for place in range(first, last):
            total += np.exp(scores[place - first] - largest)
        for place in range(first, last):
            script = candidates.scripts[place]
            wrong = (1.0 if script == gold[i] else 0.0) - np.exp(scores[place - first] - largest) / total
            for feature in range(features):
                add_weight(store, averages, work.features[feature] ^ script_bits(script), rate * wrong)
