"""Multiword tokens: words that meet within letters, and words that scripts describe."""

from __future__ import annotations

import pickle
import time
from functools import cache

import pytest
from tokenizer_samples import examples_of
from tokenizer_twin import Scorer, word_atoms

from treetune.corpus.rawtext import raw_text, surface_tokens
from treetune.errors import ModelError
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.tokenizer._word_kernels import KEEP
from treetune.models.tokenizer.multiword import Script, Scripts
from treetune.models.tokenizer.tokenizer import Tokenizer

SEEN = [
    ("du", ("de", "le")),
    ("Du", ("De", "le")),
    ("le", ("le",)),
    ("don't", ("do", "n't")),
    *((f"{stem}arlo", (f"{stem}ar", "lo")) for stem in ("habl", "cant", "salt")),
    *((f"{stem}árselo", (f"{stem}ar", "se", "lo")) for stem in ("compr", "llev", "mand")),
    *((f"lil{stem}", ("li", f"al{stem}")) for stem in ("bayt", "kitab")),
]
DU, ARSELO = Script("token", "du", ("de", "le")), Script("ending", "árselo", ("ar", "se", "lo"))
LI = Script("beginning", "li", ("li", "a"))

# Eaten things have an article of their own, spoken ones the preposition; `-ki` is a word after a place.
NOUNS = ("pommes", "poires", "prunes", "fraises", "cerises", "noix")
PLACES = ("evde", "odada", "parkta", "yolda", "suda", "masada")
VERBS = ("compr", "llev", "mand", "mir", "pas", "quit")
LINES = "\n".join(
    [
        *(f"Il mange des {noun} ~." for noun in NOUNS),
        *(f"Il parle des=de+les {noun} ~." for noun in NOUNS),
        *(f"Il parle du=de+le {noun} ~." for noun in NOUNS),
        *(f"O {place}+ki kitap ~." for place in PLACES),
        "O belki kitap ~.",
        "O eski kitap ~.",
        *(f"Va {verb}árselo={verb}ar+se+lo ~." for verb in VERBS),
    ]
)


@cache
def trained() -> Tokenizer:
    tokenizer = Tokenizer()
    for _ in train_tokenizer(tokenizer, examples_of(LINES * 4), epochs=6):
        pass
    return tokenizer


def test_scripts_are_those_of_tokens_or_of_endings_and_beginnings_that_several_have() -> None:
    assert Scripts.learn(SEEN).scripts == (LI, ARSELO, DU)
    whole = [(f"{left}{right}xárselo", (f"{left}{right}xárselo",)) for left in "abcdefgh" for right in "abcdefgh"]
    assert ARSELO in Scripts.learn([*SEEN, *whole[:20]]).scripts
    # Three tokens of 67 that end so.
    rare = Scripts.learn([*SEEN, *whole]).scripts
    assert ARSELO not in rare
    assert Script("token", "comprárselo", ("comprar", "se", "lo")) in rare


@pytest.mark.parametrize(
    ("script", "form", "words"),
    [
        (DU, "du", ("de", "le")),
        (DU, "Du", ("De", "le")),
        (DU, "DU", ("DE", "LE")),
        (ARSELO, "Pintárselo", ("Pintar", "se", "lo")),
        (ARSELO, "McPintárselo", ("McPintar", "se", "lo")),
        (ARSELO, "PINTÁRSELO", ("PINTAR", "SE", "LO")),
        (LI, "lilqamar", ("li", "alqamar")),
    ],
)
def test_words_are_written_as_the_token_is(script: Script, form: str, words: tuple[str, ...]) -> None:
    assert script.apply(form) == words


def test_scripts_fit_what_is_long_enough() -> None:
    scripts = Scripts.learn(SEEN)
    found = scripts.candidates(["du", "le", "árselo", "xárselo", "pintárselo", "lilqamar", "İİárselo", "DU"])
    assert found.tokens.tolist() == [0, 4, 5, 7]
    assert [scripts.scripts[number] for number in found.scripts] == [DU, ARSELO, LI, DU]
    assert scripts.gold("Comprárselo", ("Comprar", "se", "lo")) == scripts.scripts.index(ARSELO)
    assert scripts.gold("du", ("du",)) == scripts.gold("le", ("l", "e")) == KEEP
    assert pickle.loads(pickle.dumps(scripts)).scripts == Scripts.from_state(scripts.state()).scripts == scripts.scripts


