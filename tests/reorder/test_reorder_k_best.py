"""K-best orders: one for each order, and the best of several sentences against all of them."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from treetune.reorder.k_best import distinct_orders, joined_orders

ORDERS = st.lists(
    st.tuples(st.permutations((1, 2, 3)).map(tuple), st.integers(-9, 9).map(float)), min_size=1, max_size=6
)


@given(ORDERS)
def test_an_order_has_the_score_of_its_best_tree(scored: list[tuple[tuple[int, ...], float]]) -> None:
    found = distinct_orders(scored)
    assert dict(found) == {order: max(score for one, score in scored if one == order) for order, _ in scored}
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@given(st.lists(ORDERS.map(distinct_orders), max_size=3), st.integers(1, 5))
def test_joined_orders_are_the_best_of_all(lists: list[list[tuple[tuple[int, ...], float]]], k: int) -> None:
    everything = sorted((sum(score for _, score in chosen) for chosen in product(*lists)), reverse=True)
    found = joined_orders(lists, k)
    assert [score for _, score in found] == everything[:k]
    for order, _ in found:
        assert [word - 3 * (place // 3) for place, word in enumerate(order)] == [
            word for part in zip(*[iter(order)] * 3, strict=True) for word in (w - 3 * ((w - 1) // 3) for w in part)
        ]
        assert sorted(order) == list(range(1, 3 * len(lists) + 1))


def test_words_are_counted_through() -> None:
    assert joined_orders([[((2, 1), 1.0)], [((1,), 0.5)], [((2, 1), 2.0), ((1, 2), 1.0)]], 2) == [
        ((2, 1, 3, 5, 4), 3.5),
        ((2, 1, 3, 4, 5), 2.5),
    ]
