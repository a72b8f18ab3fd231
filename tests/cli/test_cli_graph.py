"""Graph parsers and stacked parsers behind the real commands, on generated sentences."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cli_samples import column
from commandline import Result, check_k_best_lists, run, sets

from treetune import storage
from treetune.corpus.conllu import read_conllu
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.treebank import write_trees
from treetune.corpus.wellformed import is_tree
from treetune.sample import KINDS, treebank

# Options by the name of the model that is trained with them.
MODELS: dict[str, tuple[object, ...]] = {
    "graph": ("--parser", "graph"),
    "graph2": ("--parser", "graph2"),
    "joint": ("--parser", "graph", "--set", "model.labels=joint"),
    "stacked": ("--parser", "graph", *sets("train.base=transition", "train.base_beam=1", "train.folds=2")),
    "crossing": ("--parser", "graph", "--set", "model.decoder=non-projective"),
}
FAST = [name for name in MODELS if name != "crossing"]
# What trains with crossing arcs compiles kernels that nothing else needs.
NAMES = [*FAST, pytest.param("crossing", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and models trained on them, all left as they are by every test."""
    folder = tmp_path_factory.mktemp("graph")
    data = treebank(train=200, dev=50, test=60, seed=1, kinds=KINDS)
    write_trees(data.train, folder / "train.conllu")
    write_trees(data.dev, folder / "dev.conllu")
    kept = [example for example in data.test if is_projective(example.gold.heads)]
    write_trees(kept[:50], folder / "test.conllu")
    for name in FAST:
        model(folder, name)
    return folder


def model(folder: Path, name: str) -> Path:
    """Return a model, which is trained when it is asked for first."""
    path = folder / name
    if not path.exists():
        result = train(folder, path, *MODELS[name])
        assert result.code == 0, result.err
    return path


def train(folder: Path, model: Path, *options: object) -> Result:
    base = ("train", folder / "train.conllu", "--dev", folder / "dev.conllu", "--model", model, "--epochs", 2, "-q")
    return run(*base, *options)


