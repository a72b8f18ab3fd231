"""Mutated model files with valid checksums: each is refused by one sentence, or loads and works.

``python tests/model_mutations.py FOLDER COUNT`` trains a tiny model of every kind and tries so many mutations, in
processes of their own, so that a crash is seen and counted.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import zstandard

from treetune import storage
from treetune.cli import info
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ModelError
from treetune.features.brown import learn_clusters
from treetune.learning.stacking import train_stacked
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.graph.parser import GraphParser
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.models.reranker import Reranker
from treetune.models.sequence.lemmatizer import Lemmatizer
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition._kernels import ADDRESSES
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

Content = tuple[dict[str, Any], dict[str, Any]]
SECONDS = 60
SENTENCES = [replace(example.sentence, base_tree=None) for example in generate(3, seed=99)]
TEXT = "The dog sees a cat. He can't spilled it.\n\nA cat was a story."
NUMBERS = (0, -1, 1, 2, 3, 255, 65535, 2**31, 2**63, 10**30, 0.5, 1e-320, 1e300, float("nan"), float("inf"), True)
TEXTS = ("", "x", "w", "upos", "\x1b[31m", "a\tb\nc", "\ud800", "S0.w", "H<.w", "S0.base", "T-2.tag", "W+9999999999.w")
COLUMNS = ("w", "suffix", "t", "u", "x", "f", "g", "c4", "lower")
VALUES = (*COLUMNS, "label", "vl", "vr", "sl", "sr", "dist", "dir", "base", "tag", "class")
GRAPH_ADDRESSES = ("H", "D", "A", "B", "S", "G", "Dl", "Dr", "W", "T")
SHIFTS = ("-1", "+1", "-2", "+9", "+99999", "<", ">", "^")
PLAUSIBLE: dict[str, tuple[Any, ...]] = {
    "order": (1, 2),
    "decoder": ("projective", "non-projective"),
    "labels": ("joint", "second-stage"),
    "beam": (1, 2, 3, 4, 7, 64, 4096),
    "backward": (True, False),
    "columns": (["upos"], ["xpos"], ["feats"], ["ner"], ["upos", "feats"]),
    "inputs": ([], ["upos"], ["feats", "xpos"]),
    "spans": (True, False),
    "given": (True, False),
    "shared": (True, False),
}
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def train_all(folder: Path) -> None:
    """Write a tiny trained model of each kind to a folder."""
    from pipeline_samples import small_pipeline

    examples = generate(60, seed=3)
    clusters = folder / "clusters.txt"
    learn_clusters((example.sentence.forms[1:] for example in examples), classes=8).write(clusters)
    transition = TransitionParser(beam=2).fit(examples, epochs=1)
    backward = TransitionParser(beam=4, backward=True).fit(examples, epochs=1)
    options: Any = {"epochs": 1}
    *_, stacking = train_stacked(
        partial(TransitionParser, beam=1), GraphParser, examples, folds=2, base_options=options, main_options=options
    )
    pipeline = small_pipeline()
    models: dict[str, Any] = {
        "transition": transition,
        "clusters": TransitionParser(beam=1, features="clusters", clusters=str(clusters)).fit(examples, epochs=1),
        "graph": GraphParser().fit(examples, epochs=1).with_options(decoder="non-projective"),
        "joint": GraphParser(labels="joint").fit(examples, epochs=1),
        "graph2": GraphParser(order=2).fit(examples, epochs=1),
        "tagger": Tagger(columns=("upos", "xpos")).fit(examples, epochs=1),
        "tagger2": Tagger(order=2).fit(examples, epochs=1),
        "crf": Tagger(dictionary=0).fit(examples, epochs=1, learner="crf"),
        "morphology": Tagger(
            columns=("feats",), inputs=("upos", "xpos"), features="morphology", given=True, shared=True
        ).fit(examples, epochs=1),
        "lemmatizer": _lemmatizer(examples),
        "tokenizer": pipeline.tokenizer,
        "multiword": _multiword_tokenizer(),
        "stacked": stacking.model,
        "reranker": Reranker(transition, backward, k=4),
        "pipeline": pipeline,
        "quantized": quantize(pipeline),
    }
    for name, model in models.items():
        storage.save(model, folder / f"{name}.treetune", {"training": {"seed": 1}})


def _lemmatizer(examples: Any) -> Lemmatizer:
    lemmatizer = Lemmatizer()
    lemmatizer.tagger.fit(lemmatizer.examples(example.sentence for example in examples), epochs=1)
    return lemmatizer


def _multiword_tokenizer() -> Tokenizer:
    """Return a tokenizer to which a cat is two words, and other words that end so may be."""
    tokenizer = Tokenizer()
    made = []
    for form in ("cat", "cat", "comprárselo", "llevárselo", "story"):
        words = ("de", "le") if form == "cat" else (f"{form[:-6]}ar", "se", "lo") if form.endswith("o") else (form,)
        columns = [f"3-{2 + len(words)}", form, *["_"] * 8]
        lines = ((3, "\t".join(columns)),) if len(words) > 1 else ()
        sentence = replace(Sentence.of(["He", "sees", *words, "."]), multiword=lines)
        made.append(Example(sentence, Tree.unknown(len(sentence))))
    for _ in train_tokenizer(tokenizer, made * 4, epochs=3):
        pass
    assert tokenizer.weights is not None
    assert len(tokenizer.weights.scripts.scripts) == 2
    return tokenizer


@cache
def read(path: Path) -> Content:
    """Return the header and the arrays of a file."""
    data = path.read_bytes()
    length = int.from_bytes(data[16:24], "little")
    payload = zstandard.ZstdDecompressor().decompress(data[96 + length :])
    return json.loads(data[96 : 96 + length]), safetensors.numpy.load(payload)


def seal(header: dict[str, Any] | bytes, tensors: dict[str, Any], payload: bytes | None = None) -> bytes:
    """Return a file whose checksums are right, whatever it holds."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    dense = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    if payload is None:
        payload = zstandard.ZstdCompressor(level=1).compress(safetensors.numpy.save(dense))
    fixed = storage.MAGIC + struct.pack("<IQQ", storage.FORMAT, len(text), len(payload))
    fixed += hashlib.sha256(payload).digest()
    return fixed + hashlib.sha256(fixed + text).digest() + text + payload


