"""Patterns over expressions: what they match, what their variables bind, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from treetune.corpus.sentence import Sentence
from treetune.errors import ConfigError
from treetune.semantics import parse_expression
from treetune.semantics.matching import Matcher
from treetune.semantics.patterns import parse_pattern

BOUGHT = "[acquired/stealthily:[in, ^, 2002], Chirpy+Systems, companies.two:profitable:[producing, ^, pet+accessories]]"
GIVEN = "[gave/not, Ann, and{Bob, Carla:old}, book.a]"
WANTED = "[wants, Ann, [sell/to, ^, (and{houses, cars}).her]] & [sold/was, _, house.the]"


def found(pattern: str, expression: str, *, lemmas: dict[str, str] | None = None, forms: bool = False) -> list[str]:
    """Return the bindings of all matches as ``name=expression``."""
    parsed = parse_expression(expression)
    sentence = Sentence.of([])
    if lemmas is not None:
        numbered = list(parsed.words())
        for number, node in enumerate(numbered, start=1):
            object.__setattr__(node, "position", number)
        words = [node.word for node in numbered]
        sentence = Sentence.of(words, lemmas=[lemmas.get(word, word) for word in words])
    matches = Matcher(parse_pattern(pattern), forms=forms).find(parsed, sentence)
    return [" ".join(f"{name}={one}" for name, one in match.bindings.items()) for match in matches]


COMPANIES = "companies.two:profitable:[producing, ^, pet+accessories]"


@pytest.mark.parametrize(
    ("pattern", "expression", "expected"),
    [
        ("[acquired, ?who, ?what]", BOUGHT, [f"who=Chirpy+Systems what={COMPANIES}"]),
        ("[ACQUIRED, ?who, ?]", BOUGHT, ["who=Chirpy+Systems"]),
        ("[acquir*, ?who, ...]", BOUGHT, ["who=Chirpy+Systems"]),
        ("[acquired, ?who]", BOUGHT, []),
        ("[sold|acquired, ?who, ?]", BOUGHT, ["who=Chirpy+Systems"]),
        # Modifiers of the text are ignored; those of the pattern are required, forbidden or optional, in any order.
        ("[acquired:[in, ^, ?when]/stealthily, ?who, ?]", BOUGHT, ["when=2002 who=Chirpy+Systems"]),
        ("[acquired/openly, ?who, ?]", BOUGHT, []),
        ("[acquired/!stealthily, ?who, ?]", BOUGHT, []),
        ("[acquired/!openly, ?who, ?]", BOUGHT, ["who=Chirpy+Systems"]),
        ("[acquired:[on, ^, ?day]?/?how, ?who, ?]", BOUGHT, ["how=stealthily who=Chirpy+Systems"]),
        ("[acquired:[in, ^, ?when]?, ?who, ?]", BOUGHT, ["when=2002 who=Chirpy+Systems"]),
        ("companies:?one:?other", BOUGHT, [
            "one=profitable other=[producing, ^, pet+accessories]",
            "one=[producing, ^, pet+accessories] other=profitable",
        ]),
        ("companies~two", BOUGHT, [""]),
        ("companies:two", BOUGHT, []),
        # Compounds: the last word is the head.
        ("chirpy+?name", BOUGHT, ["name=Chirpy+Systems"]),
        ("?name=systems", BOUGHT, ["name=Chirpy+Systems"]),
        ("?name=chirpy", BOUGHT, ["name=Chirpy"]),
        # The abstraction stands for what is modified, or for the argument before.
        ("[producing, ?who, ?what]", BOUGHT, ["who=companies.two:profitable what=pet+accessories"]),
        ("[producing, ^, ?what]", BOUGHT, ["what=pet+accessories"]),
        ("[producing, companies:profitable, ?what]", BOUGHT, ["what=pet+accessories"]),
        ("[sell, ?who, ?what]", WANTED, ["who=Ann what=and{houses, cars}.her"]),
        ("[sell, ?who, cars]", WANTED, ["who=Ann"]),
        ("[sell, ?who, and{?a, cars}]", WANTED, ["who=Ann a=houses"]),
        ("[sell, ?who, or{?a, cars}]", WANTED, []),
        ("[sell, ?who, and{?a, ?b, ?c}]", WANTED, []),
        # What is unspecified is bound to no variable, unless it is optional.
        ("[sold, ?who, ?what]", WANTED, []),
        ("[sold, ?who?, ?what]", WANTED, ["what=house.the"]),
        ("[sold, _, ?what]", WANTED, ["what=house.the"]),
        ("[gave, ?who, ?whom, ?what]", GIVEN, ["who=Ann whom=and{Bob, Carla:old} what=book.a"]),
        ("[gave, ?who, ?whom=carla, ?what]", GIVEN, ["who=Ann whom=Carla:old what=book.a"]),
        ("[gave/!not, ?who, ...]", GIVEN, []),
        # One variable, one thing.
        ("[saw, ?who, ?who]", "|[saw, Ann, ann], [saw, Ann, Bob]|", ["who=Ann"]),
        ("|?a, Dublin|", "|Dublin, Paris|", ["a=Paris"]),
        ('"U.S."+?x', '"U.S."+Steel', ['x="U.S."+Steel']),
        ('"*"', "|a, b|", []),
    ],
)  # fmt: skip
def test_matches(pattern: str, expression: str, expected: list[str]) -> None:
    assert found(pattern, expression) == expected


def sentence_of(rows: str) -> Sentence:
    """Return the sentence of words with tag and FEATS: ``sold/VERB/VerbForm=Fin``."""
    cells = [cell.split("/") for cell in rows.split()]
    columns: list[list[str]] = [[cell[column] if len(cell) > column else "_" for cell in cells] for column in range(3)]
    return Sentence.of(columns[0], upos=columns[1], feats=columns[2])


@pytest.mark.parametrize(
    ("words", "expression", "expected"),
    [
        # Subjects of clauses around, of infinitives, of coordinated and of adverbial clauses.
        ("Ann wants/VERB/F to sell/VERB/F toys", "[wants#2, Ann#1, [sell#4/to#3, _, toys#5]]", ["who=Ann what=toys"]),
        ("Ann asked/VERB/F Bob to sell/VERB/F toys", "[asked#2, Ann#1, Bob#3, [sell#5/to#4, _, toys#6]]",
         ["who=Bob what=toys"]),
        ("Ann came/VERB/F and sell/VERB/F toys", "[came#2, Ann#1] & [sell#4/and#3, _, toys#5]", ["who=Ann what=toys"]),
        ("Ann came/VERB/F to sell/VERB/F toys", "[came#2:[sell#4/to#3, _, toys#5], Ann#1]", ["who=Ann what=toys"]),
        ("Ann left/VERB/F after/SCONJ/_ sell/VERB/F toys", "[left#2:[after#3, ^, [sell#4, _, toys#5]], Ann#1]",
         ["who=Ann what=toys"]),
        ("Toys were seen/VERB/Voice=Pass and sell/VERB/F", "[seen#3/were#2, _, Toys#1] & [sell#5/and#4, _, _]", []),
        # Clauses and adjectives are no subjects of other clauses.
        ("important/ADJ is/AUX/F to sell/VERB/F toys", "[is#2:[sell#4/to#3, _, toys#5], important#1]", []),
        ("saying/VERB/F helps/VERB/F to sell/VERB/F toys", "[helps#2, [saying#1, _], [sell#4/to#3, _, toys#5]]", []),
        # The passive has an unknown subject.
        ("Ann says/VERB/F toys sell/VERB/Voice=Pass", "[says#2, Ann#1, [sell#4, _, toys#3]]", []),
        ("Time to sell/VERB/F toys", "Time#1:[sell#3/to#2, _, toys#4]", []),
        ("toys were sell/VERB/Voice=Pass by/ADP Ann", "[sell#3/were#2, Ann#5/by#4, toys#1]", ["who=Ann what=toys"]),
        ("toys were sell/VERB/Voice=Pass by/ADP Ann and Bob", "[sell#3/were#2, and#6{Ann#5/by#4, Bob#7}, toys#1]",
         ["who=and{Ann, Bob} what=toys"]),
        ("dolls sank/VERB/F and toys sell/VERB/Tense=Past|VerbForm=Part",
         "[sank#2, dolls#1] & [sell#5/and#3, _, toys#4]", []),
        # Relative pronouns, and none.
        ("people who/PRON/PronType=Rel sell/VERB/F toys", "people#1:[sell#3, who#2, toys#4]", ["who=people what=toys"]),
        ("toys that/PRON/PronType=Rel people sell/VERB/F", "toys#1:[sell#4, people#3, that#2]",
         ["who=people what=toys"]),
        ("toys people sell/VERB/F", "toys#1:[sell#3, people#2, ^]", ["who=people what=toys"]),
        # Without tags, by words.
        ("Ann says toys were sell", "[says#2, Ann#1, [sell#5/were#4, _, toys#3]]", []),
        ("toys were sell by Ann", "[sell#3/were#2, Ann#5/by#4, toys#1]", ["who=Ann what=toys"]),
        ("Ann wants to sell toys", "[wants#2, Ann#1, [sell#4/to#3, _, toys#5]]", ["who=Ann what=toys"]),
        ("Ann left after sell toys", "[left#2:[after#3, ^, [sell#4, _, toys#5]], Ann#1]", ["who=Ann what=toys"]),
        ("people who sell that", "people#1:[sell#3, who#2, toys#4]", ["who=people what=toys"]),
        ("they left after sell that", "[left#2:[sell#4/after#3, ^, that#5], they#1]", ["who=left what=that"]),
    ],
)  # fmt: skip
def test_who_is_meant_by_an_argument_that_is_missing(words: str, expression: str, expected: list[str]) -> None:
    matches = Matcher(parse_pattern("[sell, ?who, ?what]")).find(parse_expression(expression), sentence_of(words))
    assert [" ".join(f"{name}={one}" for name, one in match.bindings.items()) for match in matches] == expected


def test_what_a_pronoun_stands_for_matches_once() -> None:
    pattern = Matcher(parse_pattern("[saw, ?who, ?what]"))
    expression = parse_expression("[saw#1:[left#4, who#3, _], Ann#2, [saw#7, ^, Bob#6]]")
    assert len(list(pattern.find(expression, sentence_of("saw Ann who left now Bob saw")))) == 2


def test_words_match_by_form_or_lemma() -> None:
    lemmas = {"acquired": "acquire", "companies": "company"}
    assert found("[acquire, ?who, company]", BOUGHT, lemmas=lemmas) == ["who=Chirpy+Systems"]
    assert found("[acquired, ?who, companies]", BOUGHT, lemmas=lemmas) == ["who=Chirpy+Systems"]
    assert found("[acquire, ?who, company]", BOUGHT, lemmas=lemmas, forms=True) == []
    assert found("[acquire, ?who, company]", BOUGHT) == []


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        ("[acquire, ?who, ?what]", True),
        ("[acquire|sell, ?who, ?what:small]", False),
        ("[acquire, ?who, ?what:!small/small?]", True),
        ("[acq*, and{ann, ?}, ?]", False),
        ("[acq*, ?who, ?what=growler]", True),
    ],
)
def test_sentences_without_the_words_of_a_pattern_are_told_at_once(pattern: str, may: bool) -> None:
    sentence = Sentence.of(["Chirpy", "acquired", "Growler"], lemmas=["Chirpy", "acquire", "Growler"])
    assert Matcher(parse_pattern(pattern)).may_match(sentence) is may


def test_variables_are_listed_in_the_order_of_the_text() -> None:
    pattern = parse_pattern("[acquire:[in, ^, ?when]?/!?never, ?who, ?what=and{?a, ?who}]")
    assert pattern.variables == ("when", "who", "what", "a")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[acquired, ?who", "character 16: expected ',' or ']', found the end"),
        ("", "character 1: expected a word, a variable, '[', '(', '|', '^' or '_', found the end"),
        ("[a,,b]", "character 4: expected a word, a variable, '[', '(', '|', '^' or '_', found ','"),
        ('[a, "b]', "character 8: expected the end of a quoted word"),
        ("a b", "character 3: expected the end, found 'b'"),
        ("[a, ..., b]", "character 8: expected ']', found ','"),
        ("(a", "character 3: expected ')', found the end"),
    ],
)
def test_a_wrong_pattern_is_told_with_its_place(pattern: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_pattern(pattern)
    assert str(error.value) == f"pattern {pattern!r}, {problem}"