def scores(gold: Path, predicted: Path) -> dict[str, float]:
    content = json.loads(run("evaluate", gold, predicted, "--json").out)
    found: dict[str, float] = content["predicted"]["scores"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_training_parsing_and_scoring(folder: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out.conllu"
    assert run("parse", model(folder, name), folder / "test.conllu", "-o", out).code == 0
    assert scores(folder / "test.conllu", out)["LAS"] > 0.8
    assert all(is_tree(example.gold.heads) for example in read_conllu(out))
    run("parse", model(folder, name), folder / "dev.conllu", "-o", out)
    assert storage.inspect(model(folder, name)).info["scores"]["dev"] == scores(folder / "dev.conllu", out)


def test_the_beam_of_a_base_parser(folder: Path) -> None:
    stacked: Any = storage.load(model(folder, "stacked"))
    assert stacked.base.config.beam == 1


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_show(folder: Path, name: str) -> None:
    one, two = (run("parse", model(folder, name), folder / "test.conllu", "--threads", threads) for threads in (1, 2))
    assert (one.code, one) == (0, two)


@pytest.mark.parametrize("name", NAMES)
def test_k_best_lists_are_sorted_and_distinct(folder: Path, name: str) -> None:
    check_k_best_lists(model(folder, name), folder / "test.conllu")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_whatever_is_known_of_a_tree_is_kept(folder: Path, tmp_path: Path, name: str, share: float) -> None:
    draw = Random(share)

    def some(example: Example) -> Example:
        heads = [head if draw.random() < share else -1 for head in example.gold.heads[1:]]
        labels = [label if draw.random() < share else "" for label in example.gold.labels[1:]]
        return Example(example.sentence, Tree.of(heads, labels))

    partial = [some(example) for example in read_conllu(folder / "test.conllu")]
    write_trees(partial, tmp_path / "partial.conllu")
    result = run("parse", model(folder, name), tmp_path / "partial.conllu", "--constrained")
    assert (result.code, result.err) == (0, "")
    for known, parsed in zip(partial, read_conllu(result.out.split("\n")), strict=True):
        assert is_tree(parsed.gold.heads)
        for word in range(1, len(known.sentence) + 1):
            assert known.gold.heads[word] in (-1, parsed.gold.heads[word])
            assert known.gold.labels[word] in ("", parsed.gold.labels[word])


def test_constraints_that_cannot_be_met_name_the_sentence(folder: Path) -> None:
    text = (folder / "test.conllu").read_text().split("\n\n")[0]
    sentence = next(iter(read_conllu(text.split("\n")))).sentence
    crossing = Tree((-1, 3, 4, 0, 3, *[-1] * (len(sentence) - 4)), ("",) * (len(sentence) + 1))
    source = folder / "crossing.conllu"
    write_trees([Example(sentence, crossing)], source)
    result = run("parse", folder / "graph", source, "--constrained")
    assert result.code == 1
    assert result.err.startswith(f"error: {source}: sentence 1 (sent_id ")
    assert "cannot be in a projective tree" in result.err
    result = run("parse", folder / "graph", source, "--constrained", "--decoder", "non-projective")
    assert (result.code, result.err) == (0, "")
    assert column(result.out, 6)[0][:4] == ["3", "4", "0", "3"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("graph", {"order": 1, "labels": "second-stage", "decoder": "projective"}),
        ("graph2", {"order": 2}),
        ("joint", {"order": 1, "labels": "joint"}),
        pytest.param("crossing", {"order": 1, "decoder": "non-projective"}, marks=pytest.mark.slow),
        ("stacked", {}),
    ],
)
def test_what_is_noted(folder: Path, name: str, options: dict[str, object]) -> None:
    header = storage.inspect(model(folder, name))
    assert header.kind == ("stacked" if name == "stacked" else "graph")
    assert header.config.get("options", {}).items() >= options.items()
    assert (header.info["training"]["learner"], header.info["training"]["k"]) == ("mira", 5)
    assert "root" in header.labels
    if name == "stacked":
        base = header.info["training"]["base"]
        assert (base["parser"], base["folds"]) == ("transition", 2)
        assert 0.5 < base["scores"]["LAS"] < 1
    assert run("info", model(folder, name)).code == 0


def test_same_seed_same_bytes_and_every_setting_other_weights(folder: Path, tmp_path: Path) -> None:
    weights: dict[str, dict[str, bytes]] = {}
    for change in (
        "run.threads=2",
        "model.max_memory=1",
        "train.seed=2",
        "learner.learner=perceptron",
        "learner.learner=factored-mira",
        "learner.k=1",
        "learner.clip=0.001",
        "learner.cost_augmented=true",
        "model.labels=joint",
        "model.inputs=upos",
        "model.min_count=5",
        "model.features=mcdonald2005",
    ):
        assert train(folder, tmp_path / "m", "--parser", "graph", "--set", change).code == 0
        weights[change] = weights_of(tmp_path / "m")
        if change == "run.threads=2":
            assert (tmp_path / "m").read_bytes() == (folder / "graph").read_bytes()
    # Memory is about the search.
    plain = weights_of(folder / "graph")
    assert weights.pop("run.threads=2") == weights.pop("model.max_memory=1") == plain
    for change, found in weights.items():
        assert sum(found == other for other in (plain, *weights.values())) == 1, change


@pytest.mark.slow
def test_training_with_crossing_arcs_gives_other_weights(folder: Path) -> None:
    assert weights_of(model(folder, "crossing")) != weights_of(folder / "graph")


def weights_of(model: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in storage.load(model).state()[1].items()}


def test_search_options(folder: Path) -> None:
    parse = ("parse", folder / "graph", folder / "test.conllu")
    plain = run(*parse)
    assert run(*parse, "--decoder", "projective", "--max-memory", 3) == plain
    crossing = run(*parse, "--decoder", "non-projective")
    assert crossing.code == 0
    assert all(is_tree(example.gold.heads) for example in read_conllu(crossing.out.split("\n")))
    for options, message in (
        (("--beam", 4), "unknown search option of graph parsers 'beam'; known: decoder, max_memory"),
        (("--decoder", "projectiv"), "unknown decoder 'projectiv'; known: non-projective, projective"),
        (("--max-memory", 0), "max_memory must be a number of GB above 0, found 0"),
        (
            ("--base", folder / "test.conllu"),
            f"{folder / 'graph'} was trained without base trees and would not look at --base; leave it out",
        ),
    ):
        result = run(*parse, *options)
        assert result.code == 2
        assert result.err.startswith(f"error: {message}")


def test_a_sentence_that_takes_too_much_memory_is_refused_by_name(folder: Path) -> None:
    source = folder / "long.conllu"
    rows = [f"{word}\tw\t_\tNOUN\t_\t_\t_\t_\t_\t_" for word in range(1, 401)]
    source.write_text("\n".join(["# sent_id = long", *rows, "", ""]))
    refused = run("parse", folder / "graph", source, "--max-memory", 0.0001)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"error: {source}: sentence 1 (sent_id long): ")
    assert "(--max-memory)" in refused.err
    assert run("parse", folder / "graph", source).code == 0


def test_base_trees_from_a_file(folder: Path, tmp_path: Path) -> None:
    train_base, dev_base, model = (tmp_path / name for name in ("train.conllu", "dev.conllu", "m"))
    done = run("jackknife", folder / "train.conllu", "-o", train_base, "--folds", 2, "--epochs", 2, "-q")
    assert (done.code, done.err) == (0, "")
    assert run("parse", folder / "graph2", folder / "dev.conllu", "-o", dev_base, "-q").code == 0
    options = ("--parser", "graph", *sets(f"train.base={train_base}", f"train.dev_base={dev_base}"))
    assert train(folder, model, *options).code == 0
    assert storage.inspect(model).info["training"]["base"]["sentences"] == 200
    stacked = run("parse", model, folder / "dev.conllu", "--base", dev_base, "-o", tmp_path / "out.conllu", "-q")
    assert (stacked.code, stacked.err) == (0, "")
    assert storage.inspect(model).info["scores"]["dev"] == scores(folder / "dev.conllu", tmp_path / "out.conllu")
    alone = run("parse", model, folder / "dev.conllu")
    assert (alone.code, alone.out) == (1, "")
    assert alone.err.startswith("error: this model was trained with the trees of a base parser")
