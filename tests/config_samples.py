"""What the tests of `experiments/` share: its modules, a folder of generated treebanks, parsers with a known skill."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treetune.corpus import write_conllu
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.sample import treebank

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
FILES = {
    "en_ewt": ("train", "dev", "test"),
    "en_gum": ("train", "test"),
    "cs_cltt": ("train", "dev", "test"),
    "cs_fictree": ("dev", "test"),
    "cs_pud": ("test",),
}


class Laboratory:
    """The modules of `experiments/` by name, imported as its scripts import each other."""

    def __getattr__(self, name: str) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(EXPERIMENTS))
            return importlib.import_module(name)


lab = Laboratory()


def write_treebanks(folder: Path, *, sizes: tuple[int, int, int] = (40, 15, 15)) -> Path:
    """Write generated English under the names of the real treebanks."""
    train, dev, test = sizes
    (folder / "ud").mkdir(parents=True)
    for seed, (name, parts) in enumerate(FILES.items()):
        made = treebank(train=train, dev=dev, test=test, seed=seed)
        for part in parts:
            write_conllu(getattr(made, part), folder / "ud" / f"{name}-{part}.conllu")
    (folder / "questions").mkdir()
    kinds: dict[str, tuple[str, ...]] = {"source": ("declarative",), "target": ("yes-no", "wh"), "atis": ("wh",)}
    for seed, (name, chosen) in enumerate(kinds.items()):
        made = treebank(train=train, dev=dev, test=test, seed=seed, kinds=chosen)
        for part in ("train", "test"):
            write_conllu(getattr(made, part), folder / "questions" / f"{name}-{part}.conllu")
    return folder


@pytest.fixture(name="small_data", scope="session")
def small_data_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebanks(tmp_path_factory.mktemp("small"))


@dataclass
class Oracle:
    """A parser that knows gold and gives each word its own head with the probability `skill`, else a wrong one."""

    gold: Sequence[Example]
    skill: float
    seed: int

    def predict_batch(self, sentences: Sequence[Sentence]) -> list[Tree]:
        draw = np.random.default_rng(self.seed)
        assert [example.sentence for example in self.gold] == list(sentences)
        return [self._tree(example.gold, draw) for example in self.gold]

    def _tree(self, gold: Tree, draw: np.random.Generator) -> Tree:
        right = draw.random(len(gold)) < self.skill
        heads = [
            head if ok else (word + 1) % (len(gold) + 1)
            for word, (head, ok) in enumerate(zip(gold.heads[1:], right, strict=True), start=1)
        ]
        return Tree.of(heads, gold.labels[1:])
