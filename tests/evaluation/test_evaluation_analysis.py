"""`analyse` against counts made by hand and against the scores; reports escape what they are given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from evaluation_samples import corpora, example, steady
from hypothesis import assume, given

from treetune.corpus.sentence import Example, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation import Analysis, analyse, report_sections
from treetune.evaluation.sections import as_html, as_markdown, as_text
from treetune.evaluation.word_errors import Arc

SAW = "She saw the man with glasses ."
SAW_TAGS = "PRON VERB DET NOUN ADP NOUN PUNCT"
GOLD = [
    example(SAW, [2, 0, 4, 2, 6, 4, 2], "nsubj root det obj case nmod punct", upos=SAW_TAGS, sent_id="s1"),
    example("Dogs bark .", [2, 0, 2], "nsubj root punct", upos="NOUN VERB PUNCT"),
    example("Birds sing", [2, 0], "nsubj root", upos="NOUN VERB"),
]
# A wrong attachment; three wrong heads around two wrong tags; a wrong label.
PREDICTED = [
    example(SAW, [2, 0, 4, 2, 6, 2, 2], "nsubj root det obj case obl punct", upos=SAW_TAGS),
    example("Dogs bark .", [0, 1, 1], "root obj punct", upos="VERB NOUN PUNCT"),
    example("Birds sing", [2, 0], "obj root", upos="NOUN VERB"),
]
TRAIN = [example("She saw Birds .", [2, 0, 2, 2], "nsubj root obj punct", upos="PRON VERB NOUN PUNCT")]
OTHER = [PREDICTED[0], GOLD[1], GOLD[2]]


def counts(analysis: Analysis, kind: str) -> list[tuple[str, int, int, int]]:
    return [(one.name, one.words, one.wrong_heads[0], one.errors[0]) for one in analysis.groups[kind]]


def test_the_counts_of_a_small_corpus() -> None:
    found = analyse(GOLD, PREDICTED)
    assert (found.total.words, found.total.wrong_heads, found.total.errors) == (12, (4,), (5,))
    assert found.scores[0]["LAS"] == pytest.approx(7 / 12)
    assert counts(found, "arc length") == [("root", 3, 1, 1), ("1", 6, 2, 3), ("2", 2, 1, 1), ("3-6", 1, 0, 0)]
    assert counts(found, "depth in the tree") == [("1", 3, 1, 1), ("2", 6, 2, 3), ("3", 2, 1, 1), ("4", 1, 0, 0)]
    assert counts(found, "position") == [("1", 3, 1, 2), ("2", 3, 1, 1), ("3-5", 4, 1, 1), ("6-10", 2, 1, 1)]
    assert counts(found, "sentence length") == [("1-5", 5, 3, 4), ("6-10", 7, 1, 1)]
    assert found.labels["nsubj"][0].recall == pytest.approx(1 / 3)
    assert (found.comparison, found.shift) == ({}, None)


def test_wrong_tags_explain_the_heads_at_them_and_below_them() -> None:
    found = analyse(GOLD, PREDICTED)
    (near,) = found.near_tag_errors
    assert (near.words, near.wrong_heads, near.errors) == (3, (3,), (3,))
    rows = [(one.gold, one.predicted, one.times, one.wrong_heads, one.errors) for one in found.confusions]
    # The dependents of `bark` are words below a wrong tag; `Dogs` has none.
    assert rows == [("VERB", "NOUN", (1,), (3,), (3,)), ("NOUN", "VERB", (1,), (1,), (1,))]
    assert found.tag_scores[0]["UPOS"] == pytest.approx(10 / 12)


def test_gold_tags_and_no_tags_are_no_tag_errors() -> None:
    bare = [replace(one, sentence=one.sentence.without("upos")) for one in GOLD]
    trees = [one.gold for one in PREDICTED]
    for gold, systems, expected in (
        (GOLD, (trees,), "No tag of a system differs from gold: no error is due to a wrong tag."),
        (GOLD, (bare,), "There are no such tags in the system: which errors are due to wrong tags is not known."),
        (bare, (PREDICTED,), "There are no such tags in gold: which errors are due to wrong tags is not known."),
        (bare, (PREDICTED, bare), "There are no such tags in gold and system b: which errors are due to wrong tags"),
    ):
        found = analyse(gold, *systems)
        assert (found.near_tag_errors, found.confusions, found.tag_scores) == ((), (), ())
        assert expected in as_text("t", report_sections(found))


def test_the_shift_against_the_training_data() -> None:
    shift = analyse(GOLD, PREDICTED, train=TRAIN).shift
    assert shift is not None
    assert (shift.train_words, shift.unknown.words, shift.unknown.errors) == (4, 7, (3,))
    assert shift.label_distance == pytest.approx(0.25)
    first = shift.labels[0]
    assert (first.name, first.train, round(12 * first.here)) == ("obj", 0.25, 1)
    nouns = next(one for one in shift.tags if one.name == "NOUN")
    assert (nouns.train_forms, nouns.forms["dogs"]) == ({"birds": 1.0}, 0.25)


def test_causes_are_ranked_by_the_errors_beyond_the_rate_of_other_words() -> None:
    findings = analyse(GOLD, PREDICTED, train=TRAIN).findings
    tags = findings[0]
    # 3 of 3 words are wrong there, and 2 of the 9 others.
    assert (tags.words, tags.errors, tags.explained) == (3, 3, 2)
    assert tags.cause.startswith("words whose own tag or whose head's tag is wrong; most often NOUN taken for VERB (1)")
    assert any(one.cause == "sentences whose root is wrong (1 of 3)" for one in findings)
    assert [one.explained for one in findings] == sorted((one.explained for one in findings), reverse=True)
    # Of 7 unknown words 3 are wrong, of 5 known ones 2: that is no cause.
    assert not any("training data do not have" in one.cause for one in findings)


def test_patterns_name_both_arcs_and_keep_the_shortest_examples() -> None:
    found = analyse(GOLD, PREDICTED)
    kinds = {(str(one.gold), str(one.predicted)): one for one in found.patterns}
    attachment = kinds["NOUN -nmod-> NOUN", "VERB -obl-> NOUN"]
    assert (attachment.times, attachment.examples[0].word) == ((1,), 6)
    assert attachment.examples[0].to_dict()["sent_id"] == "s1"
    assert ("NOUN <-nsubj- VERB", "root -> VERB") in kinds
    twice = analyse([GOLD[0], GOLD[2], GOLD[2]], [PREDICTED[0], PREDICTED[2], PREDICTED[2]])
    assert [(one.times, [e.sentence for e in one.examples]) for one in twice.patterns] == [((2,), [1, 2]), ((1,), [0])]
    arc = Arc("VERB", "obj", "NOUN", "right")
    assert (arc.beside(arc), arc.beside(arc._replace(label="obl"))) == (f"{arc} (another head)", str(arc))
    assert [str(Arc("root", label, "NOUN", "")) for label in ("root", "dep")] == ["root -> NOUN", "root -dep-> NOUN"]


def test_two_systems_stand_side_by_side_and_are_tested() -> None:
    found = analyse(GOLD, PREDICTED, OTHER)
    assert found.total.errors == (5, 1)
    assert found.comparison["LAS"].bootstrap.difference.score == pytest.approx(4 / 12)
    assert found.comparison["LAS"].mcnemar is not None
    assert [one.times for one in found.patterns] == [(1, 1), (1, 0), (1, 0), (1, 0), (1, 0)]
    assert found.near_tag_errors[1].words == 0
    text = as_text("t", report_sections(found, names=["old", "new"]))
    assert "System a is old, system b is new. Of b, 1 of 12 words have a wrong head or label, 1 a wrong head." in text
    assert [line.split() for line in text.split("\n") if line.startswith("nsubj ")] == [
        ["nsubj", "3", "50.00", "100.00", "+50.00", "100.00", "100.00", "33.33", "100.00", "2", "0"]
    ]
    assert "Fewer in b\n" in text
    assert "More in b\n" not in text


@steady
@given(corpora())
def test_all_counts_agree_with_the_scores(drawn: tuple[list[Example], list[list[Tree]]]) -> None:
    gold, (trees,) = drawn
    assume(any(head >= 0 for item in gold for head in item.gold.heads[1:]))
    found = analyse(gold, trees, train=gold)
    counted = found.scores[0].counts
    assert found.total.words == counted.words
    assert found.total.wrong_heads == (counted.words - counted.right_heads,)
    assert sum(one.times[0] for one in found.patterns) == found.total.errors[0]
    for kind in ("arc length", "position", "sentence length"):
        assert sum(one.words for one in found.groups[kind]) == counted.words
        assert sum(one.errors[0] for one in found.groups[kind]) == found.total.errors[0]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["total"]["words"] == counted.words


def test_no_errors_leave_nothing_to_fix() -> None:
    found = analyse(GOLD, GOLD)
    assert (found.findings, found.patterns) == ((), ())
    assert "0 of 12 words have a wrong head or label, 0 a wrong head.\n" in as_text("t", report_sections(found))


def test_reports_escape_words_tags_and_labels() -> None:
    words, tags = "<script>x</script> a|b ```` &amp;", "<b> N|N _*_ X"
    gold = [example(words, [2, 0, 2, 2], "n<i>sub root obj o|b", upos=tags)]
    predicted = [example(words, [0, 1, 1, 1], 'root d"ep obj obj', upos=tags)]
    found = analyse(gold, predicted, train=gold)
    page = as_html("<i>", report_sections(found, names=["<u>"]))
    for raw in ("<script", "<i>", "<u>", "<b> ", "<b>N", 'd"ep', "src=", "href=", "url("):
        assert raw not in page, raw
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert ElementTree.fromstring(page[page.index("<body>") : page.index("</html>")]).tag == "body"
    assert page.count("http") == page.count('xmlns="http://www.w3.org/2000/svg"') + page.count("http-equiv")
    text = as_markdown("t", report_sections(found))
    assert "<script>" not in text.replace("\n".join(fenced(text)), "")
    rows = [line for line in text.split("\n") if line.startswith("| o\\|b ")]
    assert rows
    assert "\n`````text\n" in text


def fenced(text: str) -> Sequence[str]:
    """Return the lines within code blocks, whose text has no meaning."""
    lines, found, is_inside = text.split("\n"), [], False
    for line in lines:
        if line.startswith("```"):
            is_inside = not is_inside
        elif is_inside:
            found.append(line)
    return found


def test_wrong_arcs_and_tags_are_marked() -> None:
    found = analyse(GOLD, PREDICTED)
    text = as_text("t", report_sections(found, examples=3))
    assert "glasses  nmod *" in text
    assert "glasses  obl *" in text
    page = as_html("t", report_sections(found, examples=3))
    # Each of the five wrong words in the gold and in the predicted tree; the roots among them have no arc.
    assert page.count('stroke="#c1121f"') == 8
    assert page.count('fill="#c1121f">VERB<') == page.count('fill="#c1121f">NOUN<') == 1


def test_what_cannot_be_analysed_is_said() -> None:
    with pytest.raises(DataError) as error:
        analyse(GOLD[2:], [example("Birds fly", [2, 0], "nsubj root")])
    assert str(error.value) == (
        "sentence 1: expected 'sing' as word 2, as in gold, found 'fly'; score predictions for the same words in the "
        "same order; 'treetune evaluate' scores a system with other tokens than gold"
    )
    with pytest.raises(DataError, match="expected gold trees, found no head"):
        analyse([Example(GOLD[2].sentence, Tree.unknown(2))], PREDICTED[2:])
    with pytest.raises(DataError, match="expected training data with at least one sentence, found none"):
        analyse(GOLD, PREDICTED, train=[])
    with pytest.raises(ConfigError, match="unknown column 'feats'; known: upos, xpos"):
        analyse(GOLD, PREDICTED, column="feats")
