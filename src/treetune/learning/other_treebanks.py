"""The treebanks that a pipeline is trained on besides its own, as parsed text: objectives without a loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from treetune.corpus.sentence import ABSENT, Example, Sentence
from treetune.corpus.tags import tagged, tags_of
from treetune.errors import ConfigError
from treetune.learning.objectives import Objective


@dataclass(slots=True)
class OtherTreebanks:
    """Other treebanks; `predicted` are their sentences with predicted tags, which the parser will see."""

    objectives: list[Objective]
    predicted: list[Sequence[Sentence]] = field(init=False)

    def __post_init__(self) -> None:
        for one in self.objectives:
            if one.cost is not None:
                raise ConfigError(f"{one.name}: a pipeline learns from other treebanks, without a loss; leave it out")
        self.predicted = [[example.sentence for example in _examples(one)] for one in self.objectives]

    def check_starts(self, epochs: int) -> None:
        """Raise ConfigError for a treebank that starts after the last epoch of a part."""
        for one in self.objectives:
            if one.start is not None and one.start > epochs:
                raise ConfigError(
                    f"{one.name}: start is epoch {one.start}, but the last epoch of the tagger or the parser is "
                    f"{epochs}; train longer, or start earlier"
                )

    def annotate(self, tagger: Any, threads: int) -> None:
        """Predict tags by a tagger that has not seen the sentences."""
        self.predicted = [tagger.annotate(sentences, threads=threads) for sentences in self.predicted]

    def examples(self, columns: Sequence[str] = ()) -> list[Example]:
        """Return all sentences that have tags in these columns for every word, with their trees."""
        return [example for one in self.objectives for example in _examples(one) if _is_tagged(example, columns)]

    def replace(self, new: Iterable[Example], columns: Sequence[str] = ()) -> None:
        """Put others in the place of `examples(columns)`, one for one."""
        found = iter(new)
        for number, one in enumerate(self.objectives):
            data = [next(found) if _is_tagged(example, columns) else example for example in _examples(one)]
            self.objectives[number] = replace(one, data=data)

    def for_tagger(self, columns: Sequence[str]) -> list[Objective]:
        """Return what a tagger of these columns learns from."""
        found = [[example for example in _examples(one) if _is_tagged(example, columns)] for one in self.objectives]
        pairs = zip(self.objectives, found, strict=True)
        return [replace(one, data=tagged(examples, columns)) for one, examples in pairs if examples]

    def show_predicted(self, missing: Sequence[str]) -> None:
        """Give all sentences their predicted tags, but those of the columns that are `missing`."""
        for number, (one, sentences) in enumerate(zip(self.objectives, self.predicted, strict=True)):
            pairs = zip(_examples(one), sentences, strict=True)
            data = [replace(example, sentence=sentence.without(*missing)) for example, sentence in pairs]
            self.objectives[number] = replace(one, data=data)


def _examples(objective: Objective) -> Sequence[Example]:
    return cast(Sequence[Example], objective.data)


def _is_tagged(example: Example, columns: Sequence[str]) -> bool:
    if not columns:
        return True
    # A word may have no XPOS; a sentence in which none has was not tagged.
    has_xpos = "xpos" not in columns or any(value != ABSENT for value in example.sentence.xpos[1:])
    return has_xpos and tags_of(example.sentence, columns).is_complete
