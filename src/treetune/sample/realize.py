"""From linked words to an `Example`: "a" or "an", the capital letter, spaces, numbers for the heads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from treetune.corpus.sentence import ABSENT, ROOT, Example, Sentence, Tree
from treetune.sample.morphology import article
from treetune.sample.words import Word


def polish(words: Sequence[Word]) -> None:
    """Settle what depends on neighbors: "a" or "an", and the capital at the start."""
    for word, following in pairwise(words):
        if word.form == "a" and word.upos == "DET":
            word.form = article(following.form)
    first = words[0]
    first.form = first.form[0].upper() + first.form[1:]


def text_of(words: Sequence[Word]) -> str:
    """Return the sentence as written."""
    return "".join(word.form if word.glued or i == 0 else " " + word.form for i, word in enumerate(words))


def example_of(words: Sequence[Word], *, sent_id: str, s_type: str) -> Example:
    """Return the finished example, with `sent_id`, `text` and `s_type` as comments."""
    place = {id(word): index for index, word in enumerate(words, start=1)}
    glued_next = [word.glued for word in words[1:]] + [False]
    sentence = Sentence(
        forms=(ROOT, *(word.form for word in words)),
        lemmas=(ROOT, *(word.lemma for word in words)),
        upos=(ROOT, *(word.upos for word in words)),
        xpos=(ROOT, *(word.xpos for word in words)),
        feats=(ROOT, *(word.feats for word in words)),
        misc=(ROOT, *("SpaceAfter=No" if glued else ABSENT for glued in glued_next)),
        comments=(f"# sent_id = {sent_id}", f"# text = {text_of(words)}", f"# s_type = {s_type}"),
    )
    heads = [0 if word.head is None else place[id(word.head)] for word in words]
    return Example(sentence, Tree.of(heads, [word.rel for word in words]))
