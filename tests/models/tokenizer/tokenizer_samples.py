"""A few hundred sentences written for these tests, and a tokenizer that has learned them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import strategies  # noqa: F401 - tests are not timed
from treetune.corpus.sentence import ABSENT, Example, Sentence, Tree
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.sample import generate

# `~` joins a token to the one before, `+` the words of a multiword token, `=` follows a form unlike its words; an empty
# line is a new paragraph.
LINES = """\
I do+n't know ~, Dr. No ~.
It+'s a test ~: 5 ~- year plans ca+n't fail ~!
Mail me at a.b@example.org ~, or see http://example.org/a?b=1 ~.

We can+not go ~; I+'m sorry ~...
Is it yours ~? " ~No ~, " ~he said ~.
THEY WO+N'T ~!!!

Prices rose 5 ~% to $ ~10.50 ~( ~again ~) ~.
Mr. Smith does+n't mind ~.
Its tail is long ~, 5 ~mm or 10 ~mm at 5 ~pm ~.
The m ~16 is a b2b b2c 3rd thing of the 3rd kind ~.
I can+not ~, you can+not ~, they ca+n't ~.
"""


def sentence_of(line: str, *, is_new: bool = False) -> Sentence:
    """Return the sentence of a line as above."""
    forms: list[str] = []
    misc: list[str] = []
    multiword: list[tuple[int, str]] = []
    tokens = line.split()
    for place, token in enumerate(tokens):
        after = "SpaceAfter=No" if tokens[place + 1 : place + 2] and tokens[place + 1].startswith("~") else ABSENT
        form, _, parts = token.removeprefix("~").rpartition("=" if "+" in token else "no form")
        words = parts.split("+")
        if len(words) > 1:
            first = len(forms) + 1
            columns = [f"{first}-{first + len(words) - 1}", form or "".join(words), *[ABSENT] * 7, after]
            multiword.append((first, "\t".join(columns)))
            after = ABSENT
        forms += words
        misc += [ABSENT] * (len(words) - 1) + [after]
    sentence = replace(Sentence.of(forms), misc=("<root>", *misc), multiword=tuple(multiword))
    return replace(sentence, comments=("# newpar",)) if is_new else sentence


def examples_of(lines: str) -> list[Example]:
    found = []
    is_new = True
    for line in lines.splitlines():
        if line:
            sentence = sentence_of(line, is_new=is_new)
            found.append(Example(sentence, Tree.of([0, *[1] * (len(sentence) - 1)], None)))
        is_new = not line
    return found


def treebank() -> list[Example]:
    """Return the lines above a few times, between generated English in paragraphs of five sentences."""
    made = [*generate(200, seed=3), *examples_of(LINES * 6)]
    for place in range(0, 200, 5):
        sentence = made[place].sentence
        made[place] = replace(made[place], sentence=replace(sentence, comments=(*sentence.comments, "# newpar")))
    return made


@cache
def trained() -> Tokenizer:
    tokenizer = Tokenizer()
    for _ in train_tokenizer(tokenizer, treebank(), epochs=4):
        pass
    return tokenizer
