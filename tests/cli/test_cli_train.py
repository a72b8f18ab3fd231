"""``treetune train`` with a stub that learns nothing: options, reports, notes in the model, and faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_samples import PLAIN
from commandline import Result, run, sets

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.corpus.sentence import Example
from treetune.evaluation.scores import evaluate_trees
from treetune.learning import trainer
from treetune.learning.progress import Progress

__all__ = ["stub_model_fixture"]

CALLS: list[dict[str, Any]] = []
MADE: list[StubParser] = []


def learn(
    parser: StubParser, treebank: Sequence[Example], *, dev: Sequence[Example] = (), **options: Any
) -> Iterator[Progress]:
    """Pretend to train: two records an epoch, the second epoch is the best."""
    CALLS.append(options)
    MADE.append(parser)
    words = sum(len(example.sentence) for example in treebank)
    parser.labels = ("dep",)
    parser.weights = np.full(3, options["seed"], np.float32)
    for epoch in range(1, options["epochs"] + 1):
        for seen in (1, len(treebank)):
            last = seen == len(treebank)
            scores = None
            if dev and last:
                trees = parser.predict_batch([example.sentence for example in dev])
                scores = evaluate_trees(dev, trees)
            yield Progress(
                epoch=epoch,
                epochs=options["epochs"],
                seen=seen,
                total=len(treebank),
                updated=2,
                words=words * seen // len(treebank),
                cpu_seconds=0.5,
                is_epoch_end=last,
                dev=scores,
                best=bool(last and dev and epoch <= 2),
                settings={"learner": "mira", "k": 3},
            )


@pytest.fixture
def treebank(tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(trainer, "train", learn)
    CALLS.clear()
    MADE.clear()
    path = tmp_path / "train.conllu"
    path.write_text(PLAIN)
    return path


def train(treebank: Path, *options: object) -> Result:
    return run("train", treebank, "--parser", "stub", "--model", treebank.parent / "m", *options)


def test_a_model_is_written_and_each_epoch_is_a_line(treebank: Path) -> None:
    result = train(treebank, "--dev", treebank, "--epochs", 3)
    assert (result.code, result.out) == (0, "")
    lines = result.err.split("\n")
    scores = "LAS  28.57  UAS  42.86  root  66.67"
    work = "updated on 2 of 3 sentences  0.5 CPU-s"
    assert lines == [
        f"epoch 1/3  {scores}  {work}  best so far",
        f"epoch 2/3  {scores}  {work}  best so far",
        f"epoch 3/3  {scores}  {work}",
        f"wrote {treebank.parent / 'm'}, 0.0 MB",
        "",
    ]
    assert storage.load(treebank.parent / "m").is_trained


def test_what_the_model_says_about_its_training(treebank: Path) -> None:
    train(treebank, "--dev", treebank, "--epochs", 3, "--seed", 5, "--set", "train.licence=CC0")
    file = {
        "name": "train.conllu",
        "sha256": hashlib.sha256(PLAIN.encode()).hexdigest(),
        "sentences": 3,
        "words": 7,
    }
    info = storage.inspect(treebank.parent / "m").info
    scores = info.pop("scores")
    assert info.pop("config") == {
        "model": {"parser": "stub"},
        "learner": {"learner": "mira", "k": 3},
        "train": {
            **{"treebank": "train.conllu", "dev": "train.conllu", "epochs": 3, "seed": 5, "choose_by": "LAS"},
            **{"projectivize": True, "lenient": False, "licence": "CC0"},
        },
    }
    assert info == {
        "licence": "CC0",
        "training": {
            "epochs": 3,
            "best_epoch": 2,
            "learner": "mira",
            "k": 3,
            "projectivize": True,
            "seed": 5,
            "train": file,
            "dev": file,
        },
    }
    assert scores["dev"]["LAS"] == pytest.approx(2 / 7)
    assert scores["signature"].startswith("*|punct:yes|subtypes:yes|sents:3|v:")


def test_without_dev_there_are_no_scores_and_the_last_epoch_counts(treebank: Path) -> None:
    result = train(treebank, "--epochs", 2)
    assert result.err.startswith("epoch 1/2  updated on 2 of 3 sentences  0.5 CPU-s\n")
    info = storage.inspect(treebank.parent / "m").info
    assert set(info) == {"training", "config"}
    assert info["training"]["best_epoch"] == 2
    assert not {"dev", "choose_by"} & set(info["config"]["train"])
    assert "dev" not in info["training"]


def test_json_is_all_there_is_on_stdout(treebank: Path) -> None:
    result = train(treebank, "--dev", treebank, "--epochs", 2, "--json")
    content = json.loads(result.out)
    assert content["model"] == str(treebank.parent / "m")
    assert content["info"] == storage.inspect(treebank.parent / "m").info
    assert [epoch["epoch"] for epoch in content["epochs"]] == [1, 2]
    assert set(content["epochs"][0]) == {
        *("epoch", "sentences", "updated", "words", "cpu_seconds", "best", "dev", "objectives"),
    }
    assert content["epochs"][0]["dev"]["UAS"] == pytest.approx(3 / 7)
    assert json.loads(train(treebank, "--json").out)["epochs"][0]["dev"] is None


def test_quiet(treebank: Path) -> None:
    assert train(treebank, "--quiet") == Result(0, "", "")
    assert train(treebank, "-q") == Result(0, "", "")


def test_a_terminal_sees_a_bar(treebank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    result = run("train", treebank, "--parser", "stub", "--model", treebank.parent / "m", "--epochs", 2, terminal=True)
    assert "training" in result.err
    assert "words/s" in result.err
    assert "epoch 2/2" in result.err


def test_options_reach_the_trainer_and_the_parser(treebank: Path) -> None:
    train(treebank, "--set", "run.checkpoint=false")
    train(
        treebank,
        *("--epochs", 3, "--seed", 9, "--threads", 2, "--set", "run.checkpoint=false"),
        *(
            *sets(
                "learner.learner=mira",
                "learner.k=3",
                "learner.clip=0.5",
                "learner.update=early",
                "learner.cost_augmented=true",
            ),
        ),
        *(
            "--beam",
            4,
            *sets("model.decoder=non-projective", "model.labels=joint", "model.max_memory=1.5"),
        ),
        *("--features", "hall2011", "--set", "model.inputs=['upos', 'feats']"),
    )
    assert CALLS == [
        {"epochs": 10, "seed": 1, "threads": 1},
        {
            **{"epochs": 3, "seed": 9, "threads": 2},
            **{"learner": "mira", "k": 3, "clip": 0.5, "update": "early", "cost_augmented": True},
        },
    ]
    plain, asked = MADE
    assert plain.options == {"beam": 8, "features": "default"}
    assert asked.options == {
        **{"beam": 4, "decoder": "non-projective", "labels": "joint", "max_memory": 1.5},
        **{"features": "hall2011", "inputs": ["upos", "feats"]},
    }


def test_same_training_same_bytes_in_any_folder(treebank: Path, tmp_path: Path) -> None:
    train(treebank, "--dev", treebank)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "train.conllu").write_text(PLAIN)
    train(other / "train.conllu", "--dev", other / "train.conllu")
    assert (tmp_path / "m").read_bytes() == (other / "m").read_bytes()
    train(treebank, "--dev", treebank, "--seed", 2)
    assert (tmp_path / "m").read_bytes() != (other / "m").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--parser", "transitoin"),
            "unknown parser 'transitoin'; known: backward, graph, graph2, graph3, stub, transition "
            "(did you mean 'transition'?)",
        ),
        (
            ("--parser", "transition", "--set", "learner.update=erly"),
            "unknown update 'erly'; known: dynamic, early, max-violation (did you mean 'early'?)",
        ),
        (
            ("--parser", "transition", "--features", "hall2012"),
            "unknown feature set 'hall2012'; known: clusters, clusters-only, default, hall2011, morphology, "
            "nlf, nlf-large, zhang-nivre (did you mean 'hall2011'?)",
        ),
        (
            ("--parser", "transition", "--set", "model.inputs=upos,xps"),
            "unknown input column 'xps'; known: feats, upos, xpos (did you mean 'xpos'?)",
        ),
    ],
)
def test_names_are_resolved_before_any_data_is_read(treebank: Path, options: tuple[str, ...], message: str) -> None:
    treebank.unlink()
    result = train(treebank, *options)
    assert (result.code, result.err) == (2, f"error: {message}\n")


@pytest.mark.parametrize("option", ["--beam", "--epochs", "--threads"])
@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_numbers_must_be_numbers_of_at_least_one(treebank: Path, option: str, value: str) -> None:
    result = train(treebank, option, value)
    assert result.code == 2
    assert result.err.startswith(f"error: Invalid value for '{option}': ")
    assert value in result.err
    assert not CALLS


def test_shards_and_mixes_reach_the_training(treebank: Path) -> None:
    assert train(treebank).code == 0
    assert train(treebank, "--shards", 2, "--mixes", 3).code == 0
    plain, mixed = CALLS
    assert mixed == {**plain, "shards": 2, "mixes": 3}
    assert train(treebank, "--mixes", 3).err.startswith("error: train.mixes: the weights of shards are mixed; set")


def test_a_seed_is_not_negative(treebank: Path) -> None:
    assert train(treebank, "--seed", "-1").code == 2
    assert train(treebank, "--seed", "0").code == 0


def test_a_model_must_be_named(treebank: Path) -> None:
    result = run("train", treebank)
    assert (result.code, result.err) == (
        2,
        "error: Missing option '--model'; give the name of the file to write (see 'treetune train --help')\n",
    )


def test_a_bad_target_is_refused_before_any_data_is_read(treebank: Path, tmp_path: Path) -> None:
    treebank.unlink()
    nowhere = tmp_path / "none" / "m"
    result = run("train", treebank, "--parser", "stub", "--model", nowhere)
    assert result.code == 1
    assert result.err.startswith(f"error: cannot write the model {nowhere}: there is no folder")
    result = run("train", treebank, "--parser", "stub", "--model", tmp_path)
    assert result.code == 1
    assert result.err.startswith(f"error: cannot write the model {tmp_path}: it is a directory")


def test_missing_empty_and_bad_data(treebank: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.conllu"
    for options in ((none,), (treebank, "--dev", none)):
        result = run("train", *options, "--parser", "stub", "--model", tmp_path / "m")
        assert result.code == 1
        assert result.err == f"error: {none}: expected a file, found nothing under this name\n"
    empty = tmp_path / "empty.conllu"
    empty.touch()
    assert train(empty).err == f"error: {empty}: expected at least one sentence, found none\n"
    bad = tmp_path / "bad.conllu"
    bad.write_text(PLAIN + "1\tBad\n\n")
    result = train(bad)
    assert result.code == 1
    assert result.err.startswith(f"error: {bad}:{PLAIN.count(chr(10)) + 1}: expected 10 columns")
    assert not (tmp_path / "m").exists()
    assert not CALLS


def test_lenient_skips_and_reports(treebank: Path, tmp_path: Path) -> None:
    treebank.write_text(PLAIN + "1\tBad\n\n")
    result = train(treebank, "--set", "train.lenient=true")
    assert result.code == 0
    assert result.err.startswith(f"{treebank}: skipped 1 of 4 sentences\n  1 for ")
    assert storage.inspect(tmp_path / "m").info["training"]["train"]["sentences"] == 3


def test_without_projectivize_crossing_arcs_are_left_out(treebank: Path) -> None:
    crossing = "".join(f"{word}\tw\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for word, head in ((1, 3), (2, 4), (3, 0), (4, 3)))
    treebank.write_text(PLAIN + crossing + "\n")
    lifted = train(treebank, "--epochs", 1)
    assert lifted.err.startswith("epoch 1/1  updated on 2 of 4 sentences")
    result = train(treebank, "--epochs", 1, "--set", "train.projectivize=false")
    assert result.err.startswith(
        f"{treebank}: left out 1 of 4 sentences for crossing arcs\nepoch 1/1  updated on 2 of 3 sentences"
    )
    assert storage.inspect(treebank.parent / "m").info["training"]["projectivize"] is False
    treebank.write_text(crossing)
    result = train(treebank, "--set", "train.projectivize=false")
    assert result.code == 1
    assert result.err == (
        f"error: {treebank}: every sentence has crossing arcs; train with train.projectivize = true\n"
    )


@pytest.mark.parametrize("older", [None, b"older"])
def test_ctrl_c_writes_nothing(
    treebank: Path, older: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **options: Any) -> Iterator[Progress]:
        yield from list(learn(*args, **options))[:3]
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "train", interrupted)
    path = tmp_path / "m"
    if older is not None:
        path.write_bytes(older)
    result = train(treebank, "--quiet")
    assert (result.code, result.err) == (130, f"interrupted: {path} was not written\n")
    assert (path.read_bytes() if path.exists() else None) == older
    assert sorted(tmp_path.iterdir()) == sorted([treebank] if older is None else [treebank, path])
