"""A base parser: its trees are those of the parser, and what it leaves out is what plain lists say."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Sentence, Tree
from treetune.corpus.tags import tagged
from treetune.errors import ConfigError, DataError, ModelError, TreetuneError
from treetune.learning.calibration import calibrate
from treetune.learning.uptraining import DISAGREEMENT, DOUBT, IMPOSSIBLE, NARROW, BaseParser, agreement, run_program
from treetune.models.confidence import calibration_of
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(60, seed=1)
DATA = generate(30, seed=2)
SENTENCES = [example.sentence for example in DATA]


@cache
def parser(epochs: int = 1) -> TransitionParser:
    return TransitionParser(beam=4).fit(TREEBANK[: 20 * epochs], epochs=epochs)


@cache
def calibrated() -> TransitionParser:
    found = copy.copy(parser())
    found.calibration, _, _ = calibrate(found, DATA, k=5)
    return found


def base(**options: object) -> BaseParser:
    return BaseParser(Pipeline.of(parser()), **options)  # type: ignore[arg-type]


def trees(found: list[Example | str]) -> list[Tree | str]:
    return [one.gold if isinstance(one, Example) else one for one in found]


def test_the_trees_are_those_of_the_parser() -> None:
    expected = parser().predict_batch(SENTENCES)
    assert base().parse(DATA) == [Example(*pair) for pair in zip(SENTENCES, expected, strict=True)]
    assert [one.gold for one in base(threads=2).trees(iter(SENTENCES))] == expected
    assert base().parse([]) == []


def test_a_base_with_a_tagger_replaces_the_tags() -> None:
    tagger = Tagger(columns=("upos", "xpos")).fit(tagged(TREEBANK, ("upos", "xpos")), epochs=1)
    bare = [replace(one, sentence=one.sentence.without("upos", "xpos")) for one in DATA]
    known = tagger.annotate(SENTENCES)
    found = BaseParser(Pipeline(taggers=[tagger], parser=parser())).parse(bare)
    assert [one.sentence.upos for one in found if isinstance(one, Example)] == [one.upos for one in known]
    assert trees(found) == parser().predict_batch(known)


@pytest.mark.parametrize("share", [1.0, 0.8, 0.0])
def test_trees_on_which_two_parsers_agree(share: float) -> None:
    mine, others = parser().predict_batch(SENTENCES), parser(3).predict_batch(SENTENCES)
    found = trees(base(second=Pipeline.of(parser(3)), agreement=share).parse(DATA))
    expected = [
        tree if agreement(tree, other) >= share else DISAGREEMENT for tree, other in zip(mine, others, strict=True)
    ]
    assert found == expected
    assert (DISAGREEMENT in found) == (share > 0)


def test_a_second_parser_without_a_tagger_reads_the_tags_of_the_first() -> None:
    tagger = Tagger(columns=("upos", "xpos")).fit(tagged(TREEBANK, ("upos", "xpos")), epochs=1)
    bare = [replace(one, sentence=one.sentence.without("upos", "xpos")) for one in DATA]
    first = Pipeline(taggers=[tagger], parser=parser())
    found = BaseParser(first, second=Pipeline.of(parser(3)), agreement=0.8).parse(bare)
    both = zip(*(one.predict_batch(tagger.annotate(SENTENCES)) for one in (parser(), parser(3))), strict=True)
    expected = [tree if agreement(tree, other) >= 0.8 else DISAGREEMENT for tree, other in both]
    assert trees(found) == expected
    assert any(isinstance(one, Tree) for one in expected)


def test_the_margin_is_the_lead_over_the_second_best_tree() -> None:
    lists = parser().k_best_batch(SENTENCES, 2)
    leads = [one[0].score - one[1].score for one in lists]
    least = float(np.median(leads))
    found = trees(base(min_margin=least).parse(DATA))
    assert found == [one[0].output if lead >= least else NARROW for one, lead in zip(lists, leads, strict=True)]
    # There is one tree of one word, and no other to beat.
    single = Example(Sentence.of(["Go"], upos=["VERB"]), Tree.of([0], ["root"]))
    assert isinstance(base(min_margin=1e9).parse([single])[0], Example)


def test_the_confidence_is_the_mean_over_the_words() -> None:
    lists = calibrated().k_best_batch(SENTENCES, 5)
    means = [float(np.mean(calibration_of(calibrated()).probabilities(one))) for one in lists]
    least = float(np.median(means))
    found = trees(BaseParser(Pipeline.of(calibrated()), min_confidence=least).parse(DATA))
    assert found == [one[0].output if mean >= least else DOUBT for one, mean in zip(lists, means, strict=True)]
    with pytest.raises(ModelError, match="this parser is not calibrated"):
        base(min_confidence=0.5)


def test_forced_decoding_keeps_what_is_known_and_leaves_out_what_is_impossible() -> None:
    # Another main verb than the parser would choose: the last word.
    forced = [Example(one.sentence, Tree.of([*[UNKNOWN_HEAD] * (len(one.sentence) - 1), 0])) for one in DATA]
    crossing = [number for number, one in enumerate(forced) if len(one.sentence) > 4][:2]
    for number in crossing:
        size = len(forced[number].sentence)
        forced[number] = Example(forced[number].sentence, Tree.of([3, 4, 0, 3, *[UNKNOWN_HEAD] * (size - 4)]))
    found = trees(base().parse(forced, constrained=True))
    assert [number for number, tree in enumerate(found) if tree == IMPOSSIBLE] == crossing
    possible = [number for number in range(len(forced)) if number not in crossing]
    expected = parser().predict_batch(
        [forced[number].sentence for number in possible], constraints=[forced[number].gold for number in possible]
    )
    assert [found[number] for number in possible] == expected
    assert all(tree.heads[-1] == 0 for tree in expected)
    # With two parsers that must agree, both are constrained.
    both = base(second=Pipeline.of(parser())).parse(forced, constrained=True)
    assert trees(both) == found


def test_a_fault_that_is_not_of_the_constraints_is_an_error() -> None:
    broken = replace(DATA[0], gold=Tree.of([0]))
    with pytest.raises(TreetuneError, match="not trained"):
        BaseParser(Pipeline.of(TransitionParser(beam=1))).parse([broken], constrained=True)


def test_agreement_is_over_heads_and_labels() -> None:
    tree = Tree.of([2, 0, 2, 2], ["a", "root", "b", "c"])
    assert agreement(tree, tree) == 1
    assert agreement(tree, Tree.of([2, 0, 2, 3], ["a", "root", "x", "c"])) == 0.5
    assert agreement(Tree.of([]), Tree.of([])) == 1
    with pytest.raises(ValueError, match="zip"):
        agreement(tree, Tree.of([0]))


def test_what_is_refused() -> None:
    tagger = Pipeline(taggers=[Tagger()])
    for pipelines in ({"pipeline": tagger}, {"pipeline": Pipeline.of(parser()), "second": tagger}):
        with pytest.raises(ConfigError, match="expected a base model with a parser, found one without"):
            BaseParser(**pipelines)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"agreement: expected a share from 0 to 1, found 1\.5"):
        base(agreement=1.5)


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_a_program_turns_a_file_into_another(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"a\n" * 300_000)
    run_program(python("import sys; sys.stdout.write(sys.stdin.read().upper())"), source, target)
    assert target.read_bytes() == b"A\n" * 300_000
    # One that has read enough is no failure.
    run_program(python("print('done')"), source, target)
    assert target.read_text().strip() == "done"


def test_a_program_that_fails_writes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"a\n" * 300_000)
    with pytest.raises(DataError) as caught:
        run_program(python("import sys; print('half'); sys.exit(3)"), source, target)
    assert str(caught.value) == f"{source}: the base program {sys.executable!r} ended with status 3"
    with pytest.raises(DataError, match="was ended by SIGKILL"):
        run_program(python("import os; os.kill(os.getpid(), 9)"), source, target)
    source.chmod(0o644)
    with pytest.raises(ConfigError) as wrong:
        run_program([str(source)], source, target)
    assert str(wrong.value) == f"the base program {str(source)!r} cannot be run: Permission denied"
    with pytest.raises(DataError, match="expected a file, found nothing under this name"):
        run_program(python("print()"), tmp_path / "none", target)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
