"""What the tests of `experiments/` and `benchmarks/` share: a folder of generated data, parsers with a known skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treetune.corpus import iob_tags, write_conllu, write_iob
from treetune.corpus.orders import Ordered, WordOrder, write_orders
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.spans import Span
from treetune.corpus.tags import Tagged, Tags
from treetune.reorder import Reorderer, load_rules
from treetune.sample import generate, treebank

FILES = {
    "en_ewt": ("train", "dev", "test"),
    "en_gum": ("train", "dev", "test"),
    "en_pud": ("test",),
    "en_atis": ("test",),
    "cs_cltt": ("train", "dev", "test"),
    "cs_fictree": ("dev", "test"),
    "cs_pud": ("test",),
}
QUESTIONS: dict[str, tuple[str, ...]] = {"source": ("declarative",), "target": ("yes-no", "wh"), "atis": ("wh",)}


def write_treebanks(folder: Path, *, sizes: tuple[int, int, int] = (40, 15, 15)) -> Path:
    """Write generated English under the names of the real treebanks."""
    train, dev, test = sizes
    (folder / "ud").mkdir(parents=True)
    for seed, (name, parts) in enumerate(FILES.items()):
        made = treebank(train=train, dev=dev, test=test, seed=seed)
        for part in parts:
            write_conllu(getattr(made, part), folder / "ud" / f"{name}-{part}.conllu")
    (folder / "questions").mkdir()
    for seed, (name, chosen) in enumerate(QUESTIONS.items()):
        made = treebank(train=train, dev=dev, test=test, seed=seed, kinds=chosen)
        for part in ("train", "dev", "test"):
            write_conllu(getattr(made, part), folder / "questions" / f"{name}-{part}.conllu")
    return folder


def write_data(folder: Path, *, sizes: tuple[int, int, int] = (40, 15, 15)) -> Path:
    """Write generated data of every kind that the tables read."""
    write_treebanks(folder, sizes=sizes)
    for name in ("unlabeled", "unlabeled-web"):
        lines = [" ".join(example.sentence.forms[1:][:-1]) + "?" for example in generate(40, seed=6)]
        (folder / "questions" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "amalgum").mkdir()
    for seed, name in enumerate(("academic", "bio", "fiction", "interview", "news", "voyage")):
        write_conllu(
            generate(10, seed=40 + seed, kinds=("declarative", "wh")), folder / "amalgum" / f"{name}.conllu.zst"
        )
    (folder / "ner").mkdir()
    for seed, name in enumerate(("uner-train", "uner-test", "wnut17-train", "wnut17-dev", "wnut17-test")):
        write_iob(map(as_entities, generate(sizes[0], seed=20 + seed)), folder / "ner" / f"{name}.iob2")
    (folder / "reorder").mkdir()
    for language in ("ja", "ko", "ar", "fr", "ru", "zh"):
        write_word_orders(folder / "reorder", language)
    (folder / "aligned").mkdir()
    write_word_orders(folder / "aligned", "ja", parts=("train", "test", "test-plain"))
    write_constituents(folder / "ptb_sample")
    (folder / "clusters").mkdir()
    words = sorted({word for example in generate(60, seed=0) for word in example.sentence.forms[1:]})
    lines = [f"{number % 16:06b}\t{word}\t1\n" for number, word in enumerate(words)]
    (folder / "clusters" / "en.txt").write_text("".join(lines))
    return folder


def write_constituents(folder: Path) -> None:
    """Write constituency trees: who saw whom, some with what no rule covers."""
    folder.mkdir()
    for part, count in (("wsj-train", 60), ("wsj-dev", 10), ("wsj-test", 20), ("wsj", 1)):
        lines = []
        for number in range(count):
            who, what = ("Ann", "Bob", "Eve")[number % 3], ("dog", "house", "idea", "tree")[number % 4]
            uncovered = "(X (FW qua))" if number % 5 == 0 else ""
            phrase = f"(NP (DT the) (JJ old) (NN {what}))" if number % 2 else f"(NP (NNP {what}))"
            lines.append(f"( (S (NP-SBJ (NNP {who})) (VP (VBD saw) {phrase} {uncovered}) (. .)) )\n")
        (folder / f"{part}.mrg").write_text("".join(lines))


def as_entities(example: Example) -> Tagged:
    """Every proper noun is a person."""
    words = [word for word, tag in enumerate(example.sentence.upos) if tag == "PROPN"]
    sentence = Sentence.of(example.sentence.forms[1:])
    return Tagged(sentence, Tags(iob_tags([Span(word, word + 1, "PER") for word in words], len(sentence))))


def write_word_orders(folder: Path, language: str, *, parts: Sequence[str] = ("train", "test")) -> None:
    """Write sentences in the order that the hand-written rules make; the fourth has a single aligned word."""
    reorderer = Reorderer(load_rules(language))
    for seed, part in enumerate(parts, start=5):
        examples = generate(25, seed=seed)
        orders = [WordOrder(reorderer.order(one.sentence, one.gold)) for one in examples]
        orders[3] = WordOrder((1,))
        items = [Ordered(one.sentence, order, one.gold) for one, order in zip(examples, orders, strict=True)]
        write_orders(items, folder / f"en-{language}-{part}.jsonl")
        write_conllu(examples, folder / f"en-{language}-{part}.conllu")


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
