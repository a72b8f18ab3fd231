"""Adaptation of a trained parser by a few answers: safe by default.

All choices are made by cross-validation on the answers themselves, and the model stays as it was unless held-out
answers are significantly more often right. Against forgetting, sentences of the home domain are learned along, and the
result is drawn towards the weights of the start.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, check_minimum
from treetune.learning.adaptation_outcome import (
    FEW_SENTENCES,
    SETTINGS,
    Adaptation,
    Doubt,
    HeldOut,
    Home,
    Setting,
    TrialProgress,
)
from treetune.learning.answers import Answers, complete, with_head
from treetune.learning.conventions import Convention, settle_conventions
from treetune.learning.objectives import Objective
from treetune.learning.trainer import train
from treetune.models.base import Parser
from treetune.models.learning_options import DEFAULT_SEED, MIRA, LearningOptions
from treetune.models.pipeline import Pipeline

Say = Callable[[str], None]
Watch = Callable[[TrialProgress], None]
# Words by the number of their sentence.
Doubtful = dict[int, list[int]]

# Sentences of the home domain per answered sentence: in cross-validation, and in the final training.
HOME_RATE_TRIAL, HOME_RATE = 1, 8
# Sentences of the home domain on which it is watched.
WATCHED = 500
# The share of the start in the weights, and what is tried next if more is lost, or at once if there are no sentences of
# the home domain.
START_SHARE, MORE_OF_START = 0.25, (0.5, 0.75)
# Answers that contradict the rest are learned in this share of the passes.
DOUBTFUL_WEIGHT = 0.25
# An answer is doubtful if a model that learned from others prefers a tree without it by more than the margin that MIRA
# asks for one wrong arc.
DOUBTFUL_MARGIN = 1.0
CURVE = (0.25, 0.5)


CONSISTENT, DOUBTFUL, NO_CANDIDATE, UNREACHABLE = "consistent", "doubtful", "no candidate found", "unreachable"


def adapt(
    model: Pipeline | Parser,
    answers: Sequence[Answers],
    *,
    home: Sequence[Example] | Sequence[Sentence] = (),
    convention: Convention = "auto",
    settings: Sequence[Setting] = SETTINGS,
    folds: int = 4,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    say: Say = lambda line: None,
    watch: Watch = lambda progress: None,
) -> Adaptation:
    """Adapt the parser of a model to answers about sentences of another domain.

    Args:
        model: A pipeline with a parser, or a parser.
        answers: What is known of the sentences (`learning.answers.read_answers`). Tags are those of the model.
        home: Sentences of the home domain: a treebank, or sentences without trees, of which the model's own are taken.
        convention: What the mark of a main verb means; see `learning.conventions`.
        settings: What to choose from.
        folds: Of the cross-validation; fewer if there are fewer sentences.
        seed: For all that is drawn at random.
        threads: For trials side by side; the result does not depend on it.
        say: Is called with a line of text as the work goes on.
        watch: Is called after each fold of the cross-validation.
    """
    check_minimum("folds", folds, 2)
    check_minimum("threads", threads, 1)
    if len(answers) < 2:
        raise DataError(f"expected answers about 2 sentences or more, to learn from and test on, found {len(answers)}")
    pipeline = Pipeline.of(model)
    parser = pipeline.parser
    if parser is None or not hasattr(parser, "learner"):
        raise ConfigError("expected a model with a parser that can be trained further")
    run = _Run(pipeline, parser, answers, home, convention, seed, threads, say, watch)
    return run.adapt(settings, min(folds, len(answers)))


@dataclass(frozen=True)
class _Trial:
    """The trees of held-out sentences, and the words of which the answers are doubtful."""

    trees: list[Tree]
    doubtful: Doubtful


class _Run:
    """One adaptation."""

    def __init__(
        self,
        pipeline: Pipeline,
        parser: Parser,
        answers: Sequence[Answers],
        home: Sequence[Example] | Sequence[Sentence],
        convention: Convention,
        seed: int,
        threads: int,
        say: Say,
        watch: Watch,
    ) -> None:
        self.pipeline, self.parser, self.seed, self.threads = pipeline, parser, seed, threads
        self.say, self.watch, self.trials_done, self.trials_in_all = say, watch, 0, 0
        tagged = pipeline.tag([one.sentence for one in answers], threads=threads)
        self.given = [replace(one, sentence=sentence) for one, sentence in zip(answers, tagged, strict=True)]
        self.start_trees = parser.predict_batch(tagged, threads=threads)
        self.answers, self.reasons, self.conventions = settle_conventions(self.given, self.start_trees, convention)
        self.trees = complete(parser, self.answers, threads=threads)
        self.has_trees = bool(home) and isinstance(home[0], Example)
        self.home, self.watched = self._home(home)

    def _home(self, home: Sequence[Any]) -> tuple[list[Example], list[Example]]:
        """Return sentences of the home domain to learn along, and others to watch."""
        order = np.random.default_rng(self.seed).permutation(len(home))
        watched = min(WATCHED, len(home) // 2)
        chosen = [home[index] for index in order[: watched + HOME_RATE * max(WATCHED, len(self.answers))]]
        sentences = [one.sentence if isinstance(one, Example) else one for one in chosen]
        tagged = self.pipeline.tag(sentences, threads=self.threads)
        if self.has_trees:
            trees = [one.gold for one in chosen]
        else:
            trees = self.parser.predict_batch(tagged, threads=self.threads)
        examples = [Example(sentence, tree) for sentence, tree in zip(tagged, trees, strict=True)]
        return [one for one in examples[watched:] if one.gold.is_complete], examples[:watched]

    def adapt(self, settings: Sequence[Setting], folds: int) -> Adaptation:
        """Choose a setting by cross-validation, and train with it if that is worth it."""
        fold_of = np.random.default_rng([self.seed, 1]).permutation(len(self.answers)) % folds
        self.trials_in_all = (len(settings) + len(CURVE)) * folds + 1
        jobs = [(setting, fold, 1.0) for setting in settings for fold in range(folds)]
        self.say(f"cross-validation of {len(settings)} settings on {len(self.answers)} sentences in {folds} folds")
        trials = self._trials(jobs, fold_of)
        before = self._right(self.start_trees)
        answered = tuple(len(one) for one in self.answers)
        afters = {setting: self._right(trials[setting, 1.0].trees) for setting in settings}
        setting = max(settings, key=lambda one: sum(afters[one]))
        held_out = HeldOut(before, afters[setting], answered)
        for one in settings:
            self.say(f"{one}: {sum(afters[one])} of {sum(answered)} held-out answers right, {sum(before)} before")
        more = self._trials([(setting, fold, part) for part in CURVE for fold in range(folds)], fold_of)
        curve = [(0, held_out.accuracy("before"))]
        for part in (*CURVE, 1.0):
            right = sum(self._right((trials | more)[setting, part].trees))
            curve.append((round(part * len(self.answers) * (folds - 1) / folds), right / sum(answered)))
        doubtful = trials[setting, 1.0].doubtful
        adapted, home = self.parser, None
        if held_out.is_better:
            self.say(f"training on all answers: {setting}")
            adapted, home = self._final(setting, doubtful)
            if home.is_harmed:
                adapted = self.parser
        after = adapted.predict_batch([one.sentence for one in self.answers], threads=self.threads)
        changed = [
            (one, old, new) for one, old, new in zip(self.given, self.start_trees, after, strict=True) if old != new
        ]
        return Adaptation(
            pipeline=self.pipeline.with_parser(adapted),
            is_adapted=held_out.is_better and not (home is not None and home.is_harmed),
            setting=setting,
            trials=tuple((one, sum(afters[one])) for one in settings),
            held_out=held_out,
            counts=self._counts(doubtful),
            doubts=tuple(self._doubts(doubtful)),
            conventions=tuple(self.conventions),
            curve=tuple(curve),
            home=home,
            changed=tuple(changed),
        )

    def _right(self, trees: Sequence[Tree]) -> tuple[int, ...]:
        return tuple(len(one) - one.wrong(tree) for one, tree in zip(self.answers, trees, strict=True))

    def _trials(self, jobs: Sequence[tuple[Setting, int, float]], fold_of: Any) -> dict[tuple[Setting, float], _Trial]:
        """Try settings on some of the sentences outside a fold, and test them on those in it."""

        def trial(job: tuple[Setting, int, float]) -> tuple[list[int], _Trial]:
            setting, fold, part = job
            others = np.flatnonzero(fold_of != fold).tolist()
            parser = self._trained(setting, others[: max(1, round(part * len(others)))], {}, HOME_RATE_TRIAL, 0.0)
            held_out = np.flatnonzero(fold_of == fold).tolist()
            trees = parser.predict_batch([self.answers[index].sentence for index in held_out])
            doubtful = {
                index: words
                for index, tree in zip(held_out, trees, strict=True)
                if part == 1.0 and (words := self._doubtful(parser, index, tree))
            }
            return held_out, _Trial(trees, doubtful)

        found: dict[tuple[Setting, float], _Trial] = {}
        tested: dict[tuple[Setting, float], list[int]] = {}
        with ThreadPoolExecutor(self.threads) as pool:
            for (setting, _, part), (held_out, one) in zip(jobs, pool.map(trial, jobs), strict=True):
                mine = found.setdefault((setting, part), _Trial(list(self.start_trees), {}))
                mine.doubtful.update(one.doubtful)
                tested.setdefault((setting, part), []).extend(held_out)
                for index, tree in zip(held_out, one.trees, strict=True):
                    mine.trees[index] = tree
                learned = round(part * (len(self.answers) - len(held_out)))
                self._report(str(setting), learned, mine.trees, tested[setting, part])
        return found

    def _report(self, setting: str, learned: int, trees: Sequence[Tree], tested: Sequence[int]) -> None:
        """Tell how a setting does on the held-out sentences of the folds that are done."""
        self.trials_done += 1
        pairs = [(self.answers[index], trees[index]) for index in tested]
        marked = [one.main_verb in tree.roots for one, tree in pairs if one.main_verb]
        self.watch(
            TrialProgress(
                self.trials_done, self.trials_in_all, setting, learned,
                sum(one.wrong(tree) for one, tree in pairs) / max(1, sum(len(one) for one, _ in pairs)),
                sum(marked) / len(marked) if marked else None,
            )
        )  # fmt: skip

    def _doubtful(self, parser: Parser, index: int, tree: Tree) -> list[int]:
        """Return the words whose answers contradict both the start and, by a wide margin, what other answers teach."""
        one = self.answers[index]
        pairs = ((word, one.known.heads[word]) for word in one.words)
        others = (self.start_trees[index].heads, tree.heads)
        wrong = [word for word, head in pairs if head >= 0 and all(heads[word] != head for heads in others)]
        if not wrong or self.trees[index] is None or not _is_mira(parser):
            return wrong if self.trees[index] is not None else []
        best = parser.k_best(one.sentence, 1)[0].score
        return [word for word in wrong if best - _score_with(parser, one, word) > DOUBTFUL_MARGIN]

    def _trained(
        self, setting: Setting, learned: Sequence[int], doubtful: Doubtful, rate: float, start_share: float
    ) -> Parser:
        """Return the parser after learning from some of the answers, less from doubtful ones."""
        clear = [(index, self.answers[index], self.trees[index]) for index in learned if index not in doubtful]
        for index in doubtful:
            one = self.answers[index]
            for word in doubtful[index]:
                one = one.without(word)
            clear.append((index, one, complete(self.parser, [one])[0]))
        objectives = self._objectives("answers", setting, [(one, tree) for _, one, tree in clear])
        if not objectives:
            return self.parser
        whole = [(self.answers[index], self.trees[index]) for index in doubtful]
        objectives += self._objectives("doubtful answers", setting, whole, weight=DOUBTFUL_WEIGHT)
        if home := self.home[: math.ceil(rate * len(clear) * setting.epochs)]:
            objectives.append(Objective(home, name="home", rate=rate))
        parser = copy.copy(self.parser)
        first, *others = objectives
        treebank = first.data if first.is_intrinsic else ()
        training = train(
            parser, treebank, objectives=others if first.is_intrinsic else objectives, epochs=setting.epochs,
            seed=self.seed, warm_start=True, start_share=start_share, **_step(self.parser, setting.step),
        )  # fmt: skip
        for _ in training:
            pass
        return parser

    def _objectives(
        self, name: str, setting: Setting, pairs: Sequence[tuple[Answers, Tree | None]], weight: float | None = None
    ) -> list[Objective]:
        """Return the objectives of some answers, with trees that contain them."""
        usable = [(one, tree) for one, tree in pairs if len(one) and tree is not None]
        found = []
        if usable and setting.method != "inline ranker":
            found.append(Objective([Example(one.sentence, tree) for one, tree in usable], name=name, weight=weight))
        if usable and setting.method != "forced decoding":
            items = [(one.sentence, one) for one, _ in usable]
            found.append(Objective(items, contradicted, name=f"{name}, ranked", weight=weight))
        return found

    def _final(self, setting: Setting, doubtful: Doubtful) -> tuple[Parser, Home]:
        is_safe = bool(self.home) and len(self.answers) >= FEW_SENTENCES
        shares = (START_SHARE, *MORE_OF_START) if is_safe else MORE_OF_START
        everything = range(len(self.answers))
        for share in shares:
            parser = self._trained(setting, everything, doubtful, HOME_RATE, share)
            home = self._watch(parser)
            if not home.loses_much:
                break
            is_last = share == shares[-1]
            then = "no nearer to the start is tried" if is_last else "again, nearer to the start"
            self.say(f"the home domain loses {home.lost:.2f} points of {home.measure}; {then}")
        cast: Any = parser
        cast.calibration = getattr(self.parser, "calibration", None)
        return parser, home

    def _watch(self, parser: Parser) -> Home:
        """Return the accuracy at home before and after."""
        if self.has_trees and self.watched:
            before, after = (_attached(one, self.watched, self.threads) for one in (self.parser, parser))
            return Home("LAS", before, after)
        # What the start was sure of, where nobody said otherwise.
        examples = self.watched or [
            Example(one.sentence, tree)
            for one, tree in zip(self.answers, self.start_trees, strict=True)
            if not one.wrong(tree)
        ]
        return Home("agreement", 100.0, _attached(parser, examples, self.threads) if examples else 100.0)

    def _counts(self, doubtful: Doubtful) -> dict[str, int]:
        kinds = [self._kind(index, doubtful) for index in range(len(self.answers))]
        return {kind: kinds.count(kind) for kind in (CONSISTENT, DOUBTFUL, NO_CANDIDATE, UNREACHABLE)}

    def _kind(self, index: int, doubtful: Doubtful) -> str:
        if self.trees[index] is None:
            return NO_CANDIDATE if self.answers[index].excluded else UNREACHABLE
        return DOUBTFUL if self.reasons[index] or index in doubtful else CONSISTENT

    def _doubts(self, doubtful: Doubtful) -> list[Doubt]:
        reasons = {
            DOUBTFUL: "contradicts both the model and what the other answers teach",
            NO_CANDIDATE: "no tree among the best has none of the excluded heads",
            UNREACHABLE: "no tree of this parser contains the answers",
        }
        found = []
        for index, one in enumerate(self.given):
            kind = self._kind(index, doubtful)
            if kind != CONSISTENT:
                reason = self.reasons[index] or reasons[kind]
                (tree,) = complete(self.parser, [one])
                found.append(Doubt(index + 1, one.sentence, reason, self.start_trees[index], tree))
        return found


def contradicted(sentence: Sentence, output: Tree, reference: Answers) -> float:
    """Return the share of the answers that a tree contradicts."""
    return reference.wrong(output) / len(reference)


def _attached(parser: Parser, examples: Sequence[Example], threads: int) -> float:
    """Return the share of words with the right head and label, in per cent."""
    trees = parser.predict_batch([one.sentence for one in examples], threads=threads)
    right = words = 0
    for example, tree in zip(examples, trees, strict=True):
        gold = example.gold
        words += len(gold)
        right += sum(
            gold.heads[word] == tree.heads[word] and gold.labels[word] == tree.labels[word]
            for word in range(1, len(gold.heads))
        )
    return 100 * right / words if words else 100.0


def _score_with(parser: Parser, answers: Answers, word: int) -> float:
    """Return the score of the best tree in which one word has the head that is given."""
    only = with_head(Tree.unknown(len(answers.sentence)), word, answers.known.heads[word])
    return parser.k_best(answers.sentence, 1, constraint=only)[0].score


def _is_mira(parser: Parser) -> bool:
    trained_by: Any = getattr(parser, "trained_by", {})
    return bool(trained_by.get("learner") == MIRA)


def _step(parser: Parser, part: float) -> LearningOptions:
    """Return the options for a part of the step that a parser was trained with; a perceptron has one step only."""
    trained_by: Any = getattr(parser, "trained_by", {})
    return {"clip": part * trained_by["clip"]} if _is_mira(parser) and trained_by.get("clip") and part != 1 else {}
