"""Stacking by files of base trees and by the name of a parser, and ``treetune jackknife``, with a stub."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_samples import PLAIN, column
from commandline import Result, run, sets, stop_after

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.corpus.conllu import read_conllu
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.learning import trainer
from treetune.learning.progress import Progress
from treetune.models.stacked import StackedParser

__all__ = ["stub_model_fixture"]

# The same sentences, with other trees: every word hangs on the first.
BASE = (
    PLAIN.replace("\t4\tnsubj", "\t0\troot")
    .replace("\t4\taux", "\t1\taux")
    .replace("\t4\tadvmod", "\t1\tadvmod")
    .replace("bark\tVERB\tVB\t_\t0\troot", "bark\tVERB\tVB\t_\t1\tdep")
)
BASE_HEADS = [(-1, 0, 1, 1, 1), (-1, 0, 1), (-1, 0)]


@pytest.fixture
def folder(tmp_path: Path, stub_model: StubParser) -> Path:
    for name, text in (("train", PLAIN), ("dev", PLAIN), ("base", BASE), ("dev-base", BASE)):
        (tmp_path / f"{name}.conllu").write_text(text)
    return tmp_path


def train(folder: Path, *options: object) -> Result:
    model = folder / "m"
    return run("train", folder / "train.conllu", "--model", model, "--parser", "stub", "--epochs", 2, *options)


def heads_of_base_trees(sentences: Sequence[Sentence]) -> list[tuple[int, ...] | None]:
    return [None if sentence.base_tree is None else sentence.base_tree.heads for sentence in sentences]


def test_a_file_of_base_trees_reaches_the_trainer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[tuple[int, ...] | None], ...]] = []

    def spy(model: Any, treebank: list[Example], *, dev: list[Example], **options: Any) -> Iterator[Progress]:
        seen.append(tuple(heads_of_base_trees([e.sentence for e in examples]) for examples in (treebank, dev)))
        return original(model, treebank, dev=dev, **options)

    original = trainer.train
    monkeypatch.setattr(trainer, "train", spy)
    base, dev_base = folder / "base.conllu", folder / "dev-base.conllu"
    assert train(folder, "--set", f"train.base={base}").code == 0
    assert (
        train(
            folder, "--set", f"train.base={base}", "--dev", folder / "dev.conllu", "--set", f"train.dev_base={dev_base}"
        ).code
        == 0
    )
    assert train(folder).code == 0
    assert seen == [(BASE_HEADS, []), (BASE_HEADS, BASE_HEADS), ([None] * 3, [])]


def test_the_model_notes_the_files_of_its_base_trees(folder: Path) -> None:
    base, dev_base = folder / "base.conllu", folder / "dev-base.conllu"
    dev_base.write_text(BASE + "\n")
    train(folder, "--set", f"train.base={base}", "--dev", folder / "dev.conllu", "--set", f"train.dev_base={dev_base}")
    training = storage.inspect(folder / "m").info["training"]
    for key, path in (("base", base), ("dev_base", dev_base)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert training[key] == {"name": path.name, "sha256": digest, "sentences": 3, "words": 7}
    train(folder)
    assert not {"base", "dev_base"} & set(storage.inspect(folder / "m").info["training"])


def test_base_trees_of_other_sentences_is_refused(folder: Path) -> None:
    (folder / "base.conllu").write_text(BASE.replace("Run\trun", "Ran\trun"))
    result = train(folder, "--set", f"train.base={folder / 'base.conllu'}")
    assert result.code == 1
    assert result.err == (
        f"error: {folder / 'base.conllu'}: sentence 2 (sent_id s2): expected 'Run' as word 1, found 'Ran'; "
        "base trees belong to the same sentences in the same order\n"
    )
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            sets("train.dev_base=g"),
            "train.dev_base belongs to a file of base trees as train.base; leave it out",
        ),
        (sets("train.folds=3"), "train.folds is for a base parser that is trained; name one as train.base"),
        (sets("train.base_beam=3"), "train.base_beam is for a base parser that is trained; name one as train.base"),
        (
            sets("train.base=graph", "train.base_beam=3"),
            "train.base_beam: the parser graph searches without a beam; leave it out",
        ),
        (
            sets("train.base={folder}/base.conllu", "train.folds=3"),
            "train.folds is for a base parser that is trained; name one as train.base",
        ),
        (
            sets("train.base=stub", "train.dev_base={folder}/dev-base.conllu"),
            "train.dev_base belongs to a file of base trees as train.base; leave it out",
        ),
        (
            (*sets("train.base={folder}/base.conllu"), "--dev", "{folder}/dev.conllu"),
            "train.base is a file; then --dev and train.dev_base go together",
        ),
        (
            sets("train.base={folder}/base.conllu", "train.dev_base={folder}/dev-base.conllu"),
            "train.base is a file; then --dev and train.dev_base go together",
        ),
        (
            sets("train.base={folder}/base.conllu", "train.lenient=true"),
            "train.lenient skips sentences, and the base trees of train.base would no longer fit; leave one of "
            "them out",
        ),
        (
            sets("train.base=transitoin"),
            "train.base: expected a file or the name of a parser (transition, backward, graph, graph2, graph3, stub), "
            "found 'transitoin'",
        ),
    ],
)
def test_wrong_combinations_are_found_before_any_data_is_read(
    folder: Path, options: tuple[object, ...], message: str
) -> None:
    (folder / "train.conllu").unlink()
    result = train(folder, *(str(option).format(folder=folder) for option in options))
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


def test_training_reads_files_only(folder: Path) -> None:
    for paths in (("-",), (folder / "train.conllu", "--dev", "-")):
        result = run("train", *paths, "--model", folder / "m", "--parser", "stub", stdin=PLAIN)
        assert (result.code, result.err) == (
            2,
            "error: expected files to train on, whose hashes are stored in the model, found - (stdin)\n",
        )


def test_a_base_parser_that_is_trained_is_part_of_the_model(folder: Path) -> None:
    result = train(
        folder,
        *sets("train.base=stub", "train.folds=3"),
        "--dev",
        folder / "dev.conllu",
        "--set",
        "learner.learner=mira",
    )
    assert (result.code, result.out) == (0, "")
    lines = [line.split("  ")[0] for line in result.err.split("\n")]
    assert lines == [
        "base parser (stub), jackknifed:",
        *(f"fold {fold}/3" for fold in (1, 2, 3)),
        "jackknifed",
        "base parser (stub), on the whole treebank:",
        *("epoch 1/2", "epoch 2/2"),
        "stacked parser (stub):",
        *("epoch 1/2", "epoch 2/2"),
        f"wrote {folder / 'm'}, 0.0 MB",
        "",
    ]
    assert "jackknifed  LAS  28.57  UAS  42.86  root  66.67" in result.err
    loaded = storage.load(folder / "m")
    assert isinstance(loaded, StackedParser)
    assert (loaded.base.kind, loaded.main.kind) == ("stub", "stub")
    training = storage.inspect(folder / "m").info["training"]
    assert training["learner"] == "mira"
    assert (training["base"]["parser"], training["base"]["folds"]) == ("stub", 3)
    assert training["base"]["scores"]["UAS"] == pytest.approx(3 / 7)
    parsed = run("parse", folder / "m", folder / "dev.conllu")
    assert parsed.code == 0
    assert column(parsed.out, 6) == [["0", "1", "2", "3"], ["0", "1"], ["0"]]
    assert run("info", folder / "m").code == 0


def test_options_are_the_main_parsers_and_inputs_both_parsers(folder: Path) -> None:
    options = (
        *sets("train.base=stub", "train.folds=2"),
        "--beam",
        3,
        "--set",
        "model.inputs=['upos']",
        "--json",
        "-q",
    )
    content = json.loads(train(folder, *options).out)
    assert [(epoch["stage"], epoch["epoch"]) for epoch in content["epochs"]] == [
        *(("base", 1), ("base", 2)),
        *(("main", 1), ("main", 2)),
    ]
    loaded = storage.load(folder / "m")
    assert isinstance(loaded, StackedParser)
    assert isinstance(loaded.main, StubParser)
    assert isinstance(loaded.base, StubParser)
    assert (loaded.main.options["beam"], loaded.base.options["beam"]) == (3, 8)
    assert loaded.main.options["inputs"] == loaded.base.options["inputs"] == ["upos"]


def test_an_option_the_main_learner_has_no_use_for(folder: Path) -> None:
    result = train(folder, *sets("train.base=stub", "train.folds=2", "learner.k=3"), "-q")
    assert (result.code, result.err) == (2, "error: learner.k is an option of mira; the learner is perceptron\n")


def test_too_many_folds(folder: Path) -> None:
    result = train(folder, "--set", "train.base=stub")
    assert (result.code, result.err) == (2, "error: folds must be at most the number of sentences, 3, found 10\n")


def test_a_stacked_training_is_resumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = (*sets("train.base=stub", "train.folds=2"), "--dev", folder / "dev.conllu", "-q")
    assert train(folder, *options).code == 0
    whole = (folder / "m").read_bytes()
    (folder / "m").unlink()
    for stage in ("jackknife", "base", "main"):
        with monkeypatch.context() as patch:
            stop_after(patch, 1, KeyboardInterrupt(), stage=stage)
            result = train(folder, *options, *(() if stage == "jackknife" else ("--resume",)))
        assert (result.code, result.err) == (
            130,
            f"interrupted: {folder / 'm'} was not written; what was trained so far is in {folder / 'm.checkpoint'}; "
            "the same command with --resume continues from there\n",
        )
    assert train(folder, *options, "--resume") == Result(0, "", "")
    assert (folder / "m").read_bytes() == whole
    assert not (folder / "m.checkpoint").exists()


def test_parse_hands_base_trees_to_the_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(folder)
    seen: list[list[tuple[int, ...] | None]] = []
    original = StubParser.predict_batch

    def spy(self: StubParser, sentences: list[Sentence], **options: Any) -> list[Tree]:
        seen.append(heads_of_base_trees(sentences))
        return original(self, sentences, **options)

    monkeypatch.setattr(StubParser, "predict_batch", spy)
    parse = ("parse", folder / "m", folder / "dev.conllu")
    with_base_tree = run(*parse, "--base", folder / "base.conllu")
    assert (with_base_tree.code, with_base_tree.err) == (0, "")
    assert with_base_tree.out == run(*parse).out
    stdin = run("parse", folder / "m", "-", "--base", folder / "base.conllu", stdin=PLAIN)
    assert stdin.out == run(*parse, "--base", "-", stdin=BASE).out
    assert seen == [BASE_HEADS, [None] * 3, BASE_HEADS, BASE_HEADS]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            BASE.replace("Run\trun", "Ran\trun"),
            "sentence 2 (sent_id s2): expected 'Run' as word 1, found 'Ran'; "
            "base trees belong to the same sentences in the same order",
        ),
        (
            BASE[: BASE.index("# sent_id = s3")],
            "expected a tree for sentence 3 (sent_id s3), found the end of the file; "
            "base trees belong to the same sentences in the same order",
        ),
    ],
)
def test_parse_refuses_base_trees_of_other_sentences(folder: Path, text: str, problem: str) -> None:
    train(folder)
    base, out = folder / "base.conllu", folder / "out.conllu"
    base.write_text(text)
    result = run("parse", folder / "m", folder / "dev.conllu", "--base", base, "-o", out)
    assert (result.code, result.err) == (1, f"error: {base}: {problem}; {out} was not written\n")
    assert not out.exists()


def test_parse_refuses_wrong_combinations(folder: Path) -> None:
    train(folder)
    for options, message in (
        (("-", "--base", "-"), "only one of IN and --base can be read from stdin"),
        (
            (folder / "dev.conllu", "--base", folder / "base.conllu", "--lenient"),
            "--lenient skips sentences, and the base trees of --base would no longer fit; leave one out",
        ),
    ):
        result = run("parse", folder / "m", *options)
        assert (result.code, result.err) == (2, f"error: {message}\n")


def jackknife(folder: Path, *options: object) -> Result:
    return run("jackknife", folder / "train.conllu", "--parser", "stub", "--folds", 3, "--epochs", 2, *options)


def test_jackknife_writes_the_sentences_with_other_trees(folder: Path) -> None:
    out = folder / "out.conllu"
    result = jackknife(folder, "-o", out)
    assert (result.code, result.out) == (0, "")
    assert [line.split("  ")[0] for line in result.err.split("\n")] == [
        *(f"fold {fold}/3" for fold in (1, 2, 3)),
        "jackknifed",
        "",
    ]
    assert "  predicted 2 of 3 sentences  " in result.err
    text = out.read_text()
    assert column(text, 6) == [["0", "1", "2", "3"], ["0", "1"], ["0"]]
    for kept in (0, 1, 2, 3, 4, 5, 9):
        assert column(text, kept) == column(PLAIN, kept)
    assert "# text = Dogs don't bark\n" in text
    assert "\n2-3\tdon't\t" in text
    assert jackknife(folder, "-q") == Result(0, text, "")


def test_what_jackknife_writes_are_base_trees(folder: Path) -> None:
    jackknife(folder, "-o", folder / "out.conllu")
    assert train(folder, "--set", f"train.base={folder / 'out.conllu'}").code == 0


def test_jackknife_writes_the_format_of_the_name(folder: Path) -> None:
    assert jackknife(folder, "-o", folder / "out.conll").code == 0
    assert "#" not in (folder / "out.conll").read_text()


def test_jackknife_takes_stdin_and_seeds(folder: Path) -> None:
    result = run("jackknife", "-", "--parser", "stub", "--folds", 2, "--epochs", 1, "-q", stdin=PLAIN)
    assert result == jackknife(folder, "-q")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--parser", "transition", *sets("model.decoder=projective")),
            "model.decoder is an option of graph parsers; the parser is",
        ),
        (("--set", "learner.learner=mirra"), "unknown learner 'mirra'"),
        (("--folds", 1), "Invalid value for '--folds'"),
        (
            sets("train.base=graph"),
            "--set train.base=graph: expected a setting of [model] or [learner], or train.lenient",
        ),
        (sets("model.task=pipeline"), "jackknifing trains new parsers; leave model.task and model.start_from out"),
    ],
)
def test_jackknife_checks_options_before_any_data_is_read(
    folder: Path, options: tuple[object, ...], message: str
) -> None:
    (folder / "train.conllu").unlink()
    result = jackknife(folder, *options)
    assert result.code == 2
    assert result.err.startswith(f"error: {message}")


def test_jackknife_refuses_what_the_learner_has_no_use_for(folder: Path) -> None:
    out = folder / "out.conllu"
    result = jackknife(folder, "--set", "learner.clip=1", "-o", out)
    assert result.code == 2
    assert result.err == "error: learner.clip is an option of mira and factored-mira; the learner is perceptron\n"
    assert not out.exists()


def test_jackknife_writes_nothing_when_it_cannot_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = jackknife(folder, "-o", folder / "none" / "out.conllu")
    assert result.code == 1
    assert f"this file cannot be written: there is no folder {folder / 'none'}" in result.err
    assert "fold" not in result.err.replace("folder", "")

    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StubParser, "predict_batch", interrupt)
    out = folder / "out.conllu"
    result = jackknife(folder, "-o", out)
    assert (result.code, result.err) == (130, "interrupted: nothing was written\n")
    assert not out.exists()


def test_jackknife_lenient_and_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    (folder / "train.conllu").write_text(PLAIN + "1\tBad\n\n")
    assert jackknife(folder).code == 1
    out = folder / "out.conllu"
    result = run(
        *(
            "jackknife",
            folder / "train.conllu",
            "--parser",
            "stub",
            "--folds",
            2,
            "--set",
            "train.lenient=true",
            "-o",
            out,
        ),
        terminal=True,
    )
    assert result.code == 0
    assert "skipped 1 of 4 sentences" in result.err
    assert "jackknifing" in result.err
    assert len(list(read_conllu(out))) == 3
