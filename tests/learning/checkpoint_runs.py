"""Small trainings that keep checkpoints, all at once: a program, so that it can be killed.

python checkpoint_runs.py FOLDER resumes all of them in turn, one report at a time, and says so on a line each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from treetune import Objective, train
from treetune.learning.pipeline_training import PipelineProgress, train_pipeline
from treetune.learning.progress import Progress
from treetune.losses import Attachment, Root
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(24, seed=4, kinds=("declarative",))
QUESTIONS = generate(11, seed=5, kinds=("yes-no", "wh"))
DEV = generate(10, seed=6)
EPOCHS = 5


def objectives() -> list[Objective]:
    return [
        Objective(QUESTIONS, Root(), rate=0.5, k=2, start=2, word_dropout=0.3, margin_updates=True),
        Objective(QUESTIONS[:4], Attachment(), search="forced", rate=0.75, start=3, dev=QUESTIONS),
        Objective(QUESTIONS[4:7], name="more trees", start=2),
        Objective(QUESTIONS[5:], name="weighted trees", weight=0.3, start=1),
    ]


# How a parser is made, and how it is trained.
RUNS: dict[str, tuple[Callable[[], Parser], Callable[[], dict[str, Any]]]] = {
    "perceptron": (
        lambda: TransitionParser(beam=3),
        lambda: {"objectives": objectives(), "dev": DEV, "learner": "perceptron"},
    ),
    "mira": (
        lambda: TransitionParser(beam=3),
        lambda: {"objectives": objectives(), "learner": "mira", "dev": DEV, "choose_by": "attachment loss"},
    ),
    # Its draws depend on how far it has come.
    "greedy": (lambda: TransitionParser(beam=1), lambda: {"objectives": objectives()[:1]}),
    "graph": (GraphParser, lambda: {"objectives": objectives(), "dev": DEV}),
    "mixed": (lambda: TransitionParser(beam=3), lambda: {"objectives": objectives(), "dev": DEV, "shards": 3}),
    "mixed-graph": (GraphParser, lambda: {"objectives": objectives(), "shards": 2, "mixes": 2}),
}


def start(
    name: str, model: Parser, checkpoint: Path | None, *, resume: bool = False, **changes: Any
) -> Iterator[Progress]:
    options: dict[str, Any] = {"treebank": TREEBANK, "epochs": EPOCHS, "seed": 3, **RUNS[name][1](), **changes}
    return train(model, checkpoint=checkpoint, resume=resume, **options)


def new_pipeline() -> Pipeline:
    return Pipeline(Tokenizer(), [Tagger()], TransitionParser(beam=1))


def start_pipeline(pipeline: Pipeline, **changes: Any) -> Iterator[PipelineProgress]:
    options: dict[str, Any] = {
        "treebank": TREEBANK, "dev": DEV, "folds": 2, "tokenizer_epochs": 3,
        "tagger_options": {"epochs": 2}, "parser_options": {"epochs": 2}, **changes,
    }  # fmt: skip
    return train_pipeline(pipeline, **options)


def main(folder: Path) -> None:
    left: dict[str, Iterator[Any]] = {name: start(name, RUNS[name][0](), folder / name, resume=True) for name in RUNS}
    left["pipeline"] = start_pipeline(new_pipeline(), checkpoint=folder / "pipeline", resume=True)
    while left:
        for name in list(left):
            report = next(left[name], None)
            if report is None:
                del left[name]
            else:
                sys.stdout.write(f"{name}\n")
                sys.stdout.flush()
                # Not so fast that there is no moment to be killed at.
                time.sleep(0.002)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
