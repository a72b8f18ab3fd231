"""Pipelines that are trained on other treebanks too, and the conversion of these to the conventions of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_learning_checkpoints import contents

from treetune import train
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.tags import tagged
from treetune.errors import ConfigError
from treetune.learning.conversion import Conversion, convert_tags, convert_trees
from treetune.learning.objectives import Objective
from treetune.learning.other_treebanks import OtherTreebanks
from treetune.learning.pipeline_training import PipelineProgress, train_pipeline
from treetune.learning.progress import Progress
from treetune.losses import Root
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(150, seed=1)
OTHERS = generate(120, seed=2)
COLUMNS = ("upos", "xpos")


def renamed_tags(example: Example) -> Example:
    """All nouns are called N2, and articles have another tag than here, whatever its own."""
    sentence = example.sentence
    tags = [
        "N2" if tag == "NOUN" else "X" if form.lower() in ("the", "a") else tag
        for form, tag in zip(sentence.forms, sentence.upos, strict=True)
    ]
    return replace(example, sentence=replace(sentence, upos=tuple(tags)))


def renamed_labels(example: Example) -> Example:
    labels = [{"nsubj": "subject", "det": "punct"}.get(label, label) for label in example.gold.labels]
    return replace(example, gold=Tree(example.gold.heads, tuple(labels)))


def trainer(model: Any, examples: Sequence[Any], stage: str) -> Iterator[Progress]:
    return train(model, examples, epochs=4)


def converted(steps: Iterator[Progress | Conversion]) -> Conversion:
    *_, last = steps
    assert isinstance(last, Conversion)
    return last


def errors(found: Sequence[Sequence[str]], expected: Sequence[Sequence[str]]) -> float:
    pairs = [pair for one, other in zip(found, expected, strict=True) for pair in zip(one, other, strict=True)]
    return sum(one != other for one, other in pairs) / len(pairs)


def test_tags_of_another_convention_are_converted_back() -> None:
    strange = [renamed_tags(example) for example in OTHERS]
    found = converted(convert_tags(Tagger(columns=COLUMNS), TREEBANK, strange, trainer))
    assert found.columns == COLUMNS
    expected, before = ([one.sentence.upos for one in examples] for examples in (OTHERS, strange))
    # A tagger that knows nothing of the other tags makes more than half as many errors again.
    plain = Tagger(columns=COLUMNS).fit(tagged(TREEBANK, COLUMNS), epochs=4).annotate([one.sentence for one in OTHERS])
    assert errors(before, expected) > 0.3
    assert errors([one.sentence.upos for one in found.examples], expected) < 0.6 * errors(
        [one.upos for one in plain], expected
    )
    # Nothing else is touched.
    for one, other in zip(found.examples, strange, strict=True):
        assert one.gold == other.gold
        assert replace(one.sentence, upos=(), xpos=()) == replace(other.sentence, upos=(), xpos=())


def test_trees_of_another_convention_are_converted_back() -> None:
    strange = [renamed_labels(example) for example in OTHERS]
    found = converted(convert_trees(TransitionParser(beam=1), TREEBANK, strange, trainer))
    assert found.columns == ()
    expected, before = ([one.gold.labels for one in examples] for examples in (OTHERS, strange))
    plain = TransitionParser(beam=1).fit(TREEBANK, epochs=4).predict_batch([one.sentence for one in OTHERS])
    assert errors(before, expected) > 0.2
    assert errors([one.gold.labels for one in found.examples], expected) < 0.6 * errors(
        [tree.labels for tree in plain], expected
    )
    left = sum(one.gold.labels.count("subject") for one in found.examples)
    assert left <= 0.1 * sum(labels.count("subject") for labels in before)
    assert [one.sentence for one in found.examples] == [one.sentence for one in strange]


def test_only_sentences_with_all_tags_of_the_columns_train_a_tagger() -> None:
    bare = replace(OTHERS[1], sentence=OTHERS[1].sentence.without("xpos"))
    others = OtherTreebanks([Objective([OTHERS[0], bare], name="a"), Objective([bare], name="b", weight=2.0)])
    assert others.examples(COLUMNS) == [OTHERS[0]]
    assert others.examples(("upos",)) == [OTHERS[0], bare, bare]
    (one,) = others.for_tagger(COLUMNS)
    assert (one.name, one.data) == ("a", tagged([OTHERS[0]], COLUMNS))
    assert [one.weight for one in others.for_tagger(("upos",))] == [None, 2.0]
    others.replace([OTHERS[2]], COLUMNS)
    assert others.examples() == [OTHERS[2], bare, bare]


def new_pipeline() -> Pipeline:
    taggers = [Tagger(columns=COLUMNS), Tagger(columns=("feats",), inputs=COLUMNS, features="morphology")]
    return Pipeline(taggers=taggers, parser=TransitionParser(beam=1))


def start(pipeline: Pipeline, **changes: Any) -> Iterator[PipelineProgress]:
    options: dict[str, Any] = {
        "treebank": TREEBANK[:24], "folds": 2, "tagger_options": {"epochs": 2}, "parser_options": {"epochs": 2},
        "others": [Objective([renamed_tags(one) for one in OTHERS[:30]], name="other", weight=0.5, start=1)], **changes,
    }  # fmt: skip
    return train_pipeline(pipeline, **options)


@cache
def trained(**changes: Any) -> dict[str, Any]:
    pipeline = new_pipeline()
    stages = list(dict.fromkeys(report.stage for report in start(pipeline, **changes)))
    return {"stages": stages, **{name: contents(part) for name, part in pipeline.parts.items()}}


def test_other_treebanks_change_the_first_tagger_and_the_parser_but_not_the_tagger_of_feats() -> None:
    alone, mixed, converted = trained(others=()), trained(), trained(convert=True)
    assert alone["stages"] == ["jackknife", "tagger", "jackknife2", "tagger2", "parser"]
    assert mixed["stages"] == ["jackknife", "plain", "tagger", "jackknife2", "plain2", "tagger2", "parser"]
    assert [stage for stage in converted["stages"] if stage == "conversion"] == ["conversion"]
    assert len({str(run["tagger1"]) for run in (alone, mixed, converted)}) == 3
    # So small a treebank tells of no reliable change of trees.
    assert alone["parser"] != mixed["parser"] == converted["parser"]
    assert alone["tagger2"] == mixed["tagger2"] == converted["tagger2"]


def test_sentences_without_tags_train_the_parser_alone_and_are_converted_too() -> None:
    bare = [replace(one, sentence=one.sentence.without("upos", "xpos", "feats")) for one in OTHERS[:30]]
    found = trained_with(Objective(bare, name="bare", start=1))
    assert found["tagger1"] == trained(others=())["tagger1"]
    assert found["parser"] != trained(others=())["parser"]


def trained_with(objective: Objective) -> dict[str, Any]:
    pipeline = new_pipeline()
    list(start(pipeline, others=[objective], convert=True))
    return {name: contents(part) for name, part in pipeline.parts.items()}


@pytest.mark.parametrize(
    ("stage", "reports"),
    [
        pytest.param("plain", 1, marks=pytest.mark.slow),
        ("conversion", 3),
        pytest.param("parser", 1, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_training_ends_with_the_same_bytes(stage: str, reports: int, tmp_path: Path) -> None:
    stopped = start(new_pipeline(), convert=True, checkpoint=tmp_path / "c")
    for _ in range(reports):
        while next(stopped).stage != stage:
            pass
    del stopped
    pipeline = new_pipeline()
    list(start(pipeline, convert=True, checkpoint=tmp_path / "c", resume=True))
    expected = trained(convert=True)
    assert {name: contents(part) for name, part in pipeline.parts.items()} == {
        name: expected[name] for name in pipeline.parts
    }


def test_what_is_refused_before_any_training() -> None:
    late = [Objective(OTHERS[:3], name="late", start=3)]
    with pytest.raises(ConfigError) as caught:
        start(new_pipeline(), others=late, parser_options={"epochs": 4})
    assert str(caught.value) == (
        "late: start is epoch 3, but the last epoch of the tagger or the parser is 2; train longer, or start earlier"
    )
    with pytest.raises(ConfigError) as caught:
        start(new_pipeline(), others=[Objective(OTHERS[:3], Root())])
    assert str(caught.value) == "root loss: a pipeline learns from other treebanks, without a loss; leave it out"
