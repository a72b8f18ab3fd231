"""What has to be compiled before a model can be used, in pieces that separate processes can compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from treetune.corpus.sentence import Sentence
from treetune.models.pipeline import Pipeline

# The kernels that take long to compile, by kind of model.
_KERNELS = {
    "transition": ("treetune.models.transition._kernels:parse_range",),
    "graph": ("treetune.models.graph._sentence_kernels:parse_range",),
    "tagger": ("treetune.models.sequence._kernels:tag_range",),
    "tokens": ("treetune.models.tokenizer._kernels:split_chunks",),
    "sentences": ("treetune.models.tokenizer._kernels:split_sentences",),
    "words": ("treetune.models.tokenizer._word_kernels:choose_scripts",),
}
# About how many seconds they take, by which jobs are divided among processes.
_COSTS = {"transition": 6.0, "graph": 9.0, "tagger": 4.5, "tokens": 3.5, "sentences": 1.2, "words": 1.0}
_SENTENCE = Sentence.of(["Time", "flies", "."])


@dataclass(frozen=True, slots=True)
class Job:
    """Work that compiles kernels; `cost` is about how long that takes, in seconds."""

    name: str
    run: Callable[[], object]
    kinds: tuple[str, ...] = ()
    cost: float = 10.0

    @property
    def is_done(self) -> bool:
        """Whether the kernels are on disk already; those of another model of this kind may differ in types."""
        from treetune.features.kernel_cache import is_compiled

        names = [name.split(":") for kind in self.kinds for name in _KERNELS[kind]]
        return bool(names) and all(is_compiled(getattr(import_module(module), name)) for module, name in names)


def prediction_jobs(pipeline: Pipeline, *, text: bool = True) -> Iterator[Job]:
    """Yield the jobs that compile what a pipeline predicts with; without `text` it is given tokens."""
    parts: dict[str, Any] = dict(pipeline.parts)
    for name, part in parts.items():
        kind = part.kind
        if kind == "tokenizer":
            for step in part.steps if text else ():
                yield _job(step, partial(part.compile_kernels, step), (step,))
        elif kind in ("tagger", "lemmatizer"):
            yield _job(name, partial(part.annotate, [_SENTENCE]), ("tagger",))
        elif kinds := tuple(sorted(set(_kinds(part)))):
            yield _job(name, partial(part.predict_batch, [_SENTENCE]), kinds)


def _job(name: str, run: Callable[[], object], kinds: tuple[str, ...]) -> Job:
    return Job(name, run, kinds, sum(_COSTS[kind] for kind in kinds))


def _kinds(part: Any) -> Iterator[str]:
    """Yield the kinds of the parsers in a parser."""
    if part.kind in _KERNELS:
        yield part.kind
    for name in ("base", "main", "second"):
        if (inner := getattr(part, name, None)) is not None and hasattr(inner, "kind"):
            yield from _kinds(inner)
