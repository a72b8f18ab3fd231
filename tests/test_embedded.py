"""The models inside the package: they load, parse, are small, and their card tells the truth about them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import treetune
from treetune.corpus.rawtext import raw_text
from treetune.corpus.wellformed import is_tree
from treetune.model_names import embedded_models, find_model
from treetune.models.pipeline import Pipeline
from treetune.storage import inspect

ROOT = Path(__file__).resolve().parents[1]
CARD = (ROOT / "src" / "treetune" / "embedded" / "README.md").read_text(encoding="utf-8")
RESULT = ROOT / "benchmarks" / "results" / "raw-text.json"

TEXT = "She gave him a book. Fruit flies don't.\n\nCan we see https://example.org 🙂 tomorrow? Yes!"


@pytest.fixture(scope="module")
def english() -> Pipeline:
    model = treetune.load("en")
    assert isinstance(model, Pipeline)
    return model


def test_english_is_there_and_small() -> None:
    assert embedded_models() == ["en"]
    path = Path(find_model("en"))
    assert path.stat().st_size <= 20_000_000
    header = inspect("en")
    assert header.kind == "pipeline"
    assert "CC BY-SA 4.0" in header.info["licence"]
    assert header.info["training"]["train"]["name"] == "en_ewt-train.conllu"


def test_english_goes_from_text_to_trees(english: Pipeline) -> None:
    assert list(english.parts) == ["tokenizer", "tagger1", "tagger2", "tagger3", "lemmatizer", "parser"]
    doc = english(TEXT)
    assert raw_text(parsed.sentence for parsed in doc) == doc.text == TEXT
    assert [len(sentence) for sentence in doc] == [6, 5, 7, 2]
    assert [word.text for word in doc[1]] == ["Fruit", "flies", "do", "n't", "."]
    assert [word.upos for word in doc[0]] == ["PRON", "VERB", "PRON", "DET", "NOUN", "PUNCT"]
    assert doc[0].heads == (2, 0, 2, 5, 2, 2)
    assert all(is_tree(sentence.tree.heads) for sentence in doc)


def test_a_document_reads_as_that_of_other_libraries(english: Pipeline) -> None:
    doc = english("Dogs bark. They don't bite.")
    assert (len(doc), len(doc.sentences), repr(doc)) == (
        2,
        2,
        '<Document of 2 sentences: "Dogs bark. They don\'t bite.">',
    )
    bark = doc.sentences[0].words[1]
    assert (bark.text, bark.id, bark.head, bark.deprel, bark.parent) == ("bark", 2, 0, "root", None)
    assert (bark.start_char, bark.end_char) == (5, 9)
    assert [child.text for child in bark.children] == ["Dogs", "."]
    second = doc[1]
    assert [(word.upos, word.xpos) for word in second[:2]] == [("PRON", "PRP"), ("AUX", "VBP")]
    assert second.root.text == "bite"
    assert [word.text for word in second.root.subtree] == ["They", "do", "n't", "bite", "."]
    (token,) = [token for token in second.tokens if len(token.words) > 1]
    assert (token.text, [doc.text[word.start_char : word.end_char] for word in token.words]) == ("don't", ["do", "n't"])
    assert isinstance(second.score, float)
    assert [len(candidates) for candidates in english.k_best(doc.text, 4)] == [4, 4]
    rooted = english("Dogs bark.", constraints={(0, 1): 0})
    assert rooted[0].root.text == "Dogs"
    assert doc.to_conllu().splitlines()[4].split("\t")[:4] == ["1", "Dogs", "dog", "NOUN"]


def test_english_has_morphology_lemmas_entities_and_confidence(english: Pipeline) -> None:
    (sentence,) = english.with_confidence(english("John Smith bought 5,000 books in Paris."))
    assert [word.lemma for word in sentence][2:5] == ["buy", "5000", "book"]
    assert sentence[2].morph["Tense"] == "Past"
    assert [(entity.text, entity.label) for entity in sentence.entities] == [("John Smith", "PER"), ("Paris", "LOC")]
    assert all(0 < (word.confidence or 0) <= 1 for word in sentence)


def test_threads_change_nothing(english: Pipeline) -> None:
    text = " ".join([TEXT] * 20)
    assert english(text, threads=3) == english(text)


def test_the_card_quotes_what_was_measured() -> None:
    assert "CC BY-SA 4.0" in CARD
    assert "scripts/build_english" in CARD
    record = json.loads(RESULT.read_text(encoding="utf-8"))
    for part in ("dev", "test", "GUM", "PUD"):
        row = re.search(rf"^\| {part} \|(.*)\|$", CARD, flags=re.MULTILINE)
        assert row is not None
        quoted = [cell.strip() for cell in row[1].split("|")]
        assert quoted == [f"{value:.2f}" for value in record["systems"]["treetune"][part].values()]
    assert f"{record['model']['mb']:.1f} MB" in CARD


def test_the_card_knows_the_file_it_was_trained_on() -> None:
    assert inspect("en").info["training"]["train"]["sha256"] in CARD


@pytest.mark.data
def test_it_is_as_good_as_its_card_says(english: Pipeline, data_dir: Path) -> None:
    gold = list(treetune.read_trees(data_dir / "ud" / "en_ewt-dev.conllu"))
    scores = treetune.evaluate(gold, english(raw_text(example.sentence for example in gold)), subtypes=False)
    record = json.loads(RESULT.read_text(encoding="utf-8"))
    for name, value in record["systems"]["treetune"]["dev"].items():
        assert f"{100 * scores[name]:.2f}" == f"{value:.2f}", name