def forms_of(text: str) -> list[str]:
    return [form for sentence in trained().sentences(text) for form in sentence.forms[1:-1]]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Il mange des tomates.", ["Il", "mange", "des", "tomates"]),
        ("Il parle des tomates.", ["Il", "parle", "de", "les", "tomates"]),
        ("Il parle du chat.", ["Il", "parle", "de", "le", "chat"]),
        ("Va pintárselo.", ["Va", "pintar", "se", "lo"]),
    ],
)
def test_scripts_are_chosen_by_context_and_for_unseen_tokens(text: str, forms: list[str]) -> None:
    assert forms_of(text) == forms
    assert raw_text(trained().sentences(text)) == text


def test_words_meet_before_a_suffix_in_letters_never_seen() -> None:
    assert forms_of("O bahçede kitap.") == ["O", "bahçede", "kitap"]
    assert forms_of("O bahçedeki kitap.") == ["O", "bahçede", "ki", "kitap"]
    assert forms_of("O belki kitap.") == ["O", "belki", "kitap"]


def test_the_chosen_script_is_that_of_the_twin() -> None:
    weights = trained().weights
    assert weights is not None
    assert weights.words is not None
    scorer = Scorer(trained()._sets["words"], weights.words)
    text = "Il mange des pommes. Il parle des pommes du soir. Des poires.\n\nVa pintárselo. Des noix du"
    paragraphs = [[]]  # type: list[list[tuple[str, tuple[str, ...]]]]
    for sentence in trained().sentences(text):
        if "# newpar" in sentence.comments and paragraphs[-1]:
            paragraphs.append([])
        for token in surface_tokens(sentence):
            paragraphs[-1].append((token.form, sentence.forms[token.first : token.last]))
    assert len(paragraphs) == 2
    several = 0
    for paragraph in paragraphs:
        forms = [form for form, _ in paragraph]
        for place, (form, words) in enumerate(paragraph):
            numbers = weights.scripts.candidates([form]).scripts.tolist()
            scores = {n: scorer(word_atoms(forms, place), (n + 1) * 0x9E3779B97F4A7C15 % 2**64) for n in numbers}
            best = max(scores, key=scores.__getitem__, default=KEEP)
            several += bool(numbers)
            assert words == (weights.scripts.scripts[best].apply(form) if scores.get(best, 0) > 0 else (form,))
    assert several == 7


def test_a_tokenizer_writes_them_as_ranges() -> None:
    (sentence,) = trained().sentences("Il parle du chat.")
    assert sentence.multiword == ((3, "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_"),)


def test_a_long_token_takes_linear_time() -> None:
    scripts = Scripts.learn(SEEN)
    long = "x" * 2_000_000
    started = time.process_time()
    found = scripts.candidates([long, f"{long}árselo"])
    assert found.tokens.tolist() == [1]
    # Every ending of it, copied, would be minutes.
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"tokens": {"du": ["de", "le"]}, "endings": {}}, r"multiword.scripts: expected a value, found none"),
        ({"scripts": [["token", "du", "de"]]}, r"multiword.scripts: expected a place, an affix and two words or more"),
        ({"scripts": [["middle", "du", "de", "le"]]}, r"expected a place, an affix and two words or more"),
        ({"scripts": [["token", "", "de", "le"]]}, r"expected a place, an affix and two words or more"),
        ({"scripts": [["ending", "u", "", ""]]}, r"multiword.scripts: expected words, found ''"),
        ({"scripts": [["token", "u", "a\tb", "c"]]}, r"expected texts without control characters"),
        ({"scripts": ["du"]}, r"expected a list of texts, found 'du'"),
    ],
)
def test_strange_scripts_are_refused(state: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Scripts.from_state(state)


def test_a_model_of_an_earlier_version_without_such_tokens_is_read() -> None:
    assert not Scripts.from_state({"tokens": {}, "endings": {}})
