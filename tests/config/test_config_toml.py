"""Tables as TOML: whatever is written is read back by Python's own reader."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetune.config.tables import format_tables, stored_toml, to_json, value_text

texts = st.text()
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(texts, values, max_size=4)


@given(st.dictionaries(texts, tables | st.lists(tables, min_size=1, max_size=3), max_size=3))
def test_what_is_written_is_read_back(content: dict[str, Any]) -> None:
    assert tomllib.loads(format_tables(content)) == content


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("a\tb\x7f", '"a\\tb\\u007f"'),
        (["x", 1], '["x", 1]'),
        (("x",), '["x"]'),
        ({"a b": 0.5}, '{ "a b" = 0.5 }'),
        ({}, "{}"),
        (math.inf, "inf"),
        (1e-05, "1e-05"),
        (None, "None"),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_a_model_notes_infinity_as_null_and_keys_in_any_order() -> None:
    tables = {
        "train": {"seed": 1, "epochs": 2, "treebank": "t.conllu"},
        "model": {"inputs": ["upos"], "parser": "graph"},
        "learner": {"clip": math.inf, "learner": "mira"},
        "objective": [{"rate": 1.0, "loss": {"name": "root"}, "data": "q.conllu", "name": "q"}],
    }
    noted = to_json(tables)
    assert noted["learner"] == {"clip": None, "learner": "mira"}
    text = stored_toml({"config": noted})
    assert text == (
        '[model]\nparser = "graph"\ninputs = ["upos"]\n\n'
        '[learner]\nlearner = "mira"\nclip = inf\n\n'
        '[train]\ntreebank = "t.conllu"\nseed = 1\nepochs = 2\n\n'
        '[[objective]]\nname = "q"\ndata = "q.conllu"\nloss = { name = "root" }\nrate = 1.0\n'
    )
    assert tomllib.loads(text) == tables
    assert stored_toml({"training": {}}) is None
