"""Word orders from parallel text: which pairs are taken, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import treetune
from experiments import data as files
from treetune.corpus.orders import Ordered, WordOrder, read_orders

pytest.importorskip("thot.alignment", reason="needs the extra 'translation'")
pytest.importorskip("sacrebleu", reason="needs the extra 'translation'")

from experiments import aligned_orders

NAMES = ("Ann", "Tom", "Eve", "Bob", "Mary", "John")
VERBS = {"sees": "görür", "hears": "duyar", "loves": "sever"}
NOUNS = {"dogs": "köpek", "cats": "kedi", "birds": "kuş"}


@pytest.fixture(name="parallel")
def parallel_fixture(tmp_path: Path) -> Path:
    """Pairs of a verb-final language: 54 to train on, and two of another part, of which one is not new."""
    lines = [
        f"{name} {verb} {noun}.\t{name} {other} {last} .\n"
        for name in NAMES
        for verb, last in VERBS.items()
        for noun, other in NOUNS.items()
    ]
    folder = tmp_path / "data" / "parallel"
    folder.mkdir(parents=True)
    (folder / "tatoeba-en-tr-train.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "tatoeba-en-tr-dev.tsv").write_text("Ann sees dogs!\tAnn köpek görür .\n\tBoş .\n", encoding="utf-8")
    (folder / "tatoeba-en-tr-test.tsv").write_text("He sees. She hears.\tGörür . Duyar .\n", encoding="utf-8")
    return tmp_path / "data"


def test_pairs_are_distinct(parallel: Path) -> None:
    pairs = list(aligned_orders.distinct_pairs(parallel / "parallel", "tr"))
    assert len(pairs) == 55
    assert pairs[-1] == ("He sees. She hears.", "Görür . Duyar .")


def test_held_out_pairs_are_not_trained_on(parallel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligned_orders, "TEST", 10)
    monkeypatch.setattr(aligned_orders, "TRAIN", 20)
    # So little text is aligned with little confidence.
    monkeypatch.setattr(aligned_orders, "MIN_CONFIDENCE", 0.1)
    found = aligned_orders.make("tr", parallel, tmp_path)
    assert 100 >= found["rules"]["hand-written"] > found["rules"]["none"]
    assert found["single sentences"] == 54
    parts = ("train", "train-all", "test", "test-plain")
    items = {part: list(read_orders(tmp_path / f"en-tr-{part}.jsonl")) for part in parts}
    assert {part: found[part] for part in parts} == {part: len(orders) for part, orders in items.items()}
    assert (found["train"], found["test"]) == (20, 10)
    words = {part: {one.sentence.forms for one in orders} for part, orders in items.items()}
    assert words["train"] < words["train-all"]
    assert not words["train-all"] & (words["test"] | words["test-plain"])
    # Tags and trees stand beside the orders; marks have no place in these.
    examples = list(treetune.read_trees(tmp_path / "en-tr-test.conllu"))
    assert [one.sentence.forms for one in examples] == [one.sentence.forms for one in items["test"]]
    assert all(one.gold.is_complete for one in examples)
    assert all("." not in (one.sentence.forms[word] for word in one.order.words) for one in items["test"])


def test_agreement_is_that_on_words_that_both_orders_have() -> None:
    def items(*orders: Sequence[int]) -> list[Ordered]:
        sentence = treetune.Sentence.of(["a", "b", "c", "d"])
        return [
            Ordered(sentence, WordOrder(tuple(order), confidence=1.0), treetune.Tree.unknown(4)) for order in orders
        ]

    manual = items((2, 1, 3), (1, 2))
    found = aligned_orders.agreement(items((1, 3, 2, 4), (2, 1)), manual)
    # The second has too few words.
    assert (found["pairs"], found["usable"]) == (2, 1)
    assert found["reorder"] == pytest.approx(50)
    assert aligned_orders.agreement([], []) == {"pairs": 0, "usable": 0}


def test_files_that_are_made_stand_in_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config: dict[str, Any] = {"data": {"folder": "ud", "train": ["en"], "tests": ["aligned/en-ja-test"]}}
    monkeypatch.setattr(files, "KEPT", tmp_path / "kept")
    folder = tmp_path / "data"
    made = files.paths(config, folder)
    assert made["aligned/en-ja-test"] == tmp_path / "kept" / "aligned" / "en-ja-test.conllu"
    (folder / "ud").mkdir(parents=True)
    made["en"].write_text("")
    with pytest.raises(SystemExit, match=r"is missing; make it with: python -m experiments\.aligned_orders"):
        files.check(config, folder)
    # As in tests, which have their own.
    (folder / "aligned").mkdir()
    assert files.paths(config, folder)["aligned/en-ja-test"].parent == folder / "aligned"
