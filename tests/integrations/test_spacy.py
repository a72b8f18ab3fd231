"""treetune inside spaCy: annotations, tokenizer, saved pipelines, batches. Skipped without spaCy, the extra `spacy`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import treetune
from pipeline_samples import TEXT, entity_tagger, small_pipeline
from treetune.corpus.document import ParsedSentence

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = "treetune.Tokenizer.v1"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def spacy() -> Any:
    found = pytest.importorskip("spacy", reason="needs spaCy: pip install 'treetune[spacy]'")
    import_module("treetune.integrations.spacy_component")
    if not found.registry.has("tokenizers", TOKENIZER):
        made = import_module("treetune.integrations.spacy_tokenizer").make_tokenizer
        found.registry.tokenizers(TOKENIZER, func=made)
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small.treetune"
    treetune.save(small_pipeline(), path, {"licence": "CC0"})
    return path


def own_tokenizer(spacy: Any, model: Path) -> Any:
    return spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER, "model": str(model)}}})


def complete(spacy: Any, model: Path, **config: Any) -> Any:
    nlp = own_tokenizer(spacy, model)
    nlp.add_pipe("treetune", config={"model": str(model), **config})
    return nlp


def arcs(doc: Any) -> list[tuple[str, int, str, str, str]]:
    """Return form, head in the sentence (0 for the root), label, UPOS and XPOS of the words of a spaCy document."""
    found = []
    for sentence in doc.sents:
        words = [token for token in sentence if not token.is_space]
        for token in words:
            head = 0 if token.head == token else words.index(token.head) + 1
            found.append((token.text, head, token.dep_, token.pos_, token.tag_))
    return found


def expected(document: treetune.Document) -> list[tuple[str, int, str, str, str]]:
    return [
        (word.text, word.head, "ROOT" if word.head == 0 else word.deprel, word.upos, word.xpos)
        for sentence in document.sentences
        for word in sentence.words
    ]


def test_documents_are_those_of_treetune(spacy: Any, model: Path) -> None:
    doc = complete(spacy, model)(TEXT)
    assert doc.text == TEXT
    assert arcs(doc) == expected(small_pipeline()(TEXT))
    assert doc.has_annotation("DEP")
    assert len(list(doc.sents)) == len(small_pipeline()(TEXT).sentences) == 3
    assert doc._.treetune is None


def test_the_tokens_of_spacy_are_parsed_too(spacy: Any, model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treetune", config={"model": str(model)})
    doc = nlp(TEXT)
    assert arcs(doc) == expected(small_pipeline()(TEXT))
    spaces = [(token.head.text, token.dep_, token.pos_, token.tag_) for token in doc if token.is_space]
    assert spaces == [(".", "dep", "SPACE", "_SP")]


def test_white_space_at_both_ends_belongs_to_sentences(spacy: Any, model: Path) -> None:
    text = f" \n {TEXT}   "
    for nlp in (complete(spacy, model), spacy.blank("en")):
        if "treetune" not in nlp.pipe_names:
            nlp.add_pipe("treetune", config={"model": str(model)})
        doc = nlp(text)
        assert doc.text == text
        assert arcs(doc) == expected(small_pipeline()(TEXT))
        assert "".join(sentence.text_with_ws for sentence in doc.sents) == text
    assert [nlp("   ").text, nlp("").text, len(nlp(""))] == ["   ", "", 0]


def test_sentences_that_are_there_are_kept(spacy: Any, model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer", config={"punct_chars": ["cat"]})
    nlp.add_pipe("treetune", config={"model": str(model)})
    doc = nlp("The dog sees a cat a cat was it .")
    assert [len(sentence) for sentence in doc.sents] == [5, 2, 3]


def test_batches_give_the_same_as_single_texts(spacy: Any, model: Path) -> None:
    nlp = complete(spacy, model, k_best=2, threads=2)
    texts = [TEXT, "", "A cat was a story.", "The dog sees it. The cat sees it."] * 3
    for batch in (1, 5, 100):
        docs = list(nlp.pipe(texts, batch_size=batch))
        assert [arcs(doc) for doc in docs] == [arcs(nlp(text)) for text in texts]
        assert [doc._.treetune for doc in docs] == [nlp(text)._.treetune for text in texts]


def test_k_best_trees_hang_on_the_document_and_are_saved_with_it(spacy: Any, model: Path) -> None:
    nlp = complete(spacy, model, k_best=3)
    doc = nlp(TEXT)
    lists = small_pipeline().k_best(TEXT, 3)
    assert [[tree["score"] for tree in one["trees"]] for one in doc._.treetune] == [
        [candidate.score for candidate in candidates] for candidates in lists
    ]
    for one in doc._.treetune:
        best = one["trees"][0]
        assert best["heads"] == [doc[i].head.i for i in one["tokens"]]
        assert best["deps"] == [doc[i].dep_ for i in one["tokens"]]
    again = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert again._.treetune == doc._.treetune


def test_a_model_file_is_saved_with_the_pipeline(spacy: Any, model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.treetune"
    moved.write_bytes(model.read_bytes())
    nlp = complete(spacy, moved)
    wanted = arcs(nlp(TEXT))
    nlp.to_disk(tmp_path / "saved")
    data = nlp.to_bytes()
    moved.unlink()
    again = spacy.load(tmp_path / "saved")
    assert arcs(again(TEXT)) == wanted
    again.to_disk(tmp_path / "twice")
    assert (tmp_path / "twice" / "treetune" / "model.treetune").read_bytes() == model.read_bytes()
    assert arcs(spacy.load(tmp_path / "twice")(TEXT)) == wanted
    nlp.from_bytes(data)
    assert arcs(nlp(TEXT)) == wanted


def test_a_name_is_saved_with_a_checksum(
    spacy: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREETUNE_HOME", str(tmp_path))
    (tmp_path / "mine.treetune").write_bytes(model.read_bytes())
    nlp = spacy.blank("en")
    nlp.add_pipe("treetune", config={"model": "mine"})
    nlp.to_disk(tmp_path / "saved")
    assert not (tmp_path / "saved" / "treetune" / "model.treetune").exists()
    assert json.loads((tmp_path / "saved" / "treetune" / "treetune.json").read_text())["model"] == "mine"
    assert arcs(spacy.load(tmp_path / "saved")(TEXT)) == arcs(nlp(TEXT))
    treetune.save(small_pipeline(), tmp_path / "mine.treetune", {"licence": "another"})
    with pytest.warns(UserWarning, match=r"saved with another version of the model 'mine' than the one found here, "):
        spacy.load(tmp_path / "saved")
    (tmp_path / "mine.treetune").unlink()
    with pytest.raises(treetune.TreetuneError, match=r"^there is no model called 'mine'; models here: en; "):
        spacy.load(tmp_path / "saved")


def test_one_model_is_loaded_once(spacy: Any, model: Path) -> None:
    nlp = complete(spacy, model)
    assert nlp.get_pipe("treetune").pipeline is nlp.tokenizer.pipeline


def test_displacy_draws_the_tree(spacy: Any, model: Path) -> None:
    svg = spacy.displacy.render(complete(spacy, model)("The dog sees a cat."), style="dep", jupyter=False)
    assert svg.startswith("<svg")
    assert svg.count('class="displacy-arc"') == 4
    assert ">nsubj<" in svg


class Fake:
    """A pipeline whose parser and taggers have given answers."""

    def __init__(self, sentences: list[treetune.Sentence], tree: treetune.Tree | None = None) -> None:
        self.sentences = sentences
        self.tree = tree
        self.parser = None if tree is None else object()
        self.tokenizer = object()
        self.entity_tagger = object()

    def split(self, text: str) -> list[treetune.Sentence]:
        return self.sentences

    def parse(self, sentences: list[treetune.Sentence], *, threads: int) -> Iterator[ParsedSentence]:
        assert [one.forms for one in sentences] == [one.forms for one in self.sentences]
        for one in self.sentences:
            yield ParsedSentence(one, self.tree or treetune.Tree.unknown(len(one)))


def tagged() -> treetune.Sentence:
    made = treetune.Sentence.of(["Ada", "Lovelace", "wrote"], upos=["PROPN", "PROPN", "VERB"])
    return replace(
        made,
        lemmas=("_", "Ada", "Lovelace", "write"),
        feats=("_", "Number=Sing", "Number=Sing", "Tense=Past|VerbForm=Fin"),
        misc=("_", "ner=B-PER", "ner=I-PER", "_"),
    )


def test_morphology_lemmas_and_entities_are_set(spacy: Any, model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treetune", config={"model": str(model)})._pipeline = Fake(
        [tagged()], treetune.Tree.of([3, 1, 0], ["nsubj", "flat", "root"])
    )
    doc = nlp("Ada Lovelace wrote")
    assert [token.lemma_ for token in doc] == ["Ada", "Lovelace", "write"]
    assert str(doc[2].morph) == "Tense=Past|VerbForm=Fin"
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("Ada Lovelace", "PER")]
    assert [token.head.i for token in doc] == [2, 0, 2]


def test_entities_of_a_pipeline_are_set(spacy: Any, tmp_path: Path) -> None:
    treetune.save(small_pipeline().with_entity_tagger(entity_tagger()), tmp_path / "pets.treetune")
    doc = complete(spacy, tmp_path / "pets.treetune")(TEXT)
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("dog", "PET"), ("cat", "PET"), ("cat", "PET")]


def test_without_a_parser_there_are_sentences(spacy: Any, model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treetune", config={"model": str(model)})._pipeline = Fake([tagged()])
    doc = nlp("Ada Lovelace wrote ")
    assert not doc.has_annotation("DEP")
    assert [sentence.text for sentence in doc.sents] == ["Ada Lovelace wrote"]
    assert doc[2].pos_ == "VERB"


def test_words_that_are_not_written_are_tokens_with_the_offsets_of_their_token(spacy: Any, model: Path) -> None:
    made = treetune.Sentence.of(["Le", "retour", "de", "le", "roi"])
    made = replace(made, multiword=((3, "3-4\tdu" + "\t_" * 8),))
    tokenizer = own_tokenizer(spacy, model).tokenizer
    tokenizer._pipeline = Fake([made])
    doc = tokenizer("Le retour du roi")
    assert [token.text for token in doc] == ["Le", "retour", "de", "le", "roi"]
    assert doc.text == "Le retour de le roi"
    assert doc._.treetune_offsets == [(0, 2), (3, 9), (10, 12), (10, 12), (13, 16)]


def test_problems_are_one_sentence(spacy: Any, model: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(treetune.TreetuneError, match=r"^there is no model called 'nothing'; "):
        nlp.add_pipe("treetune", config={"model": "nothing"})
    treetune.save(small_pipeline().parser, tmp_path / "p.treetune")  # type: ignore[arg-type]
    nlp.add_pipe("treetune", config={"model": str(tmp_path / "p.treetune")})
    with pytest.raises(treetune.TreetuneError, match=r"p.treetune has no tokenizer to find sentences by; add spaCy's"):
        nlp("The dog sees a cat.")
    with pytest.raises(treetune.TreetuneError, match=r"p.treetune has no tokenizer; name a model of raw text, or use"):
        own_tokenizer(spacy, tmp_path / "p.treetune")("The dog sees a cat.")


def test_spacy_finds_factory_and_tokenizer_by_the_entry_points(spacy: Any, model: Path, tmp_path: Path) -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in found.items())
        for group, found in groups.items()
    ]
    (tmp_path / "entries-1.0.dist-info").mkdir()
    (tmp_path / "entries-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: entries\nVersion: 1.0\n")
    (tmp_path / "entries-1.0.dist-info" / "entry_points.txt").write_text("\n".join(lines))
    code = f"""
import spacy, sys
config = {{"nlp": {{"tokenizer": {{"@tokenizers": "{TOKENIZER}", "model": {str(model)!r}}}}}}}
nlp = spacy.blank("en", config=config)
nlp.add_pipe("treetune", config={{"model": {str(model)!r}}})
print(*(token.dep_ for token in nlp("The dog sees a cat.")))
"""
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout.split() == [label for *_, label, _, _ in expected(small_pipeline()("The dog sees a cat."))]
