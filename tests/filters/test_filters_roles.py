"""Roles, events and which arcs they remove."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from filter_twins import events, kept, removes, roles_of
from hypothesis import given
from hypothesis import strategies as st

from strategies import tree_heads
from treetune.filters import _training_kernels as training
from treetune.filters.arc_filter import NO_FILTER
from treetune.filters.roles import ROLES, gold_roles, make_work

sizes = st.integers(1, 9)


def test_the_events_of_an_arc_are_those_of_the_paper() -> None:
    # Figure 1: the_3 -> his_6. The paper prints them without the role Root, of his_6 itself and of words between.
    printed = {("NaH", 3), ("HtR*", 6), ("HtR5", 6), ("HtR1", 6), ("HtL1", 6)}
    found = events(3, 6, 8)
    assert {event for event in found if event[0] != "Root"} == printed
    assert {token for role, token in found if role == "Root"} == {4, 5, 6}


@given(sizes.flatmap(tree_heads))
def test_roles_of_a_tree_equal_the_twin_and_never_remove_its_arcs(heads: tuple[int, ...]) -> None:
    found = gold_roles(np.array(heads, np.int32), np.array([0, len(heads)], np.int64))
    np.testing.assert_array_equal(found, roles_of(heads))
    for dependent in range(1, len(heads)):
        for token, role in zip(*np.nonzero(found), strict=True):
            assert not removes(ROLES[role], token, heads[dependent], dependent)


def test_roles_of_several_sentences() -> None:
    heads = np.array([-1, 2, 0, -1, 0, -1, 0, 1, 2], np.int32)
    offsets = np.array([0, 3, 5, 9], np.int64)
    found = gold_roles(heads, offsets)
    for start, end in itertools.pairwise(offsets):
        np.testing.assert_array_equal(found[start:end], roles_of(heads[start:end].tolist()))


def arc_values(weights: np.ndarray, bias: float, tags: np.ndarray) -> np.ndarray:
    tokens = np.arange(len(tags))
    lengths = np.abs(tokens[:, None] - tokens).astype(np.float32)
    sides = (tokens > tokens[:, None]).astype(int)
    values: np.ndarray = np.float32(bias) + weights[sides, tags[:, None], tags] * lengths
    return values


@given(sizes, st.integers(0, 1000))
def test_kept_arcs_equal_the_twin(words: int, seed: int) -> None:
    size, tags, rng = words + 1, 3, np.random.default_rng(seed)
    scores = rng.normal(-1, 1, (size, len(ROLES))).astype(np.float32)
    vine, none = rng.normal(0, 0.3, (2, 2, tags, tags)).astype(np.float32)
    columns = rng.integers(0, tags, (1, size)).astype(np.int32)
    made = NO_FILTER._replace(
        vine=vine, none=none, biases=np.array([0.1, -0.5], np.float32), tag_column=np.zeros(1, np.int64),
        rules=np.zeros((tags, len(ROLES)), np.bool_),
    )  # fmt: skip
    heads = np.array([-1, 0, *range(1, words)], np.int32)
    found, counts = np.zeros(size * size, np.uint8), np.zeros(4, np.int64)
    training.count_kept(
        scores, columns, np.array([0, size], np.int64), heads, made, np.ones(len(ROLES), np.bool_),
        make_work(words, 1), found, counts,
    )  # fmt: skip
    wanted = kept(scores, arc_values(none, 0.1, columns[0]), arc_values(vine, -0.5, columns[0]))
    np.testing.assert_array_equal(found.reshape(size, size).astype(bool), wanted)
    in_tree = wanted[heads[1:], np.arange(1, size)].sum()
    assert counts.tolist() == [words, in_tree, words * words, wanted.sum()]


def test_working_memory_is_for_the_longest_sentence() -> None:
    work = make_work(5, 7)
    assert (work.scores.shape, len(work.features)) == ((6, 8), 7)


@pytest.mark.parametrize("role", ROLES)
def test_every_role_removes_some_arc(role: str) -> None:
    assert any(removes(role, 3, head, dependent) for head in range(8) for dependent in range(1, 8) if head != dependent)
