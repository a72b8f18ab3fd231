"""Words with digits, fractions, abbreviations, addresses, emoticons, invisible characters and marks are not cut."""

from __future__ import annotations

from functools import cache

import pytest
from tokenizer_samples import LINES, examples_of, treebank

from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.tokenizer.tokenizer import Tokenizer

# What is tested has relatives here, but does not occur itself.
RELATIVES = """\
It took 5 ~mm of rain and 10 ~mm of snow at 5 ~pm ~, not at 7 ~pm ~.
My mp3 and the h264 of the 3rd and 4th kind ~.
The m ~16 is no toy ~.
Add 3/4 cup of milk ~, 2/3 cup of oil and 1/4 cup of salt ~.
Add 1 tsp. salt ~, 2 oz. butter and 3 qt. water ~.
It is 4 ft. long and approx. 3 ft. wide ~.
This is some salt ~, and that is butter ~. Is it salt ~? It is butter ~.
I like the dog ~. I like the cat ~. We like salt ~, and the cat likes butter ~.
It costs $ ~3.75 ~, 12.50 or 2,500.75 now ~, or 1,250 ~.
Visit http://www.example.net/x-y_z?p=1&q=2 now ~. See https://a.example.org/b?c=3&d=4#e ~.
See www.example.net ~, or write to ann.b@mail.example.net today ~.
Write to bob_c@example.org ~, please ~.
It is nice :-) and bad :-( to go :) or not :( ~.
Dr. Low and Mr. High of the U.S. army met Mrs. Wide at 5 a.m. in the U.K. parliament ~.
It is e.g. this and i.e. that ~.
"""


@cache
def trained() -> Tokenizer:
    tokenizer = Tokenizer()
    lines = (RELATIVES + LINES) * 4
    for _ in train_tokenizer(tokenizer, [*treebank()[:100], *examples_of(lines)], epochs=8):
        pass
    return tokenizer


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("letter and digit", "See you b4 lunch ."),
        ("digit and word", "We go 2moro ."),
        ("digit and upper-case letters", "Two 2AA and 4AAA things ."),
        ("a unit that was seen", "It is 7 mm long ."),
        ("fraction", "Add 1/2 cup of tea ."),
        ("abbreviation before lower case", "Add 2 tbsp. salt ."),
        ("abbreviation before a name", "We met Dr. Jones ."),
        ("letters with stops", "It is 7 p.m. now ."),
        ("decimal number", "It costs 7.25 or 3,000.50 now ."),
        ("address with a scheme", "See http://www.example.com/m-n_o?r=7&s=8 now ."),
        ("address without a scheme", "See www.example.com now ."),
        ("mail address", "Write to jo.doe@mail.example.com today ."),
        ("emoticon", "It is fine :-) and so on ."),
        ("soft hyphen", "We co\u00adop\u00aderate now ."),
        ("zero-width joiner", "It is क्\u200dष now ."),
        ("zero-width non-joiner", "It is می\u200cخواهم now ."),
        ("marks of Arabic", "It is مُحَمَّدٌ now ."),
        ("marks of Hindi", "It is हिन्दी now ."),
        ("combining accents", "It is cafe\u0301s now ."),
    ],
)
def test_not_cut_and_not_the_end_of_a_sentence(kind: str, text: str) -> None:
    # As it is written in the text, but for units.
    written = text.replace("7 mm", "7mm").replace(" .", ".")
    assert [" ".join(sentence.forms[1:]) for sentence in trained().sentences(written)] == [text], kind
