"""The tables of names: every name leads to a class that keeps the contract, with the options it stands for."""

from __future__ import annotations

import pytest

from stub_parser import StubParser, stub_model_fixture
from treetune.errors import ConfigError
from treetune.models.registry import MODELS, PARSERS, Preset, make_parser, model_class, preset

__all__ = ["stub_model_fixture"]


def test_every_parser_is_of_a_kind_that_files_know() -> None:
    assert {name: preset(name).kind for name in PARSERS} == {
        "transition": "transition",
        "backward": "transition",
        "graph": "graph",
        "graph2": "graph",
        "graph3": "graph",
    }
    assert {entry.kind for entry in PARSERS.values()} <= set(MODELS)


@pytest.mark.parametrize("kind", MODELS)
def test_the_class_of_a_kind_has_its_name(kind: str) -> None:
    assert model_class(kind).kind == kind


def test_an_unknown_parser_is_named_with_the_known_ones() -> None:
    for find in (preset, make_parser):
        with pytest.raises(ConfigError) as caught:
            find("grpah")
        known = "backward, graph, graph2, graph3, transition"
        assert str(caught.value) == f"unknown parser 'grpah'; known: {known} (did you mean 'graph'?)"


def test_none_is_left_to_the_model(stub_model: StubParser) -> None:
    made = make_parser("stub", beam=None, features="mine", inputs=())
    assert isinstance(made, StubParser)
    assert made.options == {"beam": 8, "features": "mine", "inputs": ()}


def test_a_name_brings_options_of_its_own(stub_model: StubParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARSERS, "greedy", Preset("stub", "greedy stub", {"beam": 1}))
    made = make_parser("greedy", features="mine")
    assert isinstance(made, StubParser)
    assert made.options == {"beam": 1, "features": "mine"}


def test_the_directions_of_transition_parsers() -> None:
    directions = [make_parser(name).config.backward for name in ("transition", "backward")]  # type: ignore[attr-defined]
    assert directions == [False, True]


def test_the_orders_of_graph_parsers() -> None:
    orders = [make_parser(name).config.order for name in ("graph", "graph2", "graph3")]  # type: ignore[attr-defined]
    assert orders == [1, 2, 3]
