"""Documents, sentences, words, tokens and entities: what a user of a pipeline sees."""

from __future__ import annotations

import json
import pickle
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treetune
from strategies import examples as any_example
from treetune.corpus.conllu import format_conllu, read_conllu, write_conllu
from treetune.corpus.document import Document, ParsedSentence
from treetune.corpus.rawtext import raw_text
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError

FRENCH = """\
# sent_id = fr-1
# text = Il parle du chat.
1	Il	il	PRON	_	_	2	nsubj	_	_
2	parle	parler	VERB	_	Tense=Pres	0	root	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	chat	chat	NOUN	NN	_	2	obl	_	SpaceAfter=No
6	.	.	PUNCT	_	_	2	punct	_	_

# text = Non !
1	Non	_	INTJ	_	_	0	root	_	_
2	!	_	PUNCT	_	_	1	punct	_	_

"""
ENGLISH = """\
1	Ada	_	PROPN	_	_	2	nsubj	_	ner=B-PER
2-3	didn't	_	_	_	_	_	_	_	_
2	did	_	AUX	_	_	0	root	_	_
3	n't	_	PART	_	_	2	advmod	_	_
4	see	_	VERB	_	_	2	xcomp	_	_
5	New	_	PROPN	_	_	6	compound	_	ner=B-LOC
6	York	_	PROPN	_	_	4	obj	_	SpaceAfter=No|ner=I-LOC
7	.	_	PUNCT	_	_	2	punct	_	ner=O

"""


def document(text: str) -> Document:
    return Document.from_conllu(text.split("\n"))


def test_words_have_the_columns_and_the_tree() -> None:
    doc = document(FRENCH)
    assert (len(doc), len(doc[0]), len(doc[-1])) == (2, 6, 2)
    word = doc.sentences[0].words[4]
    assert (word.text, word.lemma, word.upos, word.xpos, word.feats) == ("chat", "chat", "NOUN", "NN", "")
    assert (word.id, word.head, word.deprel, word.misc) == (5, 2, "obl", "SpaceAfter=No")
    assert word.sentence is doc[0]
    assert word.parent is doc[0].words[1] is doc[0].root
    assert [child.text for child in word.children] == ["de", "le"]
    assert [below.text for below in word.subtree] == ["de", "le", "chat"]
    assert doc[0].root.parent is None
    assert list(doc[0].root.subtree) == list(doc[0])
    assert [word.text for word in doc[0][1:3]] == ["parle", "de"]
    assert [sentence.root.text for sentence in doc] == ["parle", "Non"]
    assert (doc[0].heads, doc[0].deprels) == ((2, 0, 5, 5, 2, 2), ("nsubj", "root", "case", "det", "obl", "punct"))
    assert (doc[0].sent_id, doc[1].sent_id) == ("fr-1", None)


def test_what_is_absent_is_empty() -> None:
    (sentence,) = Document([ParsedSentence(Sentence.of(["a", "_"]), Tree.unknown(2))])
    first, second = sentence
    assert (first.lemma, first.upos, first.misc, first.head, first.deprel) == ("", "", "", -1, "")
    assert (second.text, second.lemma) == ("_", "_")
    assert (first.parent, first.children, first.subtree, sentence.score) == (None, (), (first,), None)
    with pytest.raises(DataError, match=r"^this sentence has no tree, and so no root; parse it with a pipeline that"):
        sentence.root  # noqa: B018


def test_offsets_are_those_of_the_text_of_the_document() -> None:
    doc = document(FRENCH)
    assert doc.text == "Il parle du chat. Non !"
    assert [sentence.text for sentence in doc] == ["Il parle du chat.", "Non !"]
    assert [doc.text[sentence.start_char : sentence.end_char] for sentence in doc] == ["Il parle du chat.", "Non !"]
    tokens = [token for sentence in doc for token in sentence.tokens]
    assert [token.text for token in tokens] == ["Il", "parle", "du", "chat", ".", "Non", "!"]
    assert all(doc.text[token.start_char : token.end_char] == token.text for token in tokens)
    # The words of "du" are not written in it, those of "didn't" are.
    assert [doc.text[word.start_char : word.end_char] for word in tokens[2].words] == ["du", "du"]
    english = document(ENGLISH)
    words = english[0].tokens[1].words
    assert (
        [english.text[word.start_char : word.end_char] for word in words] == ["did", "n't"] == [w.text for w in words]
    )


