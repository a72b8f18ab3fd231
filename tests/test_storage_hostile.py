"""Model files made to do harm, their checksums right: each is refused by one sentence, before memory is taken."""

from __future__ import annotations

import copy
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from model_mutations import listed, outcome, read, seal, study, train_all
from treetune import storage
from treetune.errors import ModelError
from treetune.models.pipeline import Pipeline

Header = dict[str, Any]
Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    train_all(folder)
    return folder


def refused(models: Path, name: str, change: Callable[[Header, Arrays], object]) -> str:
    """Return why a changed model is refused."""
    header, tensors = read(models / f"{name}.treetune")
    header, tensors = copy.deepcopy(header), {key: array.copy() for key, array in tensors.items()}
    change(header, tensors)
    header["tensors"] = listed(tensors)
    path = models / "changed"
    path.write_bytes(seal(header, tensors))
    with pytest.raises(ModelError) as caught:
        storage.load(path)
    assert str(caught.value).startswith(f"{path} is damaged: ")
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{path} is damaged: ").removesuffix("; copy or train it again")


def test_sound_models_of_every_kind_load_and_work(models: Path) -> None:
    found = {path.stem: outcome(path) for path in models.glob("*.treetune")}
    assert set(found.values()) == {"loaded"}
    kinds = {storage.inspect(path).kind for path in models.glob("*.treetune")}
    assert kinds == {"transition", "graph", "tagger", "lemmatizer", "tokenizer", "stacked", "reranker", "pipeline"}


@pytest.mark.parametrize("value", [0, 65535])
def test_counts_beyond_the_cells(models: Path, value: int) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        arrays["counts"][3] = value

    outputs = 2 + 2 * len(storage.inspect(models / "transition.treetune").labels)
    why = f"counts: expected numbers from 1 to {outputs}, found {value:,}"
    assert refused(models, "transition", change) == f"it is no sound transition model ({why})"


def test_outputs_beyond_the_labels(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        arrays["outputs"][:] = 65535

    assert "(outputs: expected numbers from 0 to" in refused(models, "transition", change)


def test_fewer_labels_than_outputs(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"] |= {"labels": ["root"], "labels_at_root": [True], "labels_at_word": [True]}
        header["config"].pop("labels_by_tag", None)

    assert "expected numbers from" in refused(models, "transition", change)


def test_keys_that_share_a_slot_would_take_hours(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        size = 300_000
        arrays["keys"] = np.arange(size, dtype=np.uint64)
        arrays["counts"], arrays["outputs"] = np.ones(size, np.uint16), np.zeros(size, np.uint16)
        arrays["weights"] = np.ones(size, np.int16)

    assert "(keys: expected keys that are spread evenly" in refused(models, "transition", change)


def test_templates_of_base_trees_in_a_parser_without_them(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"]["templates"][0][0] = ["S0.base"]

    assert "(templates: expected templates that fit" in refused(models, "transition", change)


def test_labels_that_look_at_a_tree_that_is_not_there_yet(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"]["options"]["labels"] = "joint"

    assert "(templates: expected templates that fit" in refused(models, "graph", change)


def test_words_with_the_tag_of_the_boundary(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        arrays["lexicon.of_word"][5] = 0

    assert "(lexicon.of_word: expected the set 0 for the root alone" in refused(models, "tagger", change)


@pytest.mark.parametrize("value", [float("inf"), 0, -1, 1e-320, True, "8", None])
def test_scales_that_are_no_numbers(models: Path, value: object) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"]["scale"] = value

    # What JSON cannot hold is no header.
    message = refused(models, "tagger", change)
    assert "(scale: expected a number above 0, found " in message or value == float("inf")


@pytest.mark.parametrize("beam", [0, 2**31, 65535, 8.5, "8", True])
def test_beams_of_any_size(models: Path, beam: object) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"]["options"]["beam"] = beam

    assert "beam" in refused(models, "transition", change)


def test_labels_with_control_characters(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        header["config"]["labels"][0] = "a\x1b[2J\t"

    expected = r"(labels: expected texts without control characters, found 'a\x1b[2J\t')"
    assert expected in refused(models, "transition", change)


def test_a_part_that_is_no_parser(models: Path) -> None:
    def change(header: Header, arrays: Arrays) -> None:
        config, tensors = read(models / "tagger.treetune")
        header["config"]["parts"]["base"] = {"kind": "tagger", "config": config["config"]}
        arrays |= {f"base.{name}": array for name, array in tensors.items()}

    assert "(parts.base.kind: expected a parser, found 'tagger')" in refused(models, "stacked", change)


def test_arrays_that_the_header_does_not_list(models: Path) -> None:
    header, tensors = read(models / "tagger.treetune")
    path = models / "changed"
    path.write_bytes(seal(header, {**tensors, "more": np.zeros(3)}))
    with pytest.raises(ModelError, match=r"of the array 'more' its header lists none, found float64 \[3\]"):
        storage.load(path)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting(models: Path, depth: int) -> None:
    header, tensors = read(models / "tagger.treetune")
    text = json.dumps({**header, "info": "DEEP"}).replace('"DEEP"', '{"x":' * depth + "1" + "}" * depth)
    path = models / "changed"
    path.write_bytes(seal(text.encode(), tensors))
    for look in (storage.load, storage.inspect):
        with pytest.raises(ModelError, match="is damaged: its header"):
            look(path)


def test_a_small_file_that_unpacks_to_gigabytes(models: Path) -> None:
    header, _ = read(models / "tagger.treetune")
    size = 3 << 30
    packer = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    payload = b"".join([*(packer.compress(bytes(1 << 24)) for _ in range(size >> 24)), packer.flush()])
    listing = {"weights.keys": {"dtype": "uint64", "shape": [size // 8]}}
    path = models / "changed"
    path.write_bytes(seal({**header, "tensors": listing}, {}, payload))
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    with pytest.raises(ModelError, match=r"its weights unpack to 3,221,225,472 bytes, expected"):
        storage.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert time.perf_counter() - start < 5


def test_mutated_models_are_refused_or_work(models: Path) -> None:
    counts, bad = study(models, 300)
    assert bad == []
    assert counts["loaded"] + counts["refused"] == 300
    assert min(counts["loaded"], counts["refused"]) > 20


@pytest.mark.slow
def test_ten_thousand_mutated_models_are_refused_or_work(models: Path) -> None:
    counts, bad = study(models, 10_000)
    assert bad == []
    assert counts["loaded"] + counts["refused"] == 10_000


def test_a_pipeline_of_a_checked_file_parses_as_before(models: Path) -> None:
    pipeline = storage.load(models / "pipeline.treetune")
    assert isinstance(pipeline, Pipeline)
    again = Pipeline.from_state(*pipeline.state())
    assert again("The dog sees a cat.").to_conllu() == pipeline("The dog sees a cat.").to_conllu()
