"""``treetune demo``: a parser learns from generated English; no file is read or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from treetune.cli.console import Interrupted, progress_bar, write, write_json
from treetune.cli.drawing import draw_tree
from treetune.cli.steps import SHOWN, epoch_ends
from treetune.corpus.sentence import Example, Tree
from treetune.evaluate.metrics import percent
from treetune.evaluate.report import format_table
from treetune.evaluate.scores import Scores
from treetune.evaluate.scores import evaluate as score

SIZES = (10, 100, 2000)
TESTED = 600
EPOCHS = 5
BEAM = 8


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Decides which sentences are made.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write the scores as JSON.")] = False,
) -> None:
    """Train on sentences made by a grammar and show what the parser has learned, in about a minute."""
    from treetune.sample import treebank

    data = treebank(
        train=SIZES[-1], dev=0, test=TESTED, seed=seed, kinds=("declarative", "yes-no", "declarative", "wh")
    )
    tests = _by_kind(data.test)
    try:
        runs = [_run(data.train[:size], tests, seed=seed, quiet=quiet) for size in SIZES]
    except KeyboardInterrupt:
        raise Interrupted("the demo writes no files") from None
    if json:
        write_json({"seed": seed, "beam": BEAM, "epochs": EPOCHS, "runs": [run.content() for run in runs]})
    else:
        write(_text(runs, tests))


@dataclass(frozen=True, slots=True)
class _Run:
    """What a parser trained on `size` sentences makes of the test sentences of each kind."""

    size: int
    trees: dict[str, list[Tree]]
    scores: dict[str, Scores]

    def content(self) -> dict[str, object]:
        found = {kind: {name: scores[name] for name in SHOWN} for kind, scores in self.scores.items()}
        return {"sentences": self.size, "scores": found}


def _by_kind(examples: Sequence[Example]) -> dict[str, list[Example]]:
    statements = [example for example in examples if "# s_type = decl" in example.sentence.comments]
    questions = [example for example in examples if "# s_type = decl" not in example.sentence.comments]
    return {"declaratives": statements, "questions": questions}


def _run(train: list[Example], tests: dict[str, list[Example]], *, seed: int, quiet: bool) -> _Run:
    from treetune.learning.trainer import train as train_steps
    from treetune.models.transition.parser import TransitionParser

    parser = TransitionParser(beam=BEAM)
    description = f"training on {len(train):,} sentences"
    with progress_bar(description, total=EPOCHS * len(train), quiet=quiet) as advance:
        for _ in epoch_ends(train_steps(parser, train, epochs=EPOCHS, seed=seed), advance):
            pass
    trees = {kind: parser.predict_batch([example.sentence for example in examples]) for kind, examples in tests.items()}
    return _Run(len(train), trees, {kind: score(tests[kind], trees[kind]) for kind in tests})


def _text(runs: list[_Run], tests: dict[str, list[Example]]) -> str:
    counts = " and ".join(f"{len(examples)} {kind}" for kind, examples in tests.items())
    rows = [
        (f"{run.size:,} sentences", kind, *(percent(scores[name]) for name in SHOWN))
        for kind in tests
        for run, scores in ((run, run.scores[kind]) for run in runs)
    ]
    table = format_table(("learned from", "scored on", *SHOWN), rows, left=(0, 1))
    head = f"English made by a grammar; scores on {counts}, none of them learned from."
    return "\n".join([head, "", table, *_before_and_after(runs[0], runs[-1], tests["questions"])])


def _before_and_after(first: _Run, last: _Run, questions: list[Example]) -> list[str]:
    """Draw a question that the last parser has right: the one that the first parser has most wrong."""
    answers = zip(questions, first.trees["questions"], last.trees["questions"], strict=True)
    learned = [(example, before) for example, before, after in answers if before != after == example.gold]
    if not learned:
        return []
    example, before = max(learned, key=lambda pair: len(_wrong(pair[0].gold, pair[1])))
    wrong = _wrong(example.gold, before)
    return [
        "",
        " ".join(example.sentence.words),
        "",
        f"after {first.size:,} sentences ({len(wrong)} words wrong, marked *):",
        draw_tree(example.sentence, before, marked=wrong),
        "",
        f"after {last.size:,} sentences (as it should be):",
        draw_tree(example.sentence, example.gold),
    ]


def _wrong(gold: Tree, found: Tree) -> frozenset[int]:
    pairs = zip(gold.arcs(), found.arcs(), strict=True)
    return frozenset(expected[1] for expected, arc in pairs if expected != arc)