def test_entities_are_the_iob_tags_of_misc() -> None:
    doc = document(ENGLISH)
    assert [(entity.label, entity.text) for entity in doc.entities] == [("PER", "Ada"), ("LOC", "New York")]
    entity = doc[0].entities[1]
    assert doc.text[entity.start_char : entity.end_char] == "New York"
    assert [word.id for word in entity.words] == [5, 6]
    assert document(FRENCH).entities == doc[0].spans("chunk") == ()


def test_conllu_comes_back_as_it_was(tmp_path: Path) -> None:
    assert document(FRENCH).to_conllu() == FRENCH
    (tmp_path / "in.conllu").write_text(ENGLISH, encoding="utf-8")
    doc = Document.from_conllu(tmp_path / "in.conllu")
    assert doc.to_conllu() == doc[0].to_conllu() == ENGLISH
    # The writers of treebanks take parsed sentences.
    assert treetune.write_trees(doc, tmp_path / "out.conllu") == 1
    assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == ENGLISH
    assert write_conllu([*read_conllu(tmp_path / "in.conllu"), *doc], tmp_path / "both.conllu") == 2
    assert (tmp_path / "both.conllu").read_text(encoding="utf-8") == 2 * ENGLISH


def test_the_content_for_json() -> None:
    content = document(ENGLISH).to_dict()
    assert json.loads(json.dumps(content)) == content
    (sentence,) = content["sentences"]
    assert (content["text"], sentence["text"]) == ("Ada didn't see New York.",) * 2
    assert sentence["words"][3] == {
        "id": 4,
        "text": "see",
        "upos": "VERB",
        "head": 2,
        "deprel": "xcomp",
        "start_char": 11,
        "end_char": 14,
    }
    assert sentence["tokens"] == [{"id": [2, 3], "text": "didn't", "start_char": 4, "end_char": 10}]
    assert sentence["entities"][1] == {
        "id": [5, 6],
        "label": "LOC",
        "text": "New York",
        "start_char": 15,
        "end_char": 23,
    }
    first, second = document(FRENCH).to_dict()["sentences"]
    assert first["sent_id"] == "fr-1"
    assert first["words"][4]["misc"] == "SpaceAfter=No"
    assert set(second) == {"text", "words"}
    assert "head" not in Document([ParsedSentence(Sentence.of(["a"]), Tree.unknown(1))])[0][0].to_dict()


def test_everything_says_shortly_what_it_is() -> None:
    doc = document(ENGLISH)
    assert repr(doc) == '<Document of 1 sentence: "Ada didn\'t see New York.">'
    assert repr(document(FRENCH * 9)).startswith("<Document of 18 sentences: 'Il parle du chat. Non ! Il ")
    assert len(repr(document(FRENCH * 9))) < 100
    assert repr(doc[0]) == '<ParsedSentence: "Ada didn\'t see New York.">'
    assert repr(doc[0][0]) == "<Word 1: Ada PROPN, nsubj of 2>"
    assert repr(doc[0].root) == "<Word 2: did AUX, root>"
    assert repr(ParsedSentence(Sentence.of(["a"]), Tree.unknown(1))[0]) == "<Word 1: a>"
    assert repr(doc[0].tokens[1]) == "<Token didn't: did n't>"
    assert repr(doc[0].entities[1]) == "<Entity LOC: New York>"
    assert [str(one) for one in (doc, doc[0][0], doc[0].tokens[1], doc[0].entities[0])] == [
        "Ada didn't see New York.",
        "Ada",
        "didn't",
        "Ada",
    ]


def test_a_notebook_draws_the_trees() -> None:
    doc = document(ENGLISH.replace("York", "<script>&"))
    page = ElementTree.fromstring(f"<html>{doc._repr_html_()}</html>")
    drawn = [text.text for text in page.iter("{http://www.w3.org/2000/svg}text")]
    for shown in ("Ada", "<script>&", "nsubj", "root", "PROPN"):
        assert shown in drawn
    assert "<script" not in doc._repr_html_()
    many = document(FRENCH * 15)._repr_html_()
    assert many.count("<svg") == 20
    assert "10 more sentences" in many
    # Partial trees and trees of nothing are drawn as well.
    assert "<path" not in ParsedSentence(Sentence.of(["a"]), Tree.unknown(1))._repr_html_()
    assert Document([])._repr_html_() == ""


