"""Adaptation as a user meets it: the embedded English model, plain words in, few answers, some of them wrong.

The result file is written after every run, and a benchmark that was stopped goes on there. Three domains: questions of
ATIS; questions of GUM; texts of GUM that say how to do something (``whow``). The English model has seen none of them.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import treetune
from benchmarks import measure
from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Example, Sentence, Tree
from treetune.learning.adaptation import adapt
from treetune.learning.answers import Answers
from treetune.learning.questions import ask

RESULTS = Path(__file__).parent / "results" / "adaptation.json"
SEEDS = (1, 2, 3)
PACKAGES = ("numpy", "numba")
METRICS = ("LAS", "UAS", "root")
WRONG = 0.1
# Sentences that `ask` chooses from.
POOL = 1000


def only(example: Example, words: Iterable[int]) -> Answers:
    """Return the gold answers about some words."""
    kept, gold = set(words), example.gold
    heads = tuple(head if word in kept else UNKNOWN_HEAD for word, head in enumerate(gold.heads))
    labels = tuple(label if word in kept else UNKNOWN_LABEL for word, label in enumerate(gold.labels))
    return Answers(Sentence.of(example.sentence.forms[1:]), Tree(heads, labels))


def main_verbs(examples: Sequence[Example]) -> list[Answers]:
    """Return the marks of main verbs."""
    return [only(example, example.gold.roots) for example in examples]


def random_arcs(examples: Sequence[Example], seed: int, arcs: int = 3) -> list[Answers]:
    """Return main verbs and a few arcs of each sentence."""
    draw = random.Random(seed)
    found = []
    for example in examples:
        others = [word for word in range(1, len(example.gold.heads)) if example.gold.heads[word]]
        found.append(only(example, (*example.gold.roots, *draw.sample(others, min(arcs, len(others))))))
    return found


def asked(pipeline: Any, examples: Sequence[Example], count: int) -> list[Answers]:
    """Return the answers to the questions that `ask` chooses."""
    by_forms = {example.sentence.forms: example for example in examples}
    sentences = [Sentence.of(example.sentence.forms[1:]) for example in examples]
    found = []
    for one in ask(pipeline, sentences, count=count):
        example = by_forms[one.sentence.forms]
        found.append(only(example, (*example.gold.roots, *(question.word for question in one.questions[1:]))))
    return found


def full_trees(examples: Sequence[Example], answers: int) -> list[Answers]:
    """Return whole trees with no more words than there are answers."""
    found, words = [], 0
    for example in examples:
        words += len(example.sentence)
        if words > answers:
            break
        found.append(only(example, range(1, len(example.gold.heads))))
    return found


def with_wrong(answers: Sequence[Answers], seed: int) -> tuple[list[Answers], set[int]]:
    """Return marks of which some are moved to another word, and which."""
    draw = random.Random(seed)
    wrong = set(draw.sample(range(len(answers)), round(WRONG * len(answers))))
    found = list(answers)
    for index in wrong:
        words = [word for word in range(1, len(answers[index].sentence) + 1) if word != answers[index].main_verb]
        found[index] = answers[index].with_main_verb(draw.choice(words))
    return found, wrong


class Domain(NamedTuple):
    """Sentences to annotate, and others to test on."""

    train: list[Example]
    test: list[Example]


def domains(data: Path) -> dict[str, Domain]:
    """Return the domains by name."""
    questions, ud = data / "questions", data / "ud"

    def read(folder: Path, name: str) -> list[Example]:
        return list(treetune.read_trees(folder / f"{name}.conllu"))

    gum = {part: read(ud, f"en_gum-{part}") for part in ("train", "test")}
    of_gum = {part: {one.sentence.forms for one in examples} for part, examples in gum.items()}
    how_to = {part: [one for one in examples if _is_how_to(one.sentence)] for part, examples in gum.items()}
    return {
        "ATIS": Domain(read(questions, "atis-train"), read(questions, "atis-test")),
        "questions of GUM": Domain(
            *([one for one in read(questions, f"target-{part}") if one.sentence.forms in of_gum[part]] for part in gum)
        ),
        "how-to texts of GUM": Domain(how_to["train"], how_to["test"]),
    }


def _is_how_to(sentence: Sentence) -> bool:
    return any(comment.startswith("# sent_id = GUM_whow") for comment in sentence.comments)


def conditions(pipeline: Any, train: Sequence[Example], *, all_of_them: bool) -> dict[str, Callable[[int], Any]]:
    """Return what is annotated, by name, as functions of the seed."""

    def drawn(seed: int, count: int) -> list[Example]:
        return random.Random(seed).sample(train, min(count, len(train)))

    made: dict[str, Callable[[int], Any]] = {}

    def add(name: str, annotate: Callable[..., Any], *amounts: int) -> None:
        made[name] = lambda seed: annotate(seed, *amounts)

    for count in (50, 200):
        add(f"{count} main verbs, random", lambda seed, n: main_verbs(drawn(seed, n)), count)
        add(f"{count} sentences × 4 answers, ask", lambda seed, n: asked(pipeline, drawn(seed, POOL), n), count)
        if not all_of_them:
            continue
        add(f"{count} main verbs, in file order", lambda _, n: main_verbs(train[:n]), count)
        add(f"{count} sentences × 4 answers, random", lambda seed, n: random_arcs(drawn(seed, n), seed), count)
        for answers in (count, 4 * count):
            add(f"full trees of {answers} words", lambda seed, n: full_trees(drawn(seed, 200), n), answers)
    if all_of_them:
        add("200 main verbs, random, a tenth wrong", lambda seed: with_wrong(main_verbs(drawn(seed, 200)), seed))
    return made


def scores(pipeline: Any, gold: Sequence[Example]) -> dict[str, float]:
    """Return the scores of a model on plain words, in per cent."""
    sentences = [Sentence.of(example.sentence.forms[1:]) for example in gold]
    trees = [parsed.tree for parsed in pipeline.parse(sentences, threads=2)]
    found = treetune.evaluate(gold, trees)
    return {metric: round(100 * found[metric], 2) for metric in METRICS}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", default="", help="annotations whose names have this in them")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run what is missing, and return the record."""
    path = arguments.out or RESULTS
    pipeline = treetune.load("en")
    home, home_dev = (
        list(treetune.read_trees(arguments.data / "ud" / f"en_ewt-{part}.conllu")) for part in ("train", "dev")
    )
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"start": {}, "runs": []}
    record = {"benchmark": "adaptation", **measure.provenance(PACKAGES), "start": found["start"], "runs": found["runs"]}
    record["start"].setdefault("EWT dev", scores(pipeline, home_dev))
    done = {(one["domain"], one["annotation"], one["seed"]) for one in record["runs"]}
    for domain, (train, test) in domains(arguments.data).items():
        record["start"].setdefault(domain, scores(pipeline, test))
        for seed in SEEDS:
            for name, make in conditions(pipeline, train, all_of_them=domain == "ATIS").items():
                if (domain, name, seed) in done or arguments.only not in name:
                    continue
                one = {"domain": domain, "annotation": name, "seed": seed, "commit": record["commit"]}
                one |= _one(pipeline, make(seed), home, seed, {"test": test, "EWT dev": home_dev})
                record["runs"].append(one)
                measure.write_json(path, record)
                measure.say(f"{domain}, {name}, seed {seed}: {one['test']}")
    return record


def _one(pipeline: Any, made: Any, home: list[Example], seed: int, gold: dict[str, list[Example]]) -> dict[str, Any]:
    """Adapt the model once, and test it."""
    answers, wrong = made if isinstance(made, tuple) else (made, None)
    wall, cpu = time.monotonic(), time.process_time()
    found = adapt(pipeline, answers, home=home, seed=seed, threads=2)
    taken = {"seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu}
    described: dict[str, Any] = {name: round(value, 1) for name, value in taken.items()}
    described |= {name: scores(found.pipeline, examples) for name, examples in gold.items()}
    if wrong is not None:
        doubted = {doubt.number - 1 for doubt in found.doubts}
        described["wrong_marks"] = {"count": len(wrong), "found": len(wrong & doubted), "doubted": len(doubted)}
    report = found.to_dict()
    return described | {"report": {key: report[key] for key in report if key not in ("doubtful", "conventions")}}
