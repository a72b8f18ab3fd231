"""The real parser behind the real commands: train, parse, evaluate, on generated sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from cli_samples import column
from commandline import Result, check_k_best_lists, run

from treetune import storage
from treetune.cli import demo as demo_module
from treetune.corpus.conllu import read_conllu
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.treebank import write_trees
from treetune.corpus.wellformed import is_tree
from treetune.evaluation.scores import SHOWN
from treetune.sample import KINDS, treebank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a model trained on them, both left as they are by every test."""
    folder = tmp_path_factory.mktemp("end-to-end")
    data = treebank(train=200, dev=50, test=60, seed=1, kinds=KINDS)
    write_trees(data.train, folder / "train.conllu")
    write_trees(data.dev, folder / "dev.conllu")
    # Crossing arcs cannot be kept by --constrained, and have a test of their own.
    kept = [example for example in data.test if is_projective(example.gold.heads)]
    write_trees(kept[:50], folder / "test.conllu")
    assert train(folder, folder / "model").code == 0
    return folder


def train(folder: Path, model: Path, *options: object) -> Result:
    return run(
        *("train", folder / "train.conllu", "--dev", folder / "dev.conllu", "--model", model, "--epochs", 2),
        *options,
    )


def las(folder: Path, predicted: Path) -> float:
    content = json.loads(run("evaluate", folder / "test.conllu", predicted, "--json").out)
    return float(content["predicted"]["scores"]["LAS"])


def test_training_parsing_and_scoring(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    result = run("parse", folder / "model", folder / "test.conllu", "-o", out)
    assert result.code == 0
    assert las(folder, out) > 0.8
    assert all(is_tree(example.gold.heads) for example in read_conllu(out))


def test_the_best_epoch_is_what_the_model_scores(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    run("parse", folder / "model", folder / "dev.conllu", "-o", out)
    content = json.loads(run("evaluate", folder / "dev.conllu", out, "--json").out)
    assert storage.inspect(folder / "model").info["scores"]["dev"] == content["predicted"]["scores"]


def test_same_seed_same_bytes_and_every_option_another_model(folder: Path, tmp_path: Path) -> None:
    models = {}
    for options in (
        (),
        ("--threads", 2),
        ("--seed", 2),
        ("--beam", 2),
        ("--features", "hall2011"),
        ("--set", "learner.update=early"),
        ("--beam", 1),
        ("--beam", 1, "--set", "learner.update=early"),
        ("--set", "learner.learner=perceptron"),
        ("--set", "learner.k=1"),
        ("--set", "learner.clip=0.001"),
        ("--set", "learner.learner=mira", "--beam", 1),
    ):
        assert train(folder, tmp_path / "m", "--quiet", *options).code == 0
        models[options] = storage.load(tmp_path / "m").state()[1]["weights"].tobytes()
        if options in ((), ("--threads", 2)):
            assert (tmp_path / "m").read_bytes() == (folder / "model").read_bytes()
    assert len(set(models.values())) == len(models) - 1


@pytest.mark.parametrize("options", [(), ("--k-best", 3), ("--constrained",), ("--beam", 1), ("--beam", 32)])
def test_threads_do_not_change_the_output(folder: Path, options: tuple[object, ...]) -> None:
    one, two = (run("parse", folder / "model", folder / "test.conllu", *options, "--threads", n) for n in (1, 2))
    assert one == two
    assert one.code == 0


def test_gold_arcs_are_not_looked_at_and_constrained_they_are(folder: Path) -> None:
    text = (folder / "test.conllu").read_text()
    unparsed = "".join(_blank(line) for line in text.splitlines(keepends=True))
    plain = run("parse", folder / "model", "-", stdin=text)
    assert plain == run("parse", folder / "model", "-", stdin=unparsed)
    assert plain == run("parse", folder / "model", "-", "--constrained", stdin=unparsed)
    assert run("parse", folder / "model", "-", "--constrained", stdin=text).out == text
    assert plain.out != text


def _blank(line: str, head: str = "_", label: str = "_") -> str:
    cells = line.split("\t")
    return line if len(cells) < 10 else "\t".join([*cells[:6], head, label, *cells[8:]])


def test_a_fixed_root_is_kept(folder: Path) -> None:
    """The simplest annotation there is: which word is the root? Here always the first."""
    lines = (folder / "test.conllu").read_text().splitlines(keepends=True)
    fixed = "".join(_blank(line, "0", "root") if line.startswith("1\t") else _blank(line) for line in lines)
    result = run("parse", folder / "model", "-", "--constrained", stdin=fixed)
    assert result.code == 0
    parsed = list(read_conllu(result.out.split("\n")))
    assert len(parsed) == 50
    assert all(example.gold.roots == (1,) for example in parsed)
    assert all(example.gold.labels[1] == "root" for example in parsed)


@pytest.mark.parametrize("beam", [1, 8])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8, 1.0])
def test_whatever_is_known_of_a_tree_is_kept(folder: Path, tmp_path: Path, share: float, beam: int) -> None:
    draw = Random(share)

    def some(example: Example) -> Example:
        heads = [head if draw.random() < share else -1 for head in example.gold.heads[1:]]
        labels = [label if draw.random() < share else "" for label in example.gold.labels[1:]]
        return Example(example.sentence, Tree.of(heads, labels))

    partial = [some(example) for example in read_conllu(folder / "test.conllu")]
    write_trees(partial, tmp_path / "partial.conllu")
    result = run("parse", folder / "model", tmp_path / "partial.conllu", "--constrained", "--beam", beam)
    assert (result.code, result.err) == (0, "")
    for known, parsed in zip(partial, read_conllu(result.out.split("\n")), strict=True):
        for word in range(1, len(known.sentence) + 1):
            assert known.gold.heads[word] in (-1, parsed.gold.heads[word])
            assert known.gold.labels[word] in ("", parsed.gold.labels[word])


