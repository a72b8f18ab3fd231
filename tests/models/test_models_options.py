"""Declared options: help, choices, bounds and what can change after training."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pytest

import treetune
from treetune.errors import ConfigError
from treetune.models.graph.grammar import GraphConfig
from treetune.models.learning_options import LEARNERS, LearnerConfig, LearningOptions
from treetune.models.options import check_values, option, search_options, with_values
from treetune.models.registry import PARSERS, TAGGERS, make_model, preset
from treetune.models.sequence.grammar import TaggerConfig
from treetune.models.transition.grammar import TransitionConfig

CONFIGS = [TransitionConfig, GraphConfig, TaggerConfig, LearnerConfig]


@dataclass(frozen=True)
class Example:
    size: int = option(2, "A size.", minimum=1, search=True)
    color: str | None = option(None, "A colour.", choices=("red", "green"), noun="colour")
    order: int = option(1, "An order.", choices=(1, 2))
    names: tuple[str, ...] = option((), "Names.", choices=("a", "b"))

    def __post_init__(self) -> None:
        check_values(self)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_option_has_a_line_of_help(config: type[Any]) -> None:
    for own in fields(config):
        text = own.metadata["help"]
        assert text.endswith(".")
        assert "\n" not in text
        assert len(text) <= 110


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be at least 1, found 0"),
        ({"size": "two"}, "size must be a whole number, found 'two'"),
        ({"color": "gren"}, "unknown colour 'gren'; known: green, red (did you mean 'green'?)"),
        ({"order": 3}, "order must be 1 or 2, found 3"),
        ({"names": ("a", "c")}, "unknown names 'c'; known: a, b"),
    ],
)
def test_values_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_values(Example(), options)
    assert str(caught.value) == message


def test_values_that_are_taken() -> None:
    made = with_values(Example(), {"size": 3, "color": "red", "order": 2, "names": ("b",)})
    assert made == Example(3, "red", 2, ("b",))
    assert search_options(made) == ("size",)


def test_search_options_are_those_that_with_options_takes() -> None:
    assert treetune.TransitionParser().search_options == ("beam", "margin")
    assert treetune.GraphParser().search_options == ("decoder", "max_memory")
    assert treetune.Tagger().search_options == ("max_memory",)
    assert treetune.GraphParser().with_options(decoder="non-projective").config.decoder == "non-projective"
    with pytest.raises(ConfigError, match=r"^unknown search option of graph parsers 'order'; known: decoder, max_"):
        treetune.GraphParser().with_options(order=2)


def test_learning_options_are_the_fields_of_the_config() -> None:
    assert [own.name for own in fields(LearnerConfig)] == list(LearningOptions.__annotations__)


@pytest.mark.parametrize("name", [*PARSERS, *TAGGERS])
def test_models_have_the_learning_options_that_name_their_kind(name: str) -> None:
    model, kind = make_model(name), preset(name).kind
    values: dict[str, Any] = {"update": "early", "learning_rate": 0.5, "cost_augmented": True, "k": 3, "clip": 0.5}
    for own in fields(LearnerConfig):
        if own.name == "learner":
            continue
        options: Any = {own.name: values[own.name]}
        if kind in own.metadata.get("kinds", (kind,)):
            model.check_learning(**options)
        else:
            with pytest.raises(ConfigError, match=f"^{own.name} is an option of "):
                model.check_learning(**options)
    for learner in ("perceptron", "mira", "factored-mira", "crf"):
        if learner not in LEARNERS[kind]:
            with pytest.raises(ConfigError, match=f"^the learner {learner} is not for "):
                model.check_learning(learner=learner)
        elif learner != "factored-mira" or name not in ("graph2", "graph3"):
            model.check_learning(learner=learner)


def test_step_sizes_belong_to_their_learners() -> None:
    tagger = treetune.Tagger()
    with pytest.raises(ConfigError, match=r"^clip is an option of mira; the learner crf has a learning_rate$"):
        tagger.check_learning(learner="crf", clip=0.1)
    with pytest.raises(ConfigError, match=r"^learning_rate is an option of crf; the learner is mira$"):
        tagger.check_learning(learner="mira", learning_rate=0.1)
