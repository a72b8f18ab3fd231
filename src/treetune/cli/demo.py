"""``treetune demo``: a parser of declaratives learns questions by main verbs alone; it reads and writes no file."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.cli.console import Interrupted, progress_bar, write, write_json
from treetune.cli.training_progress import epoch_ends
from treetune.corpus.drawing import draw_tree
from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.evaluation.metrics import percent
from treetune.evaluation.report import format_table
from treetune.evaluation.scores import SHOWN, Scores
from treetune.evaluation.scores import evaluate_trees as score

if TYPE_CHECKING:
    from treetune.models.transition.parser import TransitionParser

STATEMENTS = 1000
QUESTIONS = 300
TESTED = 500
EPOCHS = 4
EPOCHS_TO_ADAPT = 2
BEAM = 8
# The quickest to compile and to train.
LEARNER = "perceptron"


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Decides which sentences are made.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write the scores as JSON.")] = False,
) -> None:
    """Adapt a parser of declaratives to questions by their main verbs alone, in less than a minute."""
    from treetune import sample

    statements = sample.treebank(train=STATEMENTS, dev=0, test=TESTED, seed=seed)
    questions = sample.treebank(train=QUESTIONS, dev=0, test=TESTED, seed=seed, kinds=sample.QUESTIONS)
    show = _Show(tests={"questions": questions.test, "declaratives": statements.test}, seed=seed, quiet=quiet)
    try:
        runs = show.run(statements.train, questions.train)
    except KeyboardInterrupt:
        raise Interrupted("the demo writes no files") from None
    if json:
        write_json({"seed": seed, "beam": BEAM, "runs": [run.content() for run in runs]})
    else:
        write(_text(runs, questions.test))


@dataclass(frozen=True, slots=True)
class _Run:
    """What a parser makes of the test sentences of each kind."""

    trained_on: str
    trees: dict[str, list[Tree]]
    scores: dict[str, Scores]

    def content(self) -> dict[str, object]:
        found = {kind: {name: scores[name] for name in SHOWN} for kind, scores in self.scores.items()}
        return {"trained_on": self.trained_on, "scores": found}


@dataclass(frozen=True, slots=True)
class _Show:
    """Three parsers and what they make of the tests."""

    tests: dict[str, list[Example]]
    seed: int
    quiet: bool

    def run(self, statements: list[Example], questions: list[Example]) -> list[_Run]:
        from treetune.learning.objectives import Objective
        from treetune.losses import Root
        from treetune.models.transition.parser import TransitionParser

        first, supervised = TransitionParser(beam=BEAM), TransitionParser(beam=BEAM)
        with _compiled_beside():
            self._train("1/3 declaratives", first, statements, epochs=EPOCHS)
        adapted = copy.copy(first)
        verbs = Objective(
            [_main_verb(example) for example in questions],
            loss=Root(),
            name="main verbs",
            search="forced",
            step="perceptron",
        )
        self._train("2/3 main verbs", adapted, statements, objectives=[verbs], warm_start=True, epochs=EPOCHS_TO_ADAPT)
        self._train("3/3 trees", supervised, statements + questions, epochs=EPOCHS)
        return [
            self._tested(f"{len(statements):,} declaratives", first),
            self._tested(f"and the main verbs of {len(questions):,} questions", adapted),
            self._tested(f"and the whole trees of {len(questions):,} questions", supervised),
        ]

    def _train(self, title: str, parser: TransitionParser, trees: list[Example], **options: Any) -> None:
        from treetune.learning.trainer import train as train_steps

        with progress_bar(title, total=options["epochs"] * len(trees), quiet=self.quiet) as advance:
            for _ in epoch_ends(train_steps(parser, trees, seed=self.seed, learner=LEARNER, **options), advance):
                pass

    def _tested(self, trained_on: str, parser: TransitionParser) -> _Run:
        trees = {
            kind: parser.predict_batch([example.sentence for example in examples])
            for kind, examples in self.tests.items()
        }
        return _Run(trained_on, trees, {kind: score(self.tests[kind], trees[kind]) for kind in trees})


def _main_verb(example: Example) -> Example:
    """Return the example with all that an annotator was asked: which word is the root."""
    heads = tuple(0 if head == 0 else UNKNOWN_HEAD for head in example.gold.heads)
    return Example(example.sentence, Tree.of(heads[1:]))


@contextmanager
def _compiled_beside() -> Iterator[None]:
    """Let another process compile the kernels of parsing while this one compiles those of learning.

    Compiled code is kept on disk, where both find it. Where that fails nothing is lost but time.
    """
    command = [sys.executable, "-c", f"import {__name__} as demo; demo.compile_parsing()"]
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    except OSError:
        yield
        return
    try:
        yield
        process.wait()
    finally:
        process.kill()
        process.wait()


def compile_parsing() -> None:
    """Parse a sentence with weights of an untrained parser, as a trained parser does and as a learner does."""
    from treetune.models.transition.parser import TransitionParser
    from treetune.sample import generate

    examples = generate(2)
    parser = TransitionParser(beam=BEAM)
    learner = parser.learner(examples)
    learner.online_decoder([example.sentence for example in examples]).k_best(0, BEAM)
    learner.install(parser, learner.snapshot())
    parser.predict(examples[0].sentence)


def _text(runs: Sequence[_Run], questions: Sequence[Example]) -> str:
    rows = [
        (run.trained_on, *(percent(scores[name]) for scores in run.scores.values() for name in SHOWN)) for run in runs
    ]
    kinds = [f"{kind}: {name}" if name == SHOWN[0] else name for kind in runs[0].scores for name in SHOWN]
    head = (
        f"English made by a grammar, scored on {TESTED} questions and {TESTED} declaratives that no parser has seen.\n"
        "All that the second parser is told about its questions is which word is the main verb."
    )
    table = format_table(("trained on", *kinds), rows)
    return "\n".join([head, "", table, *_before_and_after(runs[0], runs[1], questions)])


def _before_and_after(first: _Run, adapted: _Run, questions: Sequence[Example]) -> list[str]:
    """Draw the question of which the adapted parser has most more right than the first, the main verb among it."""
    answers = zip(questions, first.trees["questions"], adapted.trees["questions"], strict=True)
    found = [answer for answer in answers if _is_about_the_verb(*answer)]
    if not found:
        return []
    example, before, after = max(found, key=lambda answer: _gain(*answer))
    return [
        "",
        " ".join(example.sentence.forms[1:]),
        "",
        f"by the first parser ({_verdict(example, before)}):",
        draw_tree(example.sentence, before, marked=_wrong(example.gold, before)),
        "",
        f"by the second ({_verdict(example, after)}):",
        draw_tree(example.sentence, after, marked=_wrong(example.gold, after)),
    ]


def _is_about_the_verb(example: Example, before: Tree, after: Tree) -> bool:
    (root,) = example.gold.roots
    return example.sentence.upos[root] == "VERB" and before.roots != (root,) == after.roots


def _gain(example: Example, before: Tree, after: Tree) -> float:
    return (len(_wrong(example.gold, before)) - len(_wrong(example.gold, after))) / len(before)


def _verdict(example: Example, tree: Tree) -> str:
    wrong = len(_wrong(example.gold, tree))
    return f"{wrong} of {len(tree)} words wrong, marked *" if wrong else "as it should be"


def _wrong(gold: Tree, found: Tree) -> frozenset[int]:
    pairs = zip(gold.arcs(), found.arcs(), strict=True)
    return frozenset(expected[1] for expected, arc in pairs if expected != arc)
