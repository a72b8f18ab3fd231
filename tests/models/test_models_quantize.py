"""Smaller models that say nearly the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import treetune
from pipeline_samples import small_pipeline
from treetune.corpus.rawtext import raw_text
from treetune.errors import ConfigError
from treetune.evaluation.alignment import evaluate_text
from treetune.models.graph.parser import GraphParser
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.sample import generate


def test_a_quantized_pipeline_is_smaller_and_nearly_as_good(tmp_path: Path) -> None:
    gold = generate(80, seed=70)
    text = raw_text(example.sentence for example in gold)
    scores, sizes = [], []
    for number, pipeline in enumerate((small_pipeline(), quantize(small_pipeline(), prune=0.0))):
        treetune.save(pipeline, tmp_path / str(number))
        sizes.append((tmp_path / str(number)).stat().st_size)
        again = treetune.load(tmp_path / str(number))
        assert again(text) == pipeline(text)
        scores.append(evaluate_text(gold, again(text)))
        treetune.save(again, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / str(number)).read_bytes()
    assert sizes[1] < sizes[0]
    for metric in ("UPOS", "LAS"):
        assert scores[1][metric] == pytest.approx(scores[0][metric], abs=0.03)


def test_pruning_makes_it_smaller_still() -> None:
    sizes = []
    for prune in (0.0, 0.1, 0.5):
        parser = quantize(small_pipeline(), prune=prune).parser
        assert parser is not None
        sizes.append(parser.weights.rows)  # type: ignore[attr-defined]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_other_parts_stay_as_they_are() -> None:
    parser = GraphParser()
    pipeline = quantize(Pipeline(small_pipeline().tokenizer, parser=_trained(parser)))
    assert pipeline.parser is parser
    assert pipeline.tokenizer is small_pipeline().tokenizer


def _trained(parser: GraphParser) -> GraphParser:
    for _ in treetune.train(parser, generate(10, seed=1), epochs=1):
        pass
    return parser


def test_a_wrong_share_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^prune must be at least 0 and less than 1, found 1$"):
        quantize(small_pipeline(), prune=1)
