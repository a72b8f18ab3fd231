"""The report of an adaptation: what was decided and why, before and after, what was doubtful, what more would bring."""

from __future__ import annotations

from collections.abc import Iterator

from treetune.corpus.sentence import Tree
from treetune.evaluation.sections import Drawing, Panel, Section, Table
from treetune.learning.adaptation_outcome import MORE_ANSWERS, MOST_LOST, Adaptation, Doubt
from treetune.learning.answers import Answers


def decision(found: Adaptation) -> str:
    """Return in one sentence what was done and why."""
    held = found.held_out
    tested = (
        f"on held-out answers {held.accuracy('before'):.1%} were right before and {held.accuracy('after'):.1%} after; "
        f"{held.better} sentences better, {held.worse} worse, p = {held.p_value:.2g}"
    )
    if found.is_adapted:
        return f"adapted by {found.setting}: {tested}"
    if found.home is not None and found.home.is_harmed:
        lost = f"{found.home.lost:.2f} points of LAS, more than {MOST_LOST}"
        return f"kept the model as it was, because the home domain would lose {lost}: {tested}"
    return f"kept the model as it was, because nothing was significantly better (p < {held.level:g}): {tested}"


def report_sections(found: Adaptation, *, examples: int = 10) -> Iterator[Section]:
    """Yield the sections of a report with at most `examples` drawn sentences of each kind."""
    held = found.held_out
    rows = [
        (which, f"{held.accuracy(which):.1%}", "[{:.1%}, {:.1%}]".format(*held.interval(which)))
        for which in ("before", "after")
    ]
    tables = [Table("Held-out answers", ("model", "right", "95 % interval"), rows)]
    if found.home is not None:
        home = found.home
        values = (f"{home.before:.2f}", f"{home.after:.2f}", f"{-home.lost:+.2f}")
        tables.append(Table("Home domain", ("measure", "before", "after", "change"), [(home.measure, *values)]))
    trials = [(str(setting), str(right)) for setting, right in found.trials]
    tables.append(Table("Settings tried", ("setting", "answers right"), trials))
    yield Section("Decision", f"{decision(found).capitalize()}.", tables=tables)
    curve = [(str(count), f"{share:.1%}") for count, share in found.curve]
    more = f"{MORE_ANSWERS} more sentences would likely bring {found.next_gain:+.1%} of the answers."
    yield Section("More answers", more, tables=[Table("", ("sentences learned from", "right"), curve)])
    conventions = [
        (one.construction, one.root, f"{one.marked} of {one.possible}", one.treatment) for one in found.conventions
    ]
    yield Section(
        "Answers",
        tables=[
            Table("", ("sentences", "count"), [(kind, str(count)) for kind, count in found.counts.items()]),
            Table("Main verbs", ("marked", "root by the model", "sentences", "treatment"), conventions, (0, 1, 3)),
        ],
    )
    doubts = [Drawing(f"Sentence {one.number} {one.reason}.", _panels(one)) for one in found.doubts[:examples]]
    yield Section("Answers that are not learned as they are", drawings=doubts)
    if found.is_adapted:
        changed = [
            Drawing("", [_compared("before", one, old), _compared("after", one, new)])
            for one, old, new in found.changed[:examples]
        ]
        yield Section("Sentences that are parsed otherwise now", drawings=changed)


def _panels(one: Doubt) -> list[Panel]:
    named = (("model", one.model_tree), ("answer", one.answer_tree))
    return [Panel(name, one.sentence, tree, frozenset()) for name, tree in named if tree is not None]


def _compared(name: str, answers: Answers, tree: Tree) -> Panel:
    wrong = frozenset(word for word in answers.words if not answers.is_right(word, tree))
    return Panel(name, answers.sentence, tree, wrong)