def listed(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the list of arrays as headers have it."""
    return {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in tensors.items()}


def mutate(content: Content, draw: random.Random) -> bytes:
    """Return a file of one to three mutations."""
    header, tensors = copy.deepcopy(content[0]), dict(content[1])
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        draw.choice(
            (
                lambda: _mutate_arrays(tensors, draw),
                lambda: _mutate_header(header, draw),
                lambda: _mutate_plausibly(header, tensors, draw),
            )
        )()
    if draw.random() < 0.95 and isinstance(header.get("tensors"), dict):
        header["tensors"] = listed(tensors)
    if draw.random() < 0.01:
        header["info"] = {"deep": "DEEP"}
        depth = draw.choice((60, 2000, 200_000))
        return seal(json.dumps(header).encode().replace(b'"DEEP"', b"[" * depth + b"]" * depth), tensors)
    return seal(header, tensors)


def _mutate_header(header: dict[str, Any], draw: random.Random) -> None:
    """Change one value somewhere in the header, each branch equally likely."""
    node: Any = header
    key: Any = "config" if "config" in header and draw.random() < 0.8 else draw.choice(sorted(header))
    while isinstance(node.get(key) if isinstance(node, dict) else node[key], dict | list) and draw.random() < 0.85:
        inner = node[key]
        if not inner:
            break
        node, key = inner, draw.choice(list(inner)) if isinstance(inner, dict) else draw.randrange(len(inner))
    how = draw.randrange(6)
    if how == 0:
        del node[key]
    elif how == 1 and isinstance(node, dict):
        node[draw.choice(TEXTS)] = node.pop(key)
    elif how == 2:
        node[key] = draw.choice((*NUMBERS, *TEXTS, None, [], {}, [[]], {"x": 1}, [1, 2], ["x"]))
    else:
        node[key] = _changed(node[key], draw)


def _mutate_plausibly(header: dict[str, Any], tensors: dict[str, Any], draw: random.Random) -> None:
    """Change what a check of types and sizes alone would let pass: options, templates, labels, vocabularies, values."""
    config = _some_config(header.get("config"), draw)
    options, templates = config.get("options"), config.get("templates")
    how = draw.randrange(5)
    if how == 0 and isinstance(options, dict):
        name = draw.choice(sorted(PLAUSIBLE))
        options[name] = draw.choice(PLAUSIBLE[name])
    elif how == 1 and isinstance(templates, list) and templates and isinstance(templates[0], list):
        group = draw.choice(templates)
        group[draw.randrange(len(group))] = [_atom(draw) for _ in range(draw.randrange(1, 4))]
    elif how == 2 and isinstance(config.get("labels_at_root"), list) and isinstance(config.get("labels"), list):
        for name in ("labels_at_root", "labels_at_word"):
            config[name] = [draw.random() < 0.5 for _ in config["labels"]]
    elif how == 3 and isinstance(config.get("encoder"), dict):
        config["stacked"] = draw.random() < 0.5
        values = config["encoder"].get("values")
        # An earlier mutation may have made something else of it.
        if not isinstance(values, dict):
            return
        values[draw.choice(COLUMNS)] = draw.sample(["NOUN", "VERB", "DET", "the", "a", "x"], draw.randrange(6))
    elif tensors:
        name = draw.choice(sorted(tensors))
        array = tensors[name]
        if len(array) and array.ndim == 1:
            tensors[name] = np.array(draw.choices(array.tolist(), k=len(array)), array.dtype)


def _some_config(config: Any, draw: random.Random) -> dict[str, Any]:
    """Return the configuration of a model, or of one of its parts."""
    while isinstance(config, dict) and isinstance(config.get("parts"), dict) and config["parts"]:
        part = draw.choice(list(config["parts"].values()))
        config = part.get("config") if isinstance(part, dict) else None
    return config if isinstance(config, dict) else {}


def _atom(draw: random.Random) -> str:
    """Return an atom of some family of models; most are unknown to most."""
    return f"{draw.choice((*ADDRESSES, *GRAPH_ADDRESSES))}{draw.choice(('',) * 5 + SHIFTS)}.{draw.choice(VALUES)}"


def _changed(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice(NUMBERS)
    if isinstance(value, str):
        return draw.choice((*TEXTS, value + "x", value[:-1]))
    if isinstance(value, list) and value:
        ways: tuple[Callable[[], list[Any]], ...] = (
            lambda: value[: draw.randrange(len(value))],
            lambda: [*value, draw.choice(value)],
            lambda: draw.sample(value, len(value)),
            lambda: [draw.choice(value)] * len(value),
            lambda: value * 3,
        )
        return draw.choice(ways)()
    if isinstance(value, dict) and value:
        keys = list(value)
        return {key: value[draw.choice(keys)] for key in keys}
    return draw.choice(NUMBERS)


def _mutate_arrays(tensors: dict[str, Any], draw: random.Random) -> None:
    name = draw.choice(sorted(tensors))
    array = tensors[name].copy()
    how = draw.randrange(12)
    if how == 0:
        del tensors[name]
        return
    if how == 1:
        tensors[name + "x"] = tensors.pop(name)
        return
    if how == 2:
        other = draw.choice(sorted(tensors))
        tensors[name], tensors[other] = tensors[other], tensors[name]
        return
    tensors[name] = _changed_array(array, how, draw)


def _changed_array(array: Any, how: int, draw: random.Random) -> Any:
    if how == 3:
        return array[: draw.randrange(len(array) + 1)]
    if how == 4:
        return np.concatenate([array, array[: draw.randrange(1, 10)]])
    if how == 5:
        return np.array(draw.sample(array.tolist(), len(array)), array.dtype)
    if how == 6:
        return array.astype(draw.choice(TYPES))
    if how == 7:
        return array.reshape(draw.choice(((1, -1), (-1, 1))))
    if len(array) and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        value = max(limits.min, min(limits.max, draw.choice((0, 1, -1, 17, 65535, 2**31, 2**63, 2**64))))
        size = draw.choice((1, 1, 3, len(array)))
        array[[draw.randrange(len(array)) for _ in range(size)] if size < len(array) else slice(None)] = value
    return array


def use(path: Path) -> None:
    """Load a model and use all it has; raise what it raises."""
    header = storage.inspect(path)
    info._rows(header)
    model = storage.load(path)
    pipeline = Pipeline.of(model)
    if pipeline.tokenizer is not None:
        list(pipeline.split(TEXT))
        if pipeline.parser is not None:
            pipeline(TEXT).to_conllu()
    tagged = pipeline.tag(SENTENCES)
    if pipeline.taggers and hasattr(model, "marginals"):
        model.marginals(SENTENCES)
    predictors: list[Any] = [*pipeline.taggers, pipeline.parser]
    for predictor in predictors:
        if predictor is not None:
            predictor.predict_batch(tagged, threads=2)
            best = predictor.k_best(tagged[0], 3)
            predictor.score(tagged[0], best[0])


def outcome(path: Path) -> str:
    """Return what became of a file."""
    try:
        use(path)
    except ModelError as error:
        return "refused" if "\n" not in str(error) and str(error).isprintable() else f"other: {error!r}"
    except Exception as error:
        return f"other: {type(error).__name__}: {error}"[:300].replace("\n", " ")
    return "loaded"


def mutants(folder: Path, first: int, last: int) -> Iterator[tuple[str, bytes]]:
    """Yield the mutants numbered from `first`, each the same in every run."""
    paths = sorted(folder.glob("*.treetune"))
    for number in range(first, last):
        draw = random.Random(number)
        path = paths[number % len(paths)]
        yield path.stem, mutate(read(path), draw)


def work(folder: Path, first: int, last: int) -> None:
    """Write the outcome of each mutant to stdout."""
    target = folder / f"mutant-{first}"
    for number, (name, data) in enumerate(mutants(folder, first, last), start=first):
        target.write_bytes(data)
        # Kernels do not look at signals, so that the default action, which ends the process, is the right one.
        signal.alarm(SECONDS)
        sys.stdout.write(json.dumps([number, name, outcome(target)]) + "\n")
        sys.stdout.flush()
    target.unlink(missing_ok=True)


def study(folder: Path, count: int) -> tuple[Counter[str], list[str]]:
    """Try `count` mutants in processes of their own; return how many there are of each outcome, and the bad ones."""
    counts: Counter[str] = Counter()
    bad: list[str] = []
    first = 0
    while first < count:
        command = [sys.executable, __file__, str(folder), str(first), str(count)]
        done = subprocess.run(command, capture_output=True, text=True)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        for number, name, result in results:
            counts[result.partition(":")[0]] += 1
            if result.startswith("other"):
                bad.append(f"{number} {name} {result}")
        first += len(results)
        if first < count:
            counts["crashed"] += 1
            bad.append(f"{first} crashed with {done.returncode}: {done.stderr[-500:]}")
            first += 1
    return counts, bad


if __name__ == "__main__":
    if len(sys.argv) == 4:
        work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    else:
        home = Path(sys.argv[1])
        if not list(home.glob("*.treetune")):
            train_all(home)
        found, faults = study(home, int(sys.argv[2]))
        sys.stdout.write("\n".join([*faults, str(dict(found))]) + "\n")