def test_constraints_that_cannot_be_met_name_the_sentence(folder: Path, tmp_path: Path) -> None:
    examples = [
        Example(example.sentence, Tree.unknown(len(example.sentence)))
        for example in read_conllu(folder / "test.conllu")
    ]
    sentence = examples[7].sentence
    name = sentence.comments[0].removeprefix("# sent_id = ")
    crossing = Tree((-1, 3, 4, 0, 3, *[-1] * (len(sentence) - 4)), ("",) * (len(sentence) + 1))
    examples[7] = Example(sentence, crossing)
    source, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    write_trees(examples, source)
    result = run("parse", folder / "model", source, "--constrained", "-o", out)
    assert result.code == 1
    assert result.err.startswith(f"error: {source}: sentence 8 (sent_id {name}): ")
    assert result.err.count("sentence 8") == 1
    assert "cannot be in a projective tree" in result.err
    assert result.err.endswith(f"; {out} was not written\n")
    assert not out.exists()


def test_k_best_lists_are_sorted_and_distinct(folder: Path) -> None:
    check_k_best_lists(folder / "model", folder / "test.conllu")


def test_a_beam_of_one_is_another_parser(folder: Path) -> None:
    wide, narrow = (run("parse", folder / "model", folder / "test.conllu", "--beam", beam).out for beam in (8, 1))
    assert wide == run("parse", folder / "model", folder / "test.conllu").out
    assert column(wide, 6) != column(narrow, 6)


def test_head_may_leave_early(folder: Path, tmp_path: Path) -> None:
    # More than any pipe holds.
    source = tmp_path / "long.conllu"
    source.write_text((folder / "test.conllu").read_text() * 20)
    with subprocess.Popen(
        [sys.executable, "-m", "treetune", "parse", str(folder / "model"), str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"# sent_id = sample-1-251\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "TESTED", 200)
    result = run("demo")
    assert (result.code, result.err) == (0, "")
    lines = result.out.split("\n")
    assert lines[:3] == [
        "English made by a grammar, scored on 200 questions and 200 declaratives that no parser has seen.",
        "All that the second parser is told about its questions is which word is the main verb.",
        "",
    ]
    assert lines[3].split() == [*("trained", "on", "questions:", *SHOWN), *("declaratives:", *SHOWN)]
    assert [line.partition("  ")[0] for line in lines[5:8]] == [
        "1,000 declaratives",
        "and the main verbs of 300 questions",
        "and the whole trees of 300 questions",
    ]
    assert " words wrong, marked *):\n" in result.out
    assert "\nby the second (" in result.out


def test_the_demo_shows_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads(run("demo", "--json", "--seed", 5, "-q").out)
    assert (content["seed"], content["beam"]) == (5, 8)
    first, adapted, supervised = (entry["scores"] for entry in content["runs"])
    # Main verbs of questions alone: their roots are found, other arcs follow, and declaratives stay as they were.
    assert adapted["questions"]["root"] > first["questions"]["root"] + 0.08
    assert adapted["questions"]["UAS"] > first["questions"]["UAS"] + 0.02
    assert adapted["questions"]["LAS"] > first["questions"]["LAS"] + 0.01
    assert adapted["declaratives"]["LAS"] > first["declaratives"]["LAS"] - 0.01
    assert supervised["questions"]["LAS"] > adapted["questions"]["LAS"]


def test_the_demo_is_decided_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STATEMENTS", 60), ("QUESTIONS", 20), ("TESTED", 20), ("EPOCHS", 1), ("EPOCHS_TO_ADAPT", 1)):
        monkeypatch.setattr(demo_module, name, value)
    results = [run("demo", "--json", "--seed", seed).out for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_main_verbs_are_all_that_is_known() -> None:
    example = treebank(train=1, dev=0, test=0, seed=1, kinds=("wh",)).train[0]
    known = demo_module._main_verb(example).gold
    assert [head for head in known.heads if head != -1] == [0]
    assert known.roots == example.gold.roots
    assert set(known.labels) == {""}


def test_a_parser_that_cannot_be_compiled_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    done = []
    with demo_module._compiled_beside():
        done.append(True)
    assert done == [True]


def test_what_is_compiled_beside() -> None:
    demo_module.compile_parsing()


def test_ctrl_c_in_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module._Show, "run", interrupt)
    result = run("demo")
    assert (result.code, result.out) == (130, "")
    assert result.err == "interrupted: the demo writes no files\n"
