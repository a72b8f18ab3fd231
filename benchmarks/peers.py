"""Train the parsers treetune is compared with, UDPipe 1, spaCy and MaltParser, on UD English EWT, into a cache folder.

A peer is trained in a process of its own, with one thread, and only when the cache holds no model made with
the same settings from the same file. Beside each model lies a record of what training cost.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import maltparser, measure

TRAIN, DEV = Path("ud", "en_ewt-train.conllu"), Path("ud", "en_ewt-dev.conllu")
UDPIPE = tomllib.loads(Path(__file__).with_name("udpipe.toml").read_text(encoding="utf-8"))
# spaCy sees the words only: that is its default.
SPACY_CONFIG = Path(__file__).with_name("spacy.cfg")


def train_udpipe(data: Path, model: Path) -> None:
    """Train the parser of UDPipe, no tokenizer and no tagger, on gold tags."""
    options = ";".join(f"{name}={value}" for name, value in UDPIPE["udpipe"].items())
    _train_udpipe(data, model, tokenizer="none", tagger="none", parser=options)


def train_udpipe_text(data: Path, model: Path) -> None:
    """Train the tokenizer, the tagger and the parser of UDPipe."""
    _train_udpipe(data, model, **UDPIPE["udpipe-text"])


def _train_udpipe(data: Path, model: Path, *, tokenizer: str, tagger: str, parser: str, treebank: Path = TRAIN) -> None:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

    sentences = Sentences()
    reader = InputFormat.newConlluInputFormat()
    reader.setText((data / treebank).read_text(encoding="utf-8"))
    error = ProcessingError()
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = Sentence()
    trained = Trainer.train("morphodita_parsito", sentences, Sentences(), tokenizer, tagger, parser, error)
    if error.occurred():
        raise SystemExit(f"UDPipe: {error.message}")
    model.write_bytes(trained)


def train_spacy(data: Path, model: Path) -> None:
    """Train spaCy's parser on gold tokens with spaCy's own loop; keep the best model on dev."""
    from spacy.tokens import DocBin
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train
    from spacy.util import load_config

    shutil.rmtree(model, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=model.parent) as name:
        folder = Path(name)
        corpora = {}
        for part, source in (("train", TRAIN), ("dev", DEV)):
            corpora[f"paths.{part}"] = str(folder / f"{part}.spacy")
            DocBin(docs=spacy_docs(data / source)).to_disk(folder / f"{part}.spacy")
        nlp = init_nlp(load_config(SPACY_CONFIG, overrides=corpora), use_gpu=-1)
        train(nlp, folder, use_gpu=-1, stdout=sys.stderr)
        (folder / "model-best").rename(model)


def train_maltparser(data: Path, model: Path) -> None:
    """Train MaltParser on gold tags."""
    maltparser.train(data / TRAIN, model)


def spacy_docs(path: Path) -> list[Any]:
    """Read a CoNLL-U file as spaCy's own converter does, one sentence a Doc."""
    from spacy.training.converters import conllu_to_docs

    return list(conllu_to_docs(path.read_text(encoding="utf-8"), n_sents=1, no_print=True))


@dataclass(frozen=True)
class Peer:
    """How a peer is trained, with what settings, and what its model is called in the cache."""

    train: Callable[[Path, Path], None]
    settings: dict[str, str]
    model: str


PEERS = {
    "udpipe": Peer(train_udpipe, UDPIPE["udpipe"], "udpipe.model"),
    "udpipe-text": Peer(train_udpipe_text, UDPIPE["udpipe-text"], "udpipe-text.model"),
    "spacy": Peer(train_spacy, {"spacy.cfg": SPACY_CONFIG.read_text(encoding="utf-8")}, "spacy-model"),
    "maltparser": Peer(train_maltparser, maltparser.TRAINING, "maltparser.mco"),
}


def train_here(name: str, data: str, cache: str) -> dict[str, Any]:
    """Train one peer in this process, write its model and record, and return the record."""
    peer, folder = PEERS[name], Path(cache)
    seconds = measure.cpu_seconds(lambda: peer.train(Path(data), folder / peer.model))
    seconds += measure.cpu_seconds_of_children()
    peak = max(measure.peak_rss_mb(), measure.peak_rss_mb_of_children())
    record = {
        **measure.provenance(["ufal.udpipe", "spacy", "thinc"]),
        "peer": name,
        "settings": peer.settings,
        "train_sha256": measure.sha256(Path(data) / TRAIN),
        "cpu_seconds": seconds,
        "peak_rss_mb": peak,
    }
    measure.write_json(folder / f"{name}.json", record)
    return record


def train_treebank_here(treebank: str, data: str, model: str) -> dict[str, Any]:
    """Train UDPipe with its default settings, or those of ``udpipe.toml``, and write its model and record."""
    source, out = Path("ud", f"{treebank}-train.conllu"), Path(model)
    settings = UDPIPE["udpipe-treebank"].get(treebank, {})
    options = {"tokenizer": "", "tagger": "", "parser": "", **settings}
    seconds = measure.cpu_seconds(lambda: _train_udpipe(Path(data), out, treebank=source, **options))
    record = {
        **measure.provenance(["ufal.udpipe"]),
        "settings": settings or "defaults",
        "train_sha256": measure.sha256(Path(data) / source),
        "cpu_seconds": seconds,
        "peak_rss_mb": measure.peak_rss_mb(),
    }
    measure.write_json(out.with_suffix(".udpipe.json"), record)
    return record


def train_treebank_cached(treebank: str, *, data: Path, cache: Path) -> Path:
    """Return UDPipe's model of a treebank, trained with its default settings unless the cache holds it."""
    model = cache / f"{treebank}.udpipe"
    if model.exists():
        measure.say(f"{treebank}: UDPipe already in {cache}")
        return model
    measure.say(f"{treebank}: training UDPipe")
    cache.mkdir(parents=True, exist_ok=True)
    measure.in_child("benchmarks.peers:train_treebank_here", treebank=treebank, data=data, model=model)
    return model


def is_cached(name: str, *, data: Path, cache: Path) -> bool:
    """Whether the cache holds this peer, made with the same settings from the same file."""
    peer, path = PEERS[name], cache / f"{name}.json"
    if not path.exists() or not (cache / peer.model).exists():
        return False
    record = json.loads(path.read_text(encoding="utf-8"))
    same_data = record["train_sha256"] == measure.sha256(data / TRAIN)
    return same_data and bool(record["settings"] == peer.settings)


def train_cached(name: str, *, data: Path, cache: Path) -> None:
    """Train one peer in a process of its own, unless the cache holds it."""
    if is_cached(name, data=data, cache=cache):
        measure.say(f"{name}: already in {cache}")
        return
    measure.say(f"{name}: training")
    cache.mkdir(parents=True, exist_ok=True)
    record = measure.in_child("benchmarks.peers:train_here", name=name, data=data, cache=cache)
    measure.say(f"{name}: trained in {record['cpu_seconds'] / 60:.1f} CPU-minutes")
