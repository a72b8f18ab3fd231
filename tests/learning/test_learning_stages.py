"""Trainings of several stages, as of a pipeline or a stacked parser: stopped anywhere, the model is the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from checkpoint_runs import DEV, TREEBANK, new_pipeline, start_pipeline
from test_learning_checkpoints import OTHER, contents, refusal

from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError
from treetune.learning import pipeline_training
from treetune.learning.checkpoints import remove_checkpoint
from treetune.learning.jackknife import jackknife
from treetune.learning.pipeline_training import PipelineProgress
from treetune.learning.stacking import train_stacked
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.learning.trainer import train
from treetune.models.graph.parser import GraphParser
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition.parser import TransitionParser

OPTIONS: Any = {"epochs": 2}


@cache
def uninterrupted() -> tuple[tuple[str, dict[str, bytes]], int]:
    pipeline = new_pipeline()
    reports = sum(1 for _ in start_pipeline(pipeline))
    return contents(pipeline), reports


def is_resumed(report: PipelineProgress) -> bool:
    of_fold = report.fold.training if report.fold is not None else None
    return any(part is not None and part.resumed for part in (report.tokenizer, report.training, of_fold))


def test_checkpoints_of_a_pipeline_change_nothing_and_are_removed(tmp_path: Path) -> None:
    pipeline = new_pipeline()
    list(start_pipeline(pipeline, checkpoint=tmp_path / "c"))
    assert contents(pipeline) == uninterrupted()[0]
    kept = {str(path.relative_to(tmp_path / "c")) for path in (tmp_path / "c").rglob("*") if path.is_file()}
    stages = ("tokenizer", "jackknife.checkpoint/fold-1", "jackknife.checkpoint/fold-2", "tagger-1", "parser")
    assert kept == {f"{name}.checkpoint" for name in stages}
    # What a killed process has left goes too; what is not ours stays.
    (tmp_path / "c" / ".parser.checkpoint.12ab.part").write_bytes(b"half")
    remove_checkpoint(tmp_path / "c")
    assert not (tmp_path / "c").exists()
    list(start_pipeline(new_pipeline(), checkpoint=tmp_path / "c"))
    (tmp_path / "c" / "notes").write_text("mine")
    remove_checkpoint(tmp_path / "c")
    assert list((tmp_path / "c").iterdir()) == [tmp_path / "c" / "notes"]


MORE = [pytest.param(share, marks=pytest.mark.slow) for share in (0.1, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9)]


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0, *MORE])
def test_a_pipeline_that_was_stopped_is_resumed_to_the_same_model(share: float, tmp_path: Path) -> None:
    expected, count = uninterrupted()
    reports = start_pipeline(new_pipeline(), checkpoint=tmp_path / "c")
    for _ in range(round(share * count)):
        next(reports)
    del reports
    pipeline = new_pipeline()
    resumed = list(start_pipeline(pipeline, checkpoint=tmp_path / "c", resume=True))
    assert contents(pipeline) == expected
    # Each finished epoch is trained once.
    assert any(map(is_resumed, resumed))
    assert len(resumed) < count


def test_an_entity_tagger_is_resumed_and_sees_no_gold_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def noting(model: Any, data: Any, **options: Any) -> Any:
        seen.append(data)
        return train(model, data, **options)

    monkeypatch.setattr(pipeline_training, "train", noting)
    names = [Tags.of("B-X" if tag == "NOUN" else "O" for tag in one.sentence.upos[1:]) for one in [*TREEBANK, *DEV]]
    data = [Tagged(one.sentence, tags) for one, tags in zip([*TREEBANK, *DEV], names, strict=True)]

    def start(pipeline: Pipeline, **more: Any) -> Iterator[PipelineProgress]:
        own = {"entities": data, "entities_dev": data[:9], "tokenizer_epochs": 1}
        return start_pipeline(pipeline, checkpoint=tmp_path / "c", **own, **more)

    def new() -> Pipeline:
        return new_pipeline().with_entity_tagger(Tagger(columns=("ner",), spans=True, inputs=("upos",)))

    whole = new()
    stages = [report.stage for report in start(whole)]
    assert list(dict.fromkeys(stages)) == ["tokenizer", "jackknife", "tagger", "entity_tagger", "parser"]
    assert (tmp_path / "c" / "entity_tagger.checkpoint").is_file()
    # Sentences of the treebank have the tags that the parser sees, others those of the tagger.
    _, known, parsed = seen
    assert [one.sentence.upos for one in known[: len(TREEBANK)]] == [one.sentence.upos for one in parsed]
    assert [one.sentence for one in known[: len(TREEBANK)]] != [one.sentence for one in TREEBANK]
    others = whole.taggers[0].annotate([one.sentence for one in DEV])
    assert [one.sentence.upos for one in known[len(TREEBANK) :]] == [one.upos for one in others]
    reports = start(new())
    for _ in range(stages.index("parser")):
        next(reports)
    del reports
    again = new()
    resumed = [report.stage for report in start(again, resume=True) if is_resumed(report)]
    assert "entity_tagger" in resumed
    assert contents(again) == contents(whole)


def test_a_new_training_removes_the_checkpoints_of_another(tmp_path: Path) -> None:
    list(start_pipeline(new_pipeline(), checkpoint=tmp_path / "c", seed=7))
    reports = start_pipeline(new_pipeline(), checkpoint=tmp_path / "c")
    next(reports)
    del reports
    pipeline = new_pipeline()
    list(start_pipeline(pipeline, checkpoint=tmp_path / "c", resume=True))
    assert contents(pipeline) == uninterrupted()[0]


def test_a_jackknife_is_resumed(tmp_path: Path) -> None:
    def run(**options: Any) -> list[Any]:
        return list(jackknife(partial(TransitionParser, beam=1), TREEBANK, folds=3, epochs=2, **options))

    expected = run()
    reports = jackknife(partial(TransitionParser, beam=1), TREEBANK, folds=3, epochs=2, checkpoint=tmp_path / "c")
    while next(reports).fold < 3:
        pass
    del reports
    resumed = run(checkpoint=tmp_path / "c", resume=True)
    assert resumed[-1].outputs == expected[-1].outputs
    # Of the two finished folds there is one report of the trainer each.
    assert [report.training.resumed for report in resumed if report.training and report.fold < 3] == [True, True]


def test_stacking_is_resumed(tmp_path: Path) -> None:
    def reports(**options: Any) -> Iterator[Any]:
        return train_stacked(
            GraphParser, partial(TransitionParser, beam=1), TREEBANK,
            dev=DEV, folds=2, base_options=OPTIONS, main_options=OPTIONS, **options,
        )  # fmt: skip

    *_, last = reports()
    for stage in ("jackknife", "base", "main"):
        stopped = reports(checkpoint=tmp_path / stage)
        while next(stopped).stage != stage:
            pass
        next(stopped)
        del stopped
        *_, resumed = reports(checkpoint=tmp_path / stage, resume=True)
        assert contents(resumed.model) == contents(last.model), stage


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_tokenizer_is_resumed(epochs: int, tmp_path: Path) -> None:
    expected, stopped, resumed = Tokenizer(), Tokenizer(), Tokenizer()
    ends = list(train_tokenizer(expected, TREEBANK, dev=DEV, epochs=3, checkpoint=tmp_path / "whole"))
    reports = train_tokenizer(stopped, TREEBANK, dev=DEV, epochs=3, checkpoint=tmp_path / "c")
    for _ in range(epochs):
        next(reports)
    del reports
    first, *left = train_tokenizer(resumed, TREEBANK, dev=DEV, epochs=3, checkpoint=tmp_path / "c", resume=True)
    assert (first.epoch, first.resumed, first.dev) == (epochs, True, ends[epochs - 1].dev)
    assert left == ends[epochs:]
    assert contents(resumed) == contents(expected)


def test_what_is_refused(tmp_path: Path) -> None:
    nothing = "expected a checkpoint to resume from, found none"
    assert refusal(lambda: start_pipeline(new_pipeline(), resume=True)) == nothing
    assert refusal(lambda: train_tokenizer(Tokenizer(), TREEBANK, resume=True)) == nothing
    (tmp_path / "file").write_text("")
    assert refusal(lambda: start_pipeline(new_pipeline(), checkpoint=tmp_path / "file")) == (
        f"cannot write the checkpoints to {tmp_path / 'file'}: it is a file; give the name of a folder"
    )
    missing = tmp_path / "none" / "c"
    assert refusal(lambda: start_pipeline(new_pipeline(), checkpoint=missing)) == (
        f"cannot write the checkpoint {missing}: there is no folder {missing.parent}"
    )
    reports = start_pipeline(new_pipeline(), checkpoint=tmp_path / "c")
    next(reports)
    del reports
    for change in ({"seed": 9}, {"treebank": TREEBANK[1:]}, {"dev": DEV[1:]}, {"tokenizer_epochs": 4}):
        other = start_pipeline(new_pipeline(), checkpoint=tmp_path / "c", resume=True, **change)
        assert refusal(partial(list, other)) == OTHER.format(path=tmp_path / "c" / "tokenizer.checkpoint"), change
    # Wrong options show before anything is trained.
    with pytest.raises(ConfigError, match="clip must be more than 0, found -1"):
        start_pipeline(new_pipeline(), parser_options={"clip": -1.0})
