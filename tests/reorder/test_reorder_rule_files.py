"""Rule sets as files: what a linguist writes is what is applied, and a mistake is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from treetune.errors import ConfigError, DataError
from treetune.reorder import Precedence, Rule, RuleSet, format_rules, load_rules, rule_sets, save_rules

VERB = '[[rule]]\nname = "verb"\nheads = ["VERB"]\nprecedence = [["obj", 1], ["self", -1, "REVERSE"]]\n'


def test_these_sets_come_with_treetune() -> None:
    assert rule_sets() == ["ar", "fr", "hi", "ja", "ko", "ru", "sov", "tr", "ur", "xu2009", "zh"]
    for name in rule_sets():
        rules = load_rules(name)
        assert rules.name == name
        assert rules.title
        assert rules.rules


def test_the_table_of_the_paper_is_as_printed() -> None:
    verb, adjective, noun, preposition = load_rules("xu2009").rules
    assert [(one.label, one.weight, one.order) for one in verb.precedence] == [
        ("advcl", 1, "NORMAL"),
        ("nsubj", 0, "NORMAL"),
        ("prep", 0, "NORMAL"),
        ("dobj", -1, "NORMAL"),
        *((label, -2, "REVERSE") for label in ("prt", "aux", "auxpass", "neg", "self")),
    ]
    assert verb.walls == adjective.walls == ("p", "punct", "cc")
    assert [verb.heads, adjective.heads, noun.heads, preposition.heads] == [
        ("VB*",), ("JJ", "JJS", "JJR"), ("NN", "NNS"), ("IN", "TO"),
    ]  # fmt: skip
    assert noun.walls == preposition.walls == ()
    assert noun.precedence == (Precedence("prep", 2), Precedence("rcmod", 1), Precedence("self", 0))
    assert [verb.matches(tag) for tag in ("VB", "VBZ", "MD")] == [True, True, False]


def test_a_set_on_a_base_keeps_the_rules_it_does_not_replace(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(VERB + '[[rule]]\nname = "noun"\nheads = "NOUN"\nprecedence = [["nmod", 1]]\n')
    (tmp_path / "mine.toml").write_text('base = "base.toml"\n[[rule]]\nname = "noun"\nheads = "N*"\nprecedence = []\n')
    rules = load_rules(tmp_path / "mine.toml")
    assert [(rule.name, rule.heads, len(rule.precedence)) for rule in rules.rules] == [
        ("noun", ("N*",), 0),
        ("verb", ("VERB",), 2),
    ]
    (tmp_path / "mine.toml").write_text('base = "sov"\n' + VERB)
    rules = load_rules(tmp_path / "mine.toml")
    assert rules.rule_for("VERB") == Rule("verb", ("VERB",), (Precedence("obj", 1), Precedence("self", -1, "REVERSE")))
    assert rules.rule_for("NOUN") == load_rules("sov").rule_for("NOUN")


@pytest.mark.parametrize("name", ["sov", "xu2009", "hi"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    rules = load_rules(name)
    save_rules(rules, tmp_path / f"{name}.toml")
    assert load_rules(tmp_path / f"{name}.toml") == rules
    assert (tmp_path / f"{name}.toml").read_text() == format_rules(rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "{path}: expected a TOML file: Expected '=' after a key in a key/value pair (at end of document)"),
        ("rules = 1", "{path}: unknown key 'rules'; known: base, rule, tags, title (did you mean 'rule'?)"),
        ("tags = 1", "{path}: tags: expected a text, found 1"),
        ('tags = "pos"', "{path}: tags: unknown column of tags 'pos'; known: upos, xpos (did you mean 'xpos'?)"),
        ("rule = 1", "{path}: expected each rule as a table [[rule]], in double brackets"),
        ("[[rule]]\n", "{path}: rule 1: expected the key heads, found none"),
        ('[[rule]]\nheads = "V"', "{path}: rule 1: expected the key precedence, found none"),
        ('[[rule]]\nname = "v"\nhead = "V"',
         "{path}: rule v: unknown key 'head'; known: heads, name, precedence, walls (did you mean 'heads'?)"),
        ("[[rule]]\nname = 3", "{path}: rule 1: name: expected a text, found 3"),
        ("[[rule]]\nheads = [1]\nprecedence = []",
         "{path}: rule 1: heads: expected a text or a list of texts, found [1]"),
        ("[[rule]]\nheads = []\nprecedence = []",
         "{path}: rule 1: expected at least one tag of a head, such as VB*, found none"),
        ('[[rule]]\nheads = "V"\nprecedence = 1',
         '{path}: rule 1: precedence: expected a list such as [["nsubj", 1], ["self", 0]], found a value'),
        ('[[rule]]\nheads = "V"\nprecedence = [["obj"]]',
         '{path}: rule 1: precedence: expected [label, weight] or [label, weight, "REVERSE"], as in ["obj", -1], '
         'found ["obj"]'),
        ('[[rule]]\nheads = "V"\nprecedence = [["obj", 1, "BACK"]]',
         "{path}: rule 1: precedence: obj: unknown order 'BACK'; known: NORMAL, REVERSE"),
        ('[[rule]]\nheads = "V"\nprecedence = [["obj", 1], ["obj", 2]]',
         "{path}: rule 1: the label obj has two weights; give it one"),
        ('[[rule]]\nheads = "V"\nprecedence = [["", 1]]', "{path}: rule 1: expected a label, found an empty text"),
        ('[[rule]]\nheads = "V"\nprecedence = [["obj", inf]]',
         "{path}: rule 1: the weight of obj must be finite, found inf"),
        ('[[rule]]\nheads = "V"\nprecedence = [["a", 1], ["b", 1, "REVERSE"]]',
         "{path}: rule 1: b has the order REVERSE, but weight 1 has NORMAL; children of one weight need one order"),
        ('[[rule]]\nheads = "V"\nprecedence = [["b", 0, "REVERSE"]]',
         "{path}: rule 1: b has the order REVERSE, but weight 0 (that of labels not named) has NORMAL; children of one "
         "weight need one order"),
        (VERB + VERB, "{path}: rule set mine: two rules are called verb; give them names of their own"),
        ('base = "mine.toml"', "{path}: base: expected another file, found this one"),
        ('base = "xu2009"',
         "{path}: rule set mine looks at upos and its base xu2009 at xpos; they must look at the same tags"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_rule_and_key(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_rules(path)
    assert str(caught.value) == message.format(path=path)


def test_a_set_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"^unknown rule set 'jp'; known: FILE\.toml, ar, fr, hi, ja, ko, ru, sov, tr, ur, xu2009, zh"
    ):
        load_rules("jp")
    with pytest.raises(DataError, match=r"nothing\.toml"):
        load_rules("nothing.toml")


def test_a_set_that_looks_at_no_tags_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^unknown column of tags 'feats'; known: upos, xpos$"):
        RuleSet("x", (), tags="feats")  # type: ignore[arg-type]


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b'title = "\xe4"\n')
    with pytest.raises(
        DataError, match=r"mine\.toml:1: expected UTF-8 text, found the byte 0xe4 as byte 10 of the line"
    ):
        load_rules(tmp_path / "mine.toml")
