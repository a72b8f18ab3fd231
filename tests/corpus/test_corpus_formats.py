"""Every format of the registry does what its entry says, and a new one is a single entry."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_samples import DOGS, FULL
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from treetune.corpus import formats, read_conllu, read_tagged, read_trees, read_words, write_trees
from treetune.corpus.faults import SkipReport
from treetune.corpus.formats import FORMATS, Format, find_format, format_of, names
from treetune.corpus.json_lines import format_json, read_json
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.tags import Tags, with_tags
from treetune.errors import ConfigError, DataError

TAGGED = Example(
    with_tags(Sentence.of(["Ada", "runs"], upos=["PROPN", "VERB"]), Tags.of(["B-PER", "O"]), ("ner",)),
    Tree.of([2, 0], ["nsubj", "root"]),
)


@pytest.mark.parametrize("name", [name for name in names("reader") if name in names("formatter")])
def test_a_format_gives_back_what_it_holds(name: str, tmp_path: Path) -> None:
    found, path = FORMATS[name], tmp_path / "file"
    assert write_trees([TAGGED], path, file_format=name) == 1
    (again,) = read_trees(path, file_format=name, trees="trees" in found.holds)
    assert again.sentence.forms == TAGGED.sentence.forms
    assert (again.gold == TAGGED.gold) == ("trees" in found.holds)
    assert (again.sentence.upos == TAGGED.sentence.upos) == ("tags" in found.holds)
    if "entities" in found.holds:
        (tagged,) = read_tagged(path, ("ner",), file_format=name)
        assert tagged.gold.values[1:] == ("B-PER", "O")
        assert "ner" not in tagged.sentence.misc[1]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.conllu", "conllu"),
        ("a.conllu.gz", "conllu"),
        ("a.conll.zst", "conllx"),
        ("b/a.bio", "iob2"),
        ("a.jsonl", "json"),
        ("a.txt", "text"),
        ("a.data", None),
        ("-", None),
    ],
)
def test_suffixes(path: str, name: str | None) -> None:
    found = format_of(path)
    assert (None if found is None else found.name) == name


def test_json_lines_are_sentences_unless_orders_are_wanted() -> None:
    for content, name in ((None, "json"), ("trees", "json"), ("orders", "orders")):
        found = format_of(Path("a.jsonl"), holding=content)  # type: ignore[arg-type]
        assert found is not None
        assert found.name == name
    assert format_of("a.conll", holding="orders") is None


def test_every_function_of_the_registry_is_there() -> None:
    roles = ("reader", "formatter", "k_best_formatter", "order_reader", "order_formatter")
    found = [(one.name, role) for one in FORMATS.values() for role in roles if getattr(one, role)]
    assert all(callable(FORMATS[name]._function(role)) for name, role in found)
    assert {name for name, one in FORMATS.items() if "orders" in one.holds} == set(names("order_reader"))
    assert {name for name, one in FORMATS.items() if "trees" in one.holds} <= set(names("reader"))


def test_what_a_format_lacks_is_said_with_those_that_have_it() -> None:
    with pytest.raises(ConfigError, match=r"^unknown file format 'conl'; known: conllu, conllx, iob2, json, lines, "):
        find_format("conl")
    with pytest.raises(ConfigError, match=r"^raw text has no order reader; formats that do: conllu, orders$"):
        _ = FORMATS["text"].read_orders
    with pytest.raises(DataError, match=r"^a\.iob2: expected trees, and IOB has none; give a treebank$"):
        read_trees("a.iob2")


def read_upper(source: Path, **options: object) -> Iterator[Example]:
    """Read a file of words in capitals, one sentence."""
    words = source.read_text().split("/")
    yield Example(Sentence.of([word.capitalize() for word in words]), Tree.unknown(len(words)))


def test_a_new_format_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Format(
        "slashes", "words between slashes", frozenset({"tokens"}), (".slash",), reader=f"{__name__}:read_upper"
    )
    monkeypatch.setitem(formats.FORMATS, "slashes", entry)
    (tmp_path / "a.slash").write_text("dogs/bark")
    assert list(read_words(tmp_path / "a.slash")) == [("Dogs", "Bark")]
    assert len(list(read_trees(tmp_path / "a.slash", trees=False))) == 1


@given(st.lists(examples(), min_size=1, max_size=3))
def test_json_lines_hold_all_that_conllu_holds(drawn: list[Example]) -> None:
    stream = io.StringIO()
    write_trees(drawn, stream, file_format="json")
    assert list(read_json(stream.getvalue().split("\n"), partial=True)) == drawn


def test_a_multiword_token_may_be_an_underscore() -> None:
    lines = ["1-1", "1"]
    rows = [f"{number}\t_\t_\t_\t_\t_\t{head}\t_\t_\t_" for number, head in zip(lines, ("_", "0"), strict=True)]
    (example,) = read_conllu([*rows, ""], partial=True)
    assert list(read_json([format_json(example.sentence, example.gold, None)], partial=True)) == [example]


def test_a_document_of_several_sentences_is_one_line() -> None:
    sentences = [json.loads(format_json(one.sentence, one.gold, one.enhanced)) for one in read_conllu(FULL.split("\n"))]
    line = json.dumps({"text": "…", "sentences": sentences * 2})
    assert list(read_json([line])) == list(read_conllu(FULL.split("\n"))) * 2


def test_what_others_write_is_read() -> None:
    words = [{"text": "Dogs", "head": 2, "deprel": "nsubj"}, {"text": "bark", "upos": "VERB", "head": 0}]
    (example,) = read_json([json.dumps({"sent_id": "s1", "words": words})], partial=True)
    assert example.gold == Tree.of([2, 0], ["nsubj", ""])
    assert example.sentence == replace(Sentence.of(["Dogs", "bark"], upos=["_", "VERB"]), comments=("# sent_id = s1",))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "expected a JSON object a line: Expecting property name enclosed in double quotes"),
        ("[1]", 'expected an object with "words", a list of objects with "text"'),
        ('{"words": []}', 'expected an object with "words", a list of objects with "text"'),
        ('{"tokens": ["a"], "order": [0]}', "expected a sentence, found a word order; read it as orders"),
        ('{"words": [{"form": "a"}]}', 'word 1: expected "text", found none'),
        ('{"words": [{"text": "a\\tb"}]}', "word 1: expected \"text\" without tabs and line breaks, found 'a\\tb'"),
        ('{"words": [{"text": "a", "head": [0]}]}', 'word 1: expected "head" without tabs and line breaks, found [0]'),
        ('{"words": [{"text": "a", "head": 3}]}', "word 1: expected a head from 0 to 1, found '3'"),
        ('{"words": [{"text": "a"}]}', "word 1: expected a head from 0 to 1, found '_'; only partial"),
        ('{"words": [{"text": "a", "head": 2}, {"text": "b", "head": 1}]}', "expected one root, a word with head 0"),
        ('{"words": [{"text": "a", "head": 0}], "tokens": [{"id": [1, 4], "text": ""}]}', "word 1-4: expected "),
        ('{"words": [{"text": "a", "head": 0}], "tokens": 3}', 'expected "tokens" as a list of objects'),
        ('{"words": [{"text": "a", "head": 0}], "comments": [1]}', 'expected "comments" as a list'),
    ],
)  # fmt: skip
def test_faults_of_json_lines(line: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    (dogs,) = read_conllu(DOGS.split("\n"))
    good = format_json(dogs.sentence, dogs.gold)
    path.write_text(f"{good}{line}\n{good}")
    with pytest.raises(DataError) as caught:
        list(read_trees(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)
    report = SkipReport()
    assert len(list(read_trees(path, strict=False, report=report))) == report.read == 2
    assert report.skipped == 1
