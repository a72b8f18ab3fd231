"""``treetune demo``: a parser learns from generated English; no file is read or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from treetune.build import Parser, make_parser
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
    from treetune.sample.generate import treebank

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

    parser = make_parser("transition", beam=BEAM)
    description = f"training on {len(train):,} sentences"
    with progress_bar(description, total=EPOCHS * len(train), quiet=quiet) as advance:
        for _ in epoch_ends(train_steps(parser, train, epochs=EPOCHS, seed=seed), advance):
            pass
    trees = {kind: _predict(parser, examples) for kind, examples in tests.items()}
    return _Run(len(train), trees, {kind: score(tests[kind], trees[kind]) for kind in tests})


def _predict(parser: Parser, examples: list[Example]) -> list[Tree]:
    return parser.predict_batch([example.sentence for example in examples])


def _text(runs: list[_Run], tests: dict[str, list[Example]]) -> str:
    counts = " and ".join(f"{len(examples)} {kind}" for kind, examples in tests.items())
    header = ["sentences learned from", *(f"{kind} {name}" for kind in tests for name in SHOWN)]
    rows = [
        [f"{run.size:,}", *(percent(run.scores[kind][name]) for kind in tests for name in SHOWN)]
        for run in runs
    ]
    lines = [f"English made by a grammar; scores on {counts}, none of them learned from.", ""]
    lines.append(format_table(header, rows, left=()))
    return "\n".join([*lines, "", *_before_and_after(runs[0], runs[-1], tests["questions"])])


def _before_and_after(first: _Run, last: _Run, questions: list[Example]) -> list[str]:
    """Draw the first question that the last parser has right and the first one has not."""
    answers = zip(questions, first.trees["questions"], last.trees["questions"], strict=True)
    for example, before, after in answers:
        if before != example.gold == after:
            wrong = _wrong(example.gold, before)
            return [
                f"After {first.size:,} sentences ({len(wrong)} wrong, marked *):",
                draw_tree(example.sentence, before, marked=wrong),
                "",
                f"After {last.size:,} sentences (as it should be):",
                draw_tree(example.sentence, after),
            ]
    return []


def _wrong(gold: Tree, found: Tree) -> frozenset[int]:
    pairs = zip(gold.arcs(), found.arcs(), strict=True)
    return frozenset(expected[1] for expected, arc in pairs if expected != arc)