def test_arcs_and_labels_of_a_drawn_tree_do_not_overlap() -> None:
    tree = Tree.of([2, 0, 2, 5, 2, 2], ["nsubj", "root", "iobj", "det", "obj", "punct"])
    drawn = ParsedSentence(Sentence.of(["I", "x", "y", "a", "b", "."]), tree)._repr_html_()
    texts = {
        str(text.text): (float(text.attrib["x"]), float(text.attrib["y"]))
        for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    }
    arcs = [path for path in re.findall(r'd="M ([\d.]+) [\d.]+ L ([\d.]+) ', drawn) if path[0] == path[1]]
    assert len({start for start, _ in arcs}) == len(arcs) == 5
    # The label of the root stands above all others; neighbouring labels have room.
    assert all(texts["root"][1] + 12 < texts[label][1] for label in tree.labels[1:] if label != "root")
    assert texts["iobj"][0] - texts["nsubj"][0] > 35


def test_scores_are_computed_once_and_only_on_demand() -> None:
    asked: list[int] = []

    def score() -> float:
        asked.append(1)
        return 2.5

    parsed = ParsedSentence(Sentence.of(["a"]), Tree.of([0]), score=score)
    assert not asked
    assert pickle.loads(pickle.dumps(parsed)).score is None
    assert (parsed.score, parsed.score, asked) == (2.5, 2.5, [1])
    assert pickle.loads(pickle.dumps(parsed)).score == 2.5


def test_documents_are_values() -> None:
    doc = document(FRENCH)
    again = pickle.loads(pickle.dumps(doc))
    assert again == doc == document(FRENCH) != document(ENGLISH)
    assert hash(again) == hash(doc)
    assert again[0].words[4].start_char == doc[0].words[4].start_char
    assert doc[0] != doc[0].sentence
    assert doc != list(doc)
    assert doc[0] != ParsedSentence(doc[0].sentence, Tree.unknown(6))


@given(st.lists(any_example(), max_size=4))
def test_any_treebank_is_a_document(treebank: list[treetune.Example]) -> None:
    treebank = [example for example in treebank if len(example.sentence)]
    parsed = [ParsedSentence(example.sentence, example.gold) for example in treebank]
    doc = Document(parsed)
    assert list(doc) == parsed
    assert doc.to_conllu() == "".join(format_conllu(example.sentence, example.gold) for example in treebank)
    assert raw_text(example.sentence for example in treebank).startswith(doc.text)
    json.dumps(doc.to_dict())
    for sentence in doc:
        assert doc.text[sentence.start_char : sentence.end_char] == sentence.text
        for token in sentence.tokens:
            assert doc.text[token.start_char : token.end_char] == token.text
        for word in sentence:
            assert all(child.parent is word for child in word.children)
            assert word in word.subtree
        children = [child.id for word in sentence for child in word.children]
        assert sorted(children) == [word.id for word in sentence if word.head > 0]


def test_sentences_keep_the_spaces_of_the_text() -> None:
    misc = ("<root>", "SpacesBefore=\\s\\s", "SpacesAfter=\\n\\s")
    sentence = replace(Sentence.of(["a", "b"]), misc=misc)
    doc = Document([ParsedSentence(sentence, Tree.of([0, 1]))] * 2)
    assert doc.text == "  a b\n   a b\n"
    assert [(one.text, one.start_char) for one in doc] == [("a b", 2), ("a b", 9)]


def test_features_as_a_dictionary() -> None:
    sentence = Sentence.of(["dogs", "who", "bark"], feats=["Number=Plur", "_", "Case=Acc,Nom|Number[psor]=Sing"])
    found = [word.morph for word in ParsedSentence(sentence, Tree.unknown(3))]
    assert found == [{"Number": "Plur"}, {}, {"Case": "Acc,Nom", "Number[psor]": "Sing"}]
