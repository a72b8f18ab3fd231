"""Word orders and files: what is written is read again, and what is wrong is named with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetune.corpus.conllu import write_conllu
from treetune.corpus.orders import (
    Ordered,
    WordOrder,
    read_orders,
    write_orders,
)
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError

SENTENCE = Sentence.of(["John", "hit", "the", "ball"], upos=["PROPN", "VERB", "DET", "NOUN"])
TREE = Tree.of([2, 0, 4, 2], ["nsubj", "root", "det", "obj"])
ORDER = WordOrder((1, 4, 2), ((1, 1), (2, 3), (4, 2)), ("ジョンは", "ボールを", "打った"))
ITEM = Ordered(SENTENCE, ORDER, TREE)
LINE = {"tokens": ["John", "hit", "the", "ball"], "order": [0, 3, 1]}


def test_an_alignment_gives_an_order() -> None:
    # By the first place of a word, then by the word; repeated links count once.
    links = [(2, 3), (1, 5), (1, 1), (4, 2), (3, 2), (3, 2)]
    assert WordOrder.of_links(links) == WordOrder((1, 3, 4, 2), ((1, 1), (1, 5), (2, 3), (3, 2), (4, 2)))
    assert WordOrder.of_links([]).words == ()


def test_json_lines_hold_words_orders_and_links(tmp_path: Path) -> None:
    path = tmp_path / "en-ja.jsonl"
    assert write_orders([ITEM], path) == 1
    assert json.loads(path.read_text()) == {
        **LINE,
        "links": [[0, 0], [1, 2], [3, 1]],
        "target_tokens": ["ジョンは", "ボールを", "打った"],
    }
    (item,) = read_orders(path)
    assert item == Ordered(SENTENCE.without("upos"), ORDER, Tree.unknown(4))


def test_tags_and_trees_come_from_the_file_beside(tmp_path: Path) -> None:
    write_orders([ITEM], tmp_path / "en-ja.jsonl.gz")
    write_conllu([Example(SENTENCE, TREE)], tmp_path / "en-ja.conllu.zst")
    assert list(read_orders(tmp_path / "en-ja.jsonl.gz")) == [ITEM]


def test_a_file_beside_with_other_sentences_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "en-ja.jsonl"
    write_orders([ITEM], path)
    beside = tmp_path / "en-ja.conllu"
    for content, message in (
        ([Example(Sentence.of(["Go"]), Tree.of([0]))], "sentence 1 is 'John hit the ball', found 'Go'"),
        ([], "sentence 1 is 'John hit the ball', found its end"),
        ([Example(SENTENCE, TREE)] * 2, f"expected the 1 sentences of {path}, which stands beside it, found more"),
    ):
        write_conllu(content, beside)
        with pytest.raises(DataError) as caught:
            list(read_orders(path))
        assert str(caught.value).startswith(f"{beside}: expected the ")
        assert str(caught.value).endswith(message)


def test_conllu_keeps_everything_but_the_other_words(tmp_path: Path) -> None:
    path = tmp_path / "en-ja.conllu"
    write_orders([ITEM], path)
    assert "# order = 1 4 2\n# links = 1-1 2-3 4-2\n" in path.read_text()
    (item,) = read_orders(path)
    assert (item.order, item.tree) == (WordOrder(ORDER.words, ORDER.links), TREE)
    assert item.sentence.upos == SENTENCE.upos
    # Written again, the comments are not doubled.
    write_orders([item], tmp_path / "again.conllu")
    assert (tmp_path / "again.conllu").read_text() == path.read_text()


def test_links_alone_will_do(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"id": "s7", "tokens": ["a", "b"], "links": [[0, 1], [1, 0]]}) + "\n\n")
    (item,) = read_orders(path)
    assert item.order == WordOrder((2, 1), ((1, 2), (2, 1)))
    assert item.sentence.comments == ("# sent_id = s7",)
    write_orders([item], path)
    assert json.loads(path.read_text())["id"] == "s7"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected a JSON object a line: Expecting property name"),
        ("[]", "expected a JSON object a line, found list"),
        ("{}", 'expected "tokens", a list of words'),
        ('{"tokens": ["a", ""]}', 'expected "tokens", a list of words'),
        ('{"tokens": ["a"]}', 'expected "order" or "links", found neither'),
        ('{"tokens": ["a"], "order": ["b"]}', 'expected "order", a list of words counted from 0'),
        ('{"tokens": ["a"], "order": [1]}', "expected the order of words from 1 to 1, found word 2"),
        ('{"tokens": ["a"], "order": [0, 0]}', "expected every word at most once in an order, found word 1 twice"),
        ('{"tokens": ["a"], "links": [[0]]}', 'expected "links" as a list of pairs [word, place], counted from 0'),
        ('{"tokens": ["a"], "links": [[4, 0]]}', "expected the order of words from 1 to 1, found word 5"),
        ('{"tokens": ["a"], "order": [0], "target_tokens": 1}', 'expected "target_tokens", a list of words'),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + line + "\n")
    with pytest.raises(DataError) as caught:
        list(read_orders(path))
    assert str(caught.value).startswith(f"{path}:2: {message}")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# sent_id = s1", "expected a comment '# order = 2 1 …' with the words in the other order, found none"),
        ("# order = 1 x", "expected IDs of words in the comments order and links, found '1 x'"),
        ("# order = 2", "expected the order of words from 1 to 1, found word 2"),
    ],
)
def test_a_wrong_comment_is_named(comment: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(f"{comment}\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(DataError) as caught:
        list(read_orders(path))
    assert str(caught.value).startswith(f"{path}: sentence 1")
    assert str(caught.value).endswith(message)


def test_a_confidence_is_kept(tmp_path: Path) -> None:
    order = WordOrder((2, 1), ((1, 2), (2, 1)), ("x", "y"), 0.25)
    write_orders([Ordered(SENTENCE, order, TREE)], tmp_path / "o.jsonl")
    assert [item.order for item in read_orders(tmp_path / "o.jsonl")] == [order]
    (tmp_path / "o.jsonl").write_text('{"tokens": ["a"], "order": [0], "confidence": 2}\n')
    with pytest.raises(DataError, match=r'o\.jsonl:1: expected "confidence" from 0 to 1, found 2$'):
        list(read_orders(tmp_path / "o.jsonl"))


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12))
def test_an_order_has_every_linked_word_once(links: list[tuple[int, int]]) -> None:
    order = WordOrder.of_links(links)
    order.check(6)
    assert set(order.words) == {word for word, _ in links}
    first = {word: min(place for other, place in links if other == word) for word in order.words}
    assert [first[word] for word in order.words] == sorted(first.values())


def test_the_orders_of_the_data_folder_follow_from_their_links(data_dir: Path) -> None:
    if not (data_dir / "reorder").is_dir():
        pytest.skip("needs the word orders: a folder reorder/ in the data")
    items = list(read_orders(data_dir / "reorder" / "en-ko-dev.jsonl"))
    assert len(items) == 135
    assert all(WordOrder.of_links(item.order.links, item.order.target) == item.order for item in items)
    assert all(item.tree.is_complete for item in items)
