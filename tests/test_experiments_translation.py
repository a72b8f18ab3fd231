"""The translation experiment: BLEU counts, tuning, alignments in another order, and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import translation_report

CELL = {"mean": 12.34, "sd": 0.56, "raw": [12.0, 12.7], "not_monotone": 0.25, "lengths": [1.0, 2.0]}
RECORD: dict[str, Any] = {
    "commit": "0123456789abcdef",
    "dirty": False,
    "date": "2026-01-02",
    "versions": {"python": "3.11.1"},
    "machine": {"cpu": "Test CPU", "cores": 2, "system": "Linux"},
    "languages": {
        "tr": {
            "pairs": {"train": 20000, "dev": 300, "test": 800},
            "rules": "tr",
            "signature": "nrefs:1|tok:none",
            "lengths": [[1, 5], [6, 10_000]],
            "sentences_by_length": [300, 500],
            "systems": {"baseline": {"0": CELL, "10": {**CELL, "mean": 11.0}}, "hand-written rules": {"10": CELL}},
            "comparisons": [
                {
                    "better": "hand-written rules",
                    "worse": "baseline",
                    "limits": [10, 0],
                    "difference": 1.34,
                    "p_values": [0.001, 0.2],
                }
            ],
        }
    },
}


def test_the_page_shows_what_was_measured() -> None:
    page = translation_report.page(RECORD)
    assert "| hand-written rules | 12.3 ± 0.6 |" in page
    assert "| baseline | 12.3 ± 0.6 (25 %) | 11.0 ± 0.6 (25 %) |" in page
    # A limit without a run stays empty.
    assert "| hand-written rules |  | 12.3 ± 0.6 (25 %) |" in page
    assert "| hand-written rules, limit 10 | baseline, limit 0 | +1.3 | 0.001, 0.200 |" in page
    assert "| BLEU by English words | 1–5 | 6 and more |" in page
    assert "Pairs: train 20,000, dev 300, test 800. Hand-written rules: `tr`. `nrefs:1|tok:none`" in page


def test_the_page_shows_news() -> None:
    found = RECORD["languages"]["tr"]
    news = {**found, "lengths": [[1, 15], [16, 10_000]]}
    page = translation_report.page({**RECORD, "languages": {"tr": {**found, "news": news}}})
    assert "News (NTREX), 800 sentences:" in page
    assert "| BLEU by English words | 1–15 | 16 and more |" in page


def test_the_figure_is_the_same_for_the_same_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra 'plots'")
    for name in ("a.svg", "b.svg"):
        translation_report.draw(RECORD, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "Turkish, hand-written rules" in (tmp_path / "a.svg").read_text()


def test_the_page_of_the_docs_is_that_of_the_results() -> None:
    stored = Path(translation_report.__file__).parent / "results" / "translation.json"
    if not stored.is_file():
        pytest.skip("no results are stored: python -m experiments.translation run")
    record = json.loads(stored.read_text(encoding="utf-8"))
    assert (translation_report.DOCS / "translation.md").read_text(encoding="utf-8") == translation_report.page(record)


class TestEngine:
    """What needs the extra; skipped aloud without it."""

    @pytest.fixture(autouse=True)
    def needs_the_extra(self) -> None:
        pytest.importorskip("thot.translation", reason="needs the extra 'translation'")

    def test_bleu_is_that_of_sacrebleu(self) -> None:
        bleu_module = pytest.importorskip("sacrebleu.metrics.bleu", reason="needs the extra 'translation'")
        from experiments.tuning import bleu, bleu_counts

        outputs = ["a b c d e f", "x a b c d", "a a a a a a a"]
        references = ["a b c d e g", "a b c d", "a a a a b b"]
        counts = [bleu_counts(o.split(), r.split()) for o, r in zip(outputs, references, strict=True)]
        expected = bleu_module.BLEU(tokenize="none", force=True).corpus_score(outputs, [references]).score
        assert 100 * bleu(np.sum(counts, axis=0)) == pytest.approx(expected)
        assert bleu(np.array(bleu_counts([], ["a"]), dtype=float)) == 0
        assert bleu(np.array(bleu_counts(["b"], ["a"]), dtype=float)) == 0

    def test_tuning_finds_the_feature_that_tells_right_from_wrong(self) -> None:
        from experiments.phrase_based import START, Output
        from experiments.tuning import bleu_counts, tune

        right, wrong = tuple("abcde"), tuple("vwxyz")
        # By the start weights the wrong one is better; the second feature says which is right.
        good = Output(right, (0.0, 0.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0), is_monotone=True)
        bad = Output(wrong, (0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), is_monotone=True)
        asked: list[Any] = []

        def n_best(weights: Any) -> list[list[Output]]:
            asked.append(weights)
            return [[good, bad]] * 3

        found = [
            tune(n_best, lambda _, output: bleu_counts(output.words, right), [[bad, good]] * 3, seed=seed)
            for seed in (0, 0, 1)
        ]
        assert np.dot(START, good.features) < np.dot(START, bad.features)
        for weights in found:
            assert np.dot(weights, good.features) > np.dot(weights, bad.features)
            assert weights[-1] == 0
        assert found[0] == found[1]
        assert len(asked) == 3

    def test_invisible_words_are_dropped(self) -> None:
        from experiments.phrase_based import clean

        assert clean("a\u200bb \u200c c ||| d") == ["a", "b", "c", "|", "d"]

    def test_links_as_giza_writes_them(self) -> None:
        from experiments.phrase_based import _giza

        text = _giza(["a", "b"], ["x", "y", "z"], [2, 0, 2])
        assert text == "# 1\nx y z\nNULL ({ 2 }) a ({ }) b ({ 1 3 })\n"

    def test_a_system_translates_and_its_limit_counts(self, tmp_path: Path) -> None:
        from experiments.phrase_based import START, Decoder, train_language_model, train_translation_model

        words = {"dogs": "inu", "cats": "neko", "birds": "tori", "see": "miru", "hear": "kiku"}
        nouns, verbs = list(words)[:3], list(words)[3:]
        triples = [(a, v, b) for a in nouns for v in verbs for b in nouns if a != b]
        sentence, weights = ["dogs", "see", "birds"], (*START[:3], 0.0, *START[4:])
        # No phrase has both words that must change places.
        pairs = [([a, v, b], [words[a], words[b], words[v]]) for a, v, b in triples if [v, b] != sentence[1:]] * 3
        train_language_model(tmp_path / "lm", [[words[a], words[b], words[v]] for a, v, b in triples], [pairs[0][1]])
        orders = [(0, 2, 1)] * len(pairs)
        for name, data, links in (("plain", pairs, None), ("mapped", pairs, orders)):
            train_translation_model(tmp_path / name, data, links)
            decoder = Decoder(tmp_path / name, tmp_path / "lm")
            free, monotone = (decoder.translate([sentence], weights, limit)[0] for limit in (6, 0))
            assert (free.words[-1], free.is_monotone) == ("miru", False)
            assert (monotone.words, monotone.is_monotone) == (("inu", "miru", "tori"), True)

    def test_a_parser_is_trained_for_reordering_where_the_table_has_the_language(self) -> None:
        from experiments import translation

        assert translation.ROWS[translation.TREEBANK] in translation.table_rows()
        assert translation.is_possible(translation.TRAINED, "ja")
        assert translation.is_possible(translation.HAND, "hi")
        assert not translation.is_possible(translation.TRAINED, "hi")

    def test_examples_are_the_sentences_that_changed_most(self) -> None:
        pytest.importorskip("sacrebleu", reason="needs the extra 'translation'")
        from experiments import translation

        class Study:
            language = "tr"

            def part(self, name: str, system: str) -> translation.Part:
                target = [list("abcdef"), list("abcdef"), list("abcdef")]
                return translation.Part([["w"] * 7] * 3, target, [range(7)] * 3)

        scorer = translation.Scorer(Study())  # type: ignore[arg-type]
        outputs = {translation.NONE: ["a b c d x y", "a b c d e f", "a b c d"], translation.HAND: ["a b c d e f"] * 3}
        outputs[translation.HAND][1] = "x y z"
        done = {system: [{"seed": 0, "limit": 10, "outputs": found}] for system, found in outputs.items()}
        found = translation.examples(scorer, done)
        assert [one["hand-written rules"] for one in found[:2]] == ["a b c d e f"] * 2
        assert (found[2]["baseline"], found[2]["hand-written rules"]) == ("a b c d e f", "x y z")

    def test_words_of_languages_that_write_spaces(self) -> None:
        from experiments.translation import split_words

        assert split_words("Tom'un evi, (büyük)!") == ["Tom'un", "evi", ",", "(", "büyük", ")", "!"]
        assert split_words("वह जा रहा है।") == ["वह", "जा", "रहा", "है", "।"]
