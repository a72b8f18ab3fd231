"""An objective: every option has an effect, every mistake is refused in words, and what it is told is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from linear_model import LinearModel, Space, example, label_of, output, round_robin, sentence

import treetune
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, LossError, TreetuneError
from treetune.learning.objectives import Item, Objective
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.losses import Attachment, Loss, PartialTree, Root, Weighted, ZeroOne

WORDS = ("u", "v", "w")
# Ten outputs an input, each with a feature of its own and some that inputs share.
SPACE: Space = {
    word: {f"y{place}": {f"{word}{place}": 1.0, f"y{place}": 0.5, "odd": float(place % 2)} for place in range(10)}
    for word in WORDS
}
# The model likes y0 best, and y9 least.
LIKED = {f"y{place}": -2.0 * place for place in range(10)}
GOLD = [example(word, "y0") for word in WORDS]


def cost(sentence: Sentence, tree: Tree, reference: Tree) -> float:
    """How many places the output is off."""
    return abs(int(label_of(tree)[1:]) - int(label_of(reference)[1:])) / 10


def wanted(label: str, words: Sequence[str] = WORDS) -> list[Example]:
    return [example(word, label) for word in words]


def run(objectives: Sequence[Objective], **options: Any) -> tuple[LinearModel, list[Progress]]:
    model = LinearModel(SPACE, LIKED, averaged=True)
    return model, list(train(model, objectives=objectives, **{"warm_start": True, "epochs": 3, **options}))


def refusal(attempt: Callable[[], object], kind: type[TreetuneError] = ConfigError) -> str:
    with pytest.raises(kind) as caught:
        attempt()
    assert type(caught.value) is kind
    return str(caught.value)


def test_it_is_one_of_the_public_names() -> None:
    assert treetune.Objective is Objective


def test_it_is_called_after_its_loss() -> None:
    assert Objective(GOLD).name == "trees"
    assert Objective(GOLD, Root()).name == "root loss"
    assert Objective(GOLD, cost).name == "python loss"
    assert Objective(GOLD, cost, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rate": 0.0}, "python loss: rate must be a number above 0, found 0.0"),
        ({"rate": -1.0}, "python loss: rate must be a number above 0, found -1.0"),
        ({"rate": float("nan")}, "python loss: rate must be a number above 0, found nan"),
        ({"rate": float("inf")}, "python loss: rate must be a number above 0, found inf"),
        ({"weight": 0.0}, "python loss: weight must be a number above 0, found 0.0"),
        ({"weight": float("inf")}, "python loss: weight must be a number above 0, found inf"),
        ({"weight": 2.0, "rate": 2.0}, "python loss: weight takes the place of rate; leave one of them out"),
        ({"search": "lists"}, "unknown search 'lists'; known: forced, growing, list (did you mean 'list'?)"),
        ({"step": "wide"}, "unknown step 'wide'; known: mira, perceptron"),
        ({"k": 0}, "python loss: k must be at least 1, found 0"),
        ({"k": 1, "search": "list"}, "python loss: k must be at least 2 to have a choice, found 1"),
        ({"k": 9, "max_k": 8}, "python loss: max_k must be at least k (9), found 8"),
        ({"start": 0}, "python loss: start must be at least 1, the first epoch, found 0"),
        ({"word_dropout": 1.0}, "python loss: word_dropout must be a chance from 0 to less than 1, found 1.0"),
        ({"word_dropout": -0.1}, "python loss: word_dropout must be a chance from 0 to less than 1, found -0.1"),
        ({"loss": None, "word_dropout": 0.5}, "trees: word_dropout is for objectives with a loss"),
        ({"loss": None, "margin_updates": True}, "trees: margin_updates is for objectives with a loss"),
        (
            {"margin_updates": True, "step": "perceptron"},
            'python loss: margin_updates needs a k-best list and step="mira", '
            'found search="growing" and step="perceptron"',
        ),
        (
            {"margin_updates": True, "search": "forced", "loss": Root()},
            'root loss: margin_updates needs a k-best list and step="mira", found search="forced" and step="mira"',
        ),
        ({"name": "mine", "k": 0}, "mine: k must be at least 1, found 0"),
        (
            {"loss": None, "dev": GOLD},
            "trees: gold trees have no cost to measure; give them as the dev of train",
        ),
        ({"loss": Root}, "expected a loss, found the class Root; make one of it: Root()"),
        (
            {"loss": "root"},
            "expected a loss or a function of (sentence, output, reference), found 'root'; "
            "make_loss makes losses from names",
        ),
    ],
)
def test_wrong_options_are_refused_when_it_is_made(options: dict[str, Any], problem: str) -> None:
    assert refusal(lambda: Objective(**{"data": GOLD, "loss": cost, **options})) == problem


def test_options_of_another_search_are_not_asked_about() -> None:
    assert "max_k" not in Objective(GOLD, cost, k=100, search="list").settings()
    assert Objective(GOLD, cost, k=1).settings()["k"] == 1
    assert "k" not in Objective(GOLD, Root(), k=1, max_k=1, search="forced").settings()


@pytest.mark.parametrize(
    ("objectives", "options", "problem"),
    [
        ([], {}, "expected a treebank or an objective to train on, found neither"),
        (
            [Objective(GOLD, cost), Objective(GOLD, cost)],
            {},
            "two objectives are called 'python loss'; give them names of their own",
        ),
        (
            [Objective(GOLD, cost, name="treebank")],
            {"treebank": GOLD},
            "two objectives are called 'treebank'; give them names of their own",
        ),
        ([Objective(GOLD, cost, name="LAS")], {}, "an objective cannot be called LAS: that is a metric"),
        (
            [Objective([(sentence("u"), "y1")], name="mine")],
            {},
            "mine: expected examples with gold trees, or a loss for other references",
        ),
        (
            [Objective(GOLD, cost, search="forced")],
            {},
            "python loss: forced decoding needs a loss that can say what is known, found python, which cannot; "
            'use search="growing"',
        ),
        (
            [Objective(GOLD, cost, start=4)],
            {"treebank": GOLD, "epochs": 3},
            "python loss: start is epoch 4, but the last epoch is 3; train longer, or start earlier",
        ),
        (
            [Objective(GOLD, cost, start=2)],
            {},
            "python loss: the first objective, without a treebank, must start in epoch 1, found 2",
        ),
        (
            [Objective(GOLD, cost, dev=GOLD)],
            {"choose_by": "mine"},
            "the best epoch cannot be chosen by 'mine'; known: UAS, LAS, LA, CLAS, root, root_F1, UCM, LCM, UALS, "
            "LALS, UALS_mean, LALS_mean, python loss",
        ),
        (
            [Objective(GOLD, cost)],
            {"choose_by": "python loss", "dev": GOLD},
            "the best epoch cannot be chosen by 'python loss'; known: UAS, LAS, LA, CLAS, root, root_F1, UCM, LCM, "
            "UALS, LALS, UALS_mean, LALS_mean",
        ),
        (
            [Objective(GOLD, cost, dev=GOLD)],
            {"choose_by": "UAS"},
            "the best epoch cannot be chosen by UAS without dev, examples to measure it on",
        ),
        ([Objective(GOLD, cost)], {"resume": True}, "expected a checkpoint to resume from, found none"),
    ],
)
def test_wrong_options_are_refused_before_training(
    objectives: list[Objective], options: dict[str, Any], problem: str
) -> None:
    assert (
        refusal(lambda: train(LinearModel(SPACE, LIKED), **{"warm_start": True, "objectives": objectives, **options}))
        == problem
    )


def test_an_untrained_model_has_no_warm_start() -> None:
    problem = refusal(lambda: train(LinearModel(SPACE), objectives=[Objective(GOLD, cost)], warm_start=True))
    assert problem == "expected a trained model for a warm start, found one without weights"


NAMED = Sentence(
    **{name: getattr(sentence("v"), name) for name in ("forms", "lemmas", "upos", "xpos", "feats", "misc")},
    comments=("# sent_id = q-7",),
)


@pytest.mark.parametrize(
    ("objective", "problem"),
    [
        (Objective([], cost), "python loss: expected at least one sentence to train on, found none"),
        (Objective([], name="more trees"), "more trees: expected at least one sentence to train on, found none"),
        (
            Objective([GOLD[0], (sentence("v"), "y1")], Root()),
            "root loss: sentence 2: loss root expects a tree as reference, found str",
        ),
        (
            Objective([Example(NAMED, Tree.unknown(1))], Root()),
            "root loss: sentence 1 (sent_id q-7): loss root needs a reference with exactly one root (a word with head "
            "0), found 0",
        ),
        (
            Objective(GOLD, PartialTree(), dev=[*GOLD, (sentence("v"), Tree.unknown(2))]),
            "partial-tree loss: sentence 4 of its dev data: expected a reference tree of 1 words, found 2",
        ),
    ],
)
def test_data_that_cannot_serve_is_refused_before_training(objective: Objective, problem: str) -> None:
    model = LinearModel(SPACE, LIKED)
    assert refusal(lambda: train(model, objectives=[objective], warm_start=True), DataError) == problem
    assert refusal(lambda: train(model, GOLD, objectives=[objective]), DataError) == problem


def test_a_loss_that_fails_says_for_which_sentence() -> None:
    def broken(sentence: Sentence, tree: Tree, reference: Tree) -> float:
        return 1 / 0 if sentence.forms[1] == "w" else 0.0

    problem = refusal(lambda: run([Objective(GOLD, broken)]), LossError)
    assert "failed for the sentence 'w': ZeroDivisionError: division by zero" in problem


def test_examples_and_pairs_say_the_same() -> None:
    pairs: list[Item] = [(sentence(word), output("y1")) for word in WORDS]
    of_pairs, reports = run([Objective(pairs, cost)])
    of_examples, others = run([Objective(wanted("y1"), cost)])
    assert of_pairs.weights == of_examples.weights != LIKED
    assert [report.objectives for report in reports] == [report.objectives for report in others]


def test_a_reference_may_be_anything() -> None:
    model, _ = run([Objective([(sentence(word), None) for word in WORDS], lambda _, tree, __: label_of(tree) != "y1")])
    assert [label_of(model.predict(sentence(word))) for word in WORDS] == ["y1"] * 3


BASE: dict[str, Any] = {"data": wanted("y4"), "loss": cost, "k": 2, "max_k": 4, "name": "base"}


@pytest.mark.parametrize(
    "change",
    [
        {"data": wanted("y1")},
        {"data": wanted("y4", WORDS[:2])},
        {"loss": ZeroOne()},
        {"rate": 0.5},
        {"rate": 2.0},
        {"search": "list"},
        {"search": "forced", "loss": ZeroOne()},
        {"k": 5, "max_k": 5},
        {"max_k": 2},
        {"step": "perceptron"},
        {"start": 2},
    ],
    ids=lambda change: ", ".join(f"{key}={value}" for key, value in change.items() if key != "data") or "data",
)
def test_every_option_changes_what_is_learned(change: dict[str, Any]) -> None:
    models = []
    for options in (BASE, {**BASE, **change}):
        model = LinearModel(SPACE, LIKED, averaged=True)
        for _ in train(model, wanted("y2"), objectives=[Objective(**options)], warm_start=True, epochs=3):
            pass
        models.append(model.weights)
    assert models[0] != models[1]


def test_the_schedule_and_the_learner_change_what_is_learned() -> None:
    objectives = [Objective(wanted("y4"), cost, k=2), Objective(wanted("y1"), cost, k=2, name="other", rate=2)]
    learned = [
        run(objectives, **options)[0].weights
        for options in ({}, {"schedule": round_robin(2)}, {"learner": "mira"}, {"seed": 2}, {"epochs": 4})
    ]
    assert all(learned.count(weights) == 1 for weights in learned)


def test_a_mira_update_leads_by_the_difference_in_cost() -> None:
    """From y0 to the cheapest, which then leads by what y0 costs more."""
    model = LinearModel(SPACE, LIKED)
    # One step, of one epoch over one sentence.
    objective = Objective(wanted("y4", ["u"]), cost, k=8, search="list")
    for _ in train(model, objectives=[objective], warm_start=True, epochs=1, learner="mira"):
        pass
    y0, y4 = (next(c.score for c in model.k_best(sentence("u"), 10) if c.output == output(y)) for y in ("y0", "y4"))
    assert y4 - y0 == pytest.approx(0.4)


@pytest.mark.parametrize("margin_updates", [True, False])
def test_with_margin_updates_all_that_costs_more_is_kept_below_by_as_much(margin_updates: bool) -> None:
    objective = Objective(wanted("y4", ["u"]), cost, k=10, search="list", margin_updates=margin_updates)
    model = LinearModel(SPACE, {"y4": 0.01})
    for _ in train(model, objectives=[objective], warm_start=True, epochs=200, learner="mira"):
        pass
    best, *others = model.k_best(sentence("u"), 10)
    assert best.output == output("y4")
    costs = [cost(sentence("u"), other.output, output("y4")) for other in others]
    kept = [best.score - other.score >= price - 1e-6 for other, price in zip(others, costs, strict=True)]
    assert all(kept) is margin_updates


def test_settings_say_what_has_an_effect() -> None:
    named = Objective(
        wanted("y1"),
        Attachment(labelled=False),
        name="a",
        rate=0.5,
        search="list",
        k=3,
        step="perceptron",
        word_dropout=0.25,
    )
    constrained = Objective(GOLD[:2], Root(), search="forced")
    weighted = Objective(GOLD, Weighted([(2, Root()), (1, ZeroOne())]), margin_updates=True)
    treebank = Objective(GOLD[:1], rate=2)
    assert named.settings() == {
        "name": "a",
        "sentences": 3,
        "rate": 0.5,
        "loss": {"name": "attachment", "labelled": False},
        "search": "list",
        "step": "perceptron",
        "k": 3,
        "word_dropout": 0.25,
    }
    assert constrained.settings() == {
        "name": "root loss", "sentences": 2, "rate": 1.0, "loss": {"name": "root"}, "search": "forced",
        "step": "mira",
    }  # fmt: skip
    growing = {"search": "growing", "k": 8, "max_k": 64, "margin_updates": True}
    assert growing.items() <= weighted.settings().items()
    assert treebank.settings() == {"name": "trees", "sentences": 1, "rate": 2}
    for objective in (named, constrained, weighted, treebank):
        assert json.loads(json.dumps(objective.settings())) == objective.settings()


def test_reports_tell_the_settings_of_all_objectives() -> None:
    objective = Objective(GOLD, cost, k=2, max_k=2)
    _, reports = run([objective], treebank=GOLD, epochs=1)
    assert {json.dumps(report.settings["objectives"]) for report in reports} == {
        json.dumps([
            {"name": "treebank", "sentences": 3, "rate": 1.0, "start": 1},
            {**objective.settings(), "start": 1},
        ])
    }  # fmt: skip
    _, (report, *_) = run([objective], epochs=1)
    assert report.settings["objectives"] == [{**objective.settings(), "start": 1}]
    # Plain training has none.
    model = LinearModel(SPACE, LIKED)
    assert next(train(model, GOLD)).settings == {"learner": "perceptron"}


def test_tallies_count_what_became_of_every_step() -> None:
    # y0 costs nothing for u, y2 can be found for v, nothing better than y0 is in a list of two for w.
    data = [example("u", "y0"), example("v", "y1"), example("w", "y9")]

    def jump(sentence: Sentence, tree: Tree, reference: Tree) -> float:
        return 0.0 if tree == reference else 0.5

    _, reports = run([Objective(data, jump, search="list", k=2, name="jump")], epochs=1)
    (tally,) = reports[-1].objectives
    assert (tally.name, tally.seen, tally.updated, tally.already_best, tally.no_better) == ("jump", 3, 1, 1, 1)
    assert tally.cost == pytest.approx(1 / 3)
    assert tally.target_cost == pytest.approx(0.5 / 3)
    assert tally.dev_cost is None


def test_tallies_of_gold_trees_have_no_cost() -> None:
    _, reports = run([Objective(wanted("y1"), name="more")], treebank=wanted("y0"), epochs=1)
    for tally in reports[-1].objectives:
        assert tally.seen == tally.updated + tally.already_best == 3
        assert (tally.no_better, tally.cost, tally.target_cost, tally.dev_cost) == (0, None, None, None)


def test_an_objective_that_has_not_started_has_done_nothing() -> None:
    _, reports = run([Objective(wanted("y1"), cost, start=2)], treebank=GOLD, epochs=2)
    ends = [report.objectives[1] for report in reports if report.is_epoch_end]
    assert [tally.seen for tally in ends] == [0, 3]
    assert (ends[0].cost, ends[0].target_cost) == (None, None)
    assert ends[1].cost is not None


def test_dev_costs_are_those_of_the_weights_of_the_epoch() -> None:
    dev = wanted("y4", ["v"])
    objective = Objective(wanted("y4", ["u"]), cost, k=2, max_k=16, dev=dev)
    for epochs in (1, 2, 3):
        model, reports = run([objective], epochs=epochs)
        (tally,) = reports[-1].objectives
        assert tally.dev_cost == cost(sentence("v"), model.predict(sentence("v")), output("y4"))
        assert [report.objectives[0].dev_cost is None for report in reports] == [
            not report.is_epoch_end for report in reports
        ]


class Falling(Loss[Tree, list[float]]):
    """On dev, the next of the costs that the reference has left."""

    name = "falling"

    def __call__(self, sentence: Sentence, output: Tree, reference: list[float]) -> float:
        return reference.pop(0) if reference else float(label_of(output) != "y1")


def test_the_best_epoch_may_be_that_of_the_lowest_cost() -> None:
    def objective() -> Objective:
        return Objective([(sentence("u"), [])], Falling(), k=2, dev=[(sentence("v"), [0.75, 0.25, 0.5, 0.25])])

    chosen, reports = run([objective()], choose_by="falling loss", epochs=4)
    ends = [report for report in reports if report.is_epoch_end]
    assert [report.best for report in ends] == [True, True, False, False]
    assert [report.objectives[0].dev_cost for report in ends] == [0.75, 0.25, 0.5, 0.25]
    assert chosen.weights == run([objective()], epochs=2)[0].weights
    # Without a word on it, and without dev trees, the last one counts.
    last, reports = run([objective()], epochs=4)
    assert not any(report.best for report in reports)
    assert last.weights != chosen.weights


def test_the_best_epoch_is_by_the_chosen_metric() -> None:
    """Labels alone are wrong here: UAS finds the first epoch perfect, LA goes on choosing."""
    dev = wanted("y1")
    objective = Objective(wanted("y1"), ZeroOne(), k=2)
    by_heads, first = run([objective], dev=dev, choose_by="UAS", epochs=4)
    by_labels, second = run([objective], dev=dev, choose_by="LA", epochs=4)
    by_default, third = run([objective], dev=dev, epochs=4)
    assert [report.best for report in first if report.is_epoch_end] == [True, False, False, False]
    assert sum(report.best for report in second) > 1
    assert by_heads.weights != by_labels.weights == by_default.weights
    assert [report.best for report in second] == [report.best for report in third]


def test_an_epoch_without_an_objective_is_never_the_best() -> None:
    """By UAS the first epoch is perfect, and no later one is better; but only the third has heard of the objective."""
    early, late = Objective(wanted("y1"), ZeroOne(), k=2), Objective(wanted("y2"), cost, name="late", k=2, start=3)
    _, reports = run([early, late], dev=wanted("y1"), choose_by="UAS", epochs=4)
    assert [report.best for report in reports if report.is_epoch_end] == [False, False, True, False]


def test_losses_are_closed_however_training_ends() -> None:
    class Closing(ZeroOne):
        closed = 0

        def close(self) -> None:
            type(self).closed += 1

    run([Objective(GOLD, Closing())])
    assert Closing.closed == 1
    reports = train(LinearModel(SPACE, LIKED), objectives=[Objective(GOLD, Closing())], warm_start=True)
    next(reports)
    assert Closing.closed == 1
    del reports
    assert Closing.closed == 2
