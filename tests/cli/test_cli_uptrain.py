"""``treetune uptrain`` through the entry point: every kind of base and student, and what happens when it is killed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import Result, run, sets

import treetune
from pipeline_samples import small_pipeline
from treetune.cli.parsed_data import ParsedData
from treetune.cli.runfiles import RunFiles
from treetune.corpus.conllu import format_conllu
from treetune.corpus.rawtext import raw_text
from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.corpus.treebank import read_trees, write_trees
from treetune.learning.calibration import calibrate
from treetune.sample import QUESTIONS, generate

SMALL = ("--beam", 1, "--epochs", 2, "-q")
IN = generate(50, seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences and text, treebanks, a base that is a pipeline (calibrated), its parser, another one, and a tagger."""
    folder = tmp_path_factory.mktemp("uptrain")
    for name, examples in (("in", IN), ("gold", generate(40, seed=3)), ("small", generate(10, seed=4))):
        write_trees(examples, folder / f"{name}.conllu")
    (folder / "in.txt").write_text("".join(raw_text(example.sentence for example in IN)))
    base = small_pipeline()
    parser: Any = treetune.TransitionParser(beam=2).fit(generate(60, seed=5), epochs=2)
    treetune.save(parser, folder / "parser.treetune")
    treetune.save(treetune.TransitionParser(beam=1).fit(generate(60, seed=5), epochs=1), folder / "other.treetune")
    parser.calibration, _, _ = calibrate(parser, generate(30, seed=6), k=4)
    treetune.save(base.with_parser(parser), folder / "base.treetune")
    treetune.save(base.taggers[0], folder / "tagger.treetune")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def uptrain(folder: Path, target: Path, *arguments: object) -> list[str]:
    """Run it with --parsed in an empty folder, `target`; return the sentences of that file."""
    target.mkdir(exist_ok=True)
    small = SMALL[2:] if "tag" in arguments else SMALL
    result = run("uptrain", *arguments, "--model", target / "m", "--parsed", target / "parsed.conllu", *small)
    assert result == Result(0, "", "")
    assert names(target) == ["m", "parsed.conllu"]
    return blocks((target / "parsed.conllu").read_text())


def blocks(text: str) -> list[str]:
    return [f"{block}\n\n" for block in text.split("\n\n") if block]


def parsed_by(base: Path, examples: list[Example]) -> list[str]:
    pipeline = treetune.Pipeline.of(treetune.load(base))
    found = pipeline.parse([example.sentence for example in examples])
    return [format_conllu(one.sentence, one.tree) for one in found]


def test_text_parsed_by_a_model_trains_the_student(folder: Path, tmp_path: Path) -> None:
    found = uptrain(folder, tmp_path / "a", folder / "in.txt", "--base", folder / "base.treetune")
    expected = run("parse", folder / "base.treetune", folder / "in.txt", "-q").out
    assert found == blocks(expected)
    # The student is what `treetune train` makes of these sentences.
    shutil.copy(tmp_path / "a" / "parsed.conllu", tmp_path)
    assert run("train", tmp_path / "parsed.conllu", "--model", tmp_path / "m", *SMALL).code == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "a" / "m").read_bytes()
    # By standard input, and by several threads.
    arguments = ("uptrain", "-", "--base", folder / "base.treetune", "--threads", 2, "--model", tmp_path / "n")
    result = run(*arguments, "--parsed", tmp_path / "parsed.conllu", *SMALL, stdin=(folder / "in.txt").read_bytes())
    assert result == Result(0, "", "")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


def test_parsed_files_without_a_base(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "half.conllu.gz"
    packed.write_bytes(gzip.compress("".join(blocks((folder / "in.conllu").read_text())[:25]).encode()))
    write_trees(IN[25:], tmp_path / "rest.conllu.zst")
    found = uptrain(folder, tmp_path / "a", packed, tmp_path / "rest.conllu.zst")
    assert found == [format_conllu(example.sentence, example.gold) for example in IN]
    result = run("uptrain", packed, "--model", tmp_path / "m", "--beam", 1, "--epochs", 1, "--limit", 7)
    assert (result.code, result.err.splitlines()[0]) == (0, "took 7 of 25 sentences")
    assert names(tmp_path) == ["a", "half.conllu.gz", "m", "rest.conllu.zst"]


def test_a_program_as_base(folder: Path, tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read().replace('\\tnsubj\\t', '\\tsubject\\t'))"
    program = f"{shlex.quote(sys.executable)} -S -c {shlex.quote(code)}"
    sources = (folder / "in.conllu", folder / "small.conllu")
    found = uptrain(folder, tmp_path / "a", *sources, "--base", program, "--duplicates")
    expected = "".join(source.read_text() for source in sources).replace("\tnsubj\t", "\tsubject\t")
    assert found == blocks(expected)
    assert "subject" in treetune.load(tmp_path / "a" / "m").labels


def test_malformed_trees_are_left_out_and_said(folder: Path, tmp_path: Path) -> None:
    good = (folder / "small.conllu").read_text()
    (tmp_path / "in.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n" + good)
    result = run("uptrain", tmp_path / "in.conllu", "--model", tmp_path / "m", *SMALL[:-1])
    assert result.code == 0
    assert result.err.startswith("skipped 1 of 11 sentences\n  1 for several roots, first at ")
    assert "\ntook 10 of 10 sentences\n" in result.err


def test_sentences_are_selected(folder: Path, tmp_path: Path) -> None:
    write_trees(IN[:4], tmp_path / "test.conllu")
    write_trees(IN[4:8], tmp_path / "dev.conllu")
    twice = (folder / "in.conllu", folder / "in.conllu")
    result = run(
        "uptrain", *twice, "--exclude", tmp_path / "test.conllu", "--dev", tmp_path / "dev.conllu", "--min-length", 5,
        "--max-length", 9, "--model", tmp_path / "m", "--parsed", tmp_path / "p.conllu", *SMALL[:-1],
    )  # fmt: skip
    assert result.code == 0
    short = 2 * sum(len(one.sentence) < 5 for one in IN)
    long = 2 * sum(len(one.sentence) > 9 for one in IN)
    held = {" ".join(one.sentence.forms).lower() for one in IN[:8]}
    fitting = [one for one in IN if 5 <= len(one.sentence) <= 9]
    kept = {" ".join(one.sentence.forms).lower(): one for one in reversed(fitting)}
    kept = {text: one for text, one in kept.items() if text not in held}
    excluded = 2 * sum(" ".join(one.sentence.forms).lower() in held for one in fitting)
    repeated = 2 * len(fitting) - excluded - len(kept)
    line = result.err.splitlines()[0]
    assert line.startswith(f"took {len(kept)} of 100 sentences; left out: ")
    for count, reason in ((short, "too short"), (long, "too long"), (excluded, "in a file to exclude")):
        assert not count or f"{count} {reason}" in line
    assert f"{repeated} met before" in line
    texts = [" ".join(one.sentence.forms).lower() for one in read_trees(tmp_path / "p.conllu")]
    assert sorted(texts) == sorted(kept)


def test_faults_of_a_treebank_are_found_before_the_parsing(folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tA\t_\tX\t_\t_\t7\troot\t_\t_\n\n")
    given = ("uptrain", folder / "in.conllu", "--base", folder / "base.treetune", "--model", tmp_path / "m")
    for flag in ("--gold", "--dev"):
        result = run(*given, flag, bad)
        assert result.code == 1
        assert result.err == f"error: {bad}:1: column HEAD: expected a head from 0 to 1, found '7'\n"
        assert list(tmp_path.iterdir()) == [bad]
    bad.write_text("1\tA\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    result = run(*given, "--gold", bad, "--task", "pipeline")
    problem = "expected tags to train on in UPOS or XPOS, found none in the treebank"
    assert (result.code, result.err) == (1, f"error: {bad}: {problem}\n")
    assert list(tmp_path.iterdir()) == [bad]


def test_raw_text_to_exclude_is_split_as_the_input_is(folder: Path, tmp_path: Path) -> None:
    text = folder / "in.txt"
    assert len(text.read_text().splitlines()) < len(IN)
    result = run("uptrain", text, "--base", folder / "base.treetune", "--exclude", text, "--model", tmp_path / "m")
    assert result.code == 1
    assert re.match("error: expected a sentence to train on, found none; left out: [0-9]+ in a file to exc", result.err)


def test_a_treebank_with_sentences_of_a_test_set_is_named(folder: Path, tmp_path: Path) -> None:
    gold = list(read_trees(folder / "gold.conllu"))
    write_trees([*gold[:5], *IN[:5]], tmp_path / "test.conllu")
    write_trees([gold[5], *IN[:19]], tmp_path / "dev.conllu")
    given = (folder / "in.conllu", "--gold", folder / "gold.conllu", "--dev", tmp_path / "dev.conllu")
    test, treebank = tmp_path / "test.conllu", folder / "gold.conllu"
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("uptrain", *given, "--exclude", test, "--model", tmp_path / "m", *SMALL)
    expected = (
        f"warning: {treebank} has 5 of 10 sentences of {test}; they are trained on, and scores on {test} say nothing "
        f"about new text; leave them out of {treebank}\n"
    )
    assert result == Result(0, "", expected)


def test_a_limit_that_leaves_no_sentence_is_explained(folder: Path, tmp_path: Path) -> None:
    given = (folder / "in.conllu", "--base", folder / "base.treetune", "--max-length", 1)
    result = run("uptrain", *given, "--model", tmp_path / "m")
    assert result.code == 1
    assert result.err == (
        "error: expected a sentence to train on, found none; left out: 50 too long (more than 1 words); raise "
        "--max-length, or, if each line of the text is a sentence, add --read lines\n"
    )
    assert not list(tmp_path.iterdir())


def test_trees_are_selected(folder: Path, tmp_path: Path) -> None:
    given = (folder / "in.conllu", "--base", folder / "base.treetune")
    everything = uptrain(folder, tmp_path / "all", *given)
    assert everything == parsed_by(folder / "base.treetune", IN)
    for number, options in enumerate(
        (
            ("--second", folder / "other.treetune"),
            ("--second", folder / "other.treetune", "--agreement", 0.7),
            ("--min-confidence", 0.8),
            ("--min-margin", 0.02),
        )
    ):
        found = uptrain(folder, tmp_path / str(number), *given, *options)
        words = [[line.split("\t")[1] for line in block.splitlines() if line[:1].isdigit()] for block in found]
        assert 0 < len(found) < len(everything), options
        assert all(one in [list(example.sentence.forms[1:]) for example in IN] for one in words)
    assert set(blocks((tmp_path / "0" / "parsed.conllu").read_text())) <= set(everything)
    # The parser of the base agrees with itself: it reads the tags of the base, of raw text too.
    text = (folder / "in.txt", "--base", folder / "base.treetune", "--second", folder / "parser.treetune")
    assert len(uptrain(folder, tmp_path / "text", *text)) == len(everything)


def test_forced_decoding(folder: Path, tmp_path: Path) -> None:
    partial = [
        Example(one.sentence, Tree.of([*[UNKNOWN_HEAD] * (len(one.sentence) - 1), 0])) for one in IN[:10]
    ]  # fmt: skip
    write_trees(partial, tmp_path / "in.conllu")
    uptrain(folder, tmp_path / "a", tmp_path / "in.conllu", "--base", folder / "base.treetune", "--constrained")
    found = list(read_trees(tmp_path / "a" / "parsed.conllu"))
    assert [one.gold.heads[-1] for one in found] == [0] * 10


def report_of(result: Result) -> Any:
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def test_treebanks_by_weight_and_an_augmented_loss(folder: Path, tmp_path: Path) -> None:
    write_trees(generate(12, seed=8, kinds=QUESTIONS), tmp_path / "parsed.conllu")
    arguments = (
        folder / "in.conllu", "--gold", f"{folder / 'gold.conllu'}@3", "--gold", f"{folder / 'small.conllu'}@0.5",
        "--also", f"root:{tmp_path / 'parsed.conllu'}", "--model", tmp_path / "m", *SMALL, "--json",
    )  # fmt: skip
    report = report_of(run("uptrain", *arguments))
    seen: dict[str, int] = {}
    for epoch in report["epochs"]:
        for one in epoch["objectives"]:
            seen[one["name"]] = seen.get(one["name"], 0) + one["seen"]
    # Two passes over 50 sentences, six over 40, one over 10; the loss starts in epoch 3.
    assert len(report["epochs"]) == 6
    assert seen == {"treebank": 240, "parsed": 100, "gold2": 10, "parsed-2": 160}
    stored = report["info"]["config"]["objective"]
    weights = {one["name"]: one.get("weight") for one in stored}
    assert weights == {"parsed": pytest.approx(1 / 3), "gold2": pytest.approx(1 / 6), "parsed-2": None}


@pytest.mark.parametrize("weight", [0.01, 0.25, 1.2])
def test_parsed_sentences_are_seen_as_often_as_asked_for(folder: Path, tmp_path: Path, weight: float) -> None:
    gold = f"{folder / 'gold.conllu'}@{weight}"
    report = report_of(
        run("uptrain", folder / "in.conllu", "--gold", gold, "--model", tmp_path / "m", *SMALL, "--json")
    )
    seen = [one["seen"] for epoch in report["epochs"] for one in epoch["objectives"] if one["name"] == "parsed"]
    assert sum(seen) == 100


def test_students_of_other_kinds(folder: Path, tmp_path: Path) -> None:
    given = (folder / "in.txt", "--base", folder / "base.treetune")
    uptrain(folder, tmp_path / "tag", *given, "--task", "tag")
    assert treetune.load(tmp_path / "tag" / "m").kind == "tagger"
    small = sets("pipeline.jackknife=2", "pipeline.tokenizer_epochs=1")
    uptrain(folder, tmp_path / "all", *given, "--gold", folder / "gold.conllu", "--task", "pipeline", *small)
    assert list(treetune.load(tmp_path / "all" / "m").parts) == [
        *("tokenizer", "tagger1", "tagger2", "lemmatizer", "parser")
    ]
    # Tagged sentences without trees are enough for a tagger.
    text = (folder / "in.conllu").read_text().splitlines()
    cells = [line.split("\t") for line in text]
    bare = ["\t".join([*row[:6], "_", "_", *row[8:]]) if len(row) == 10 else row[0] for row in cells]
    (tmp_path / "bare.conllu").write_text("\n".join(bare) + "\n\n")
    assert len(uptrain(folder, tmp_path / "bare", tmp_path / "bare.conllu", "--task", "tag")) == 50


@pytest.mark.slow
def test_a_graph_parser_as_student(folder: Path, tmp_path: Path) -> None:
    arguments = ("uptrain", folder / "in.txt", "--base", folder / "base.treetune", "--parser", "graph", "--epochs", 1)
    assert run(*arguments, "--model", tmp_path / "m", "-q") == Result(0, "", "")
    assert treetune.load(tmp_path / "m").kind == "graph"


def killed(attempt: Callable[[], object]) -> None:
    """Run in a process of its own, which must end by SIGKILL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            attempt()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def kill_in(patch: pytest.MonkeyPatch, kind: type, method: str, times: int) -> None:
    """Let the process be killed after some calls of a method."""
    original, calls = getattr(kind, method), []

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        result = original(self, *args, **options)
        calls.append(1)
        if len(calls) == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    patch.setattr(kind, method, counted)


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("is_program", [False, True], ids=["model", "program"])
def test_killed_anywhere_and_resumed_the_model_is_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_program: bool
) -> None:
    monkeypatch.setattr("treetune.corpus.batches.BATCH", 10)
    base = "cat" if is_program else folder / "base.treetune"
    # The second file has sentences of the first, and others to leave out.
    shutil.copy(folder / "in.conllu", tmp_path / "b.conllu")
    sources = (folder / "small.conllu", folder / "in.conllu", tmp_path / "b.conllu")
    common = ("uptrain", *sources, "--base", base, "--gold", folder / "gold.conllu", "--beam", 1, "--epochs", 3)
    options = () if is_program else ("--min-margin", 0.02)
    place = tmp_path / "run"
    place.mkdir()
    model, state = place / "m", place / "m.parsed.conllu.part.json"
    command = (*common, *options, "--model", model)
    result = run(*command)
    assert result.code == 0
    summary = next(line for line in result.err.splitlines() if line.startswith("took "))
    expected = model.read_bytes()
    for kind, method, times in (
        *((ParsedData, "_save", 1), (ParsedData, "_save", 4), (ParsedData, "_save", 8), (RunFiles, "add", 2)),
    ):
        model.unlink()
        with monkeypatch.context() as patch:
            kill_in(patch, kind, method, times)
            killed(lambda: run(*command))
        result = run(*command)
        assert (result.code, result.err) == (
            2,
            f"error: {state} is of an uptraining that was interrupted; add --resume to continue it, or remove it\n",
        )
        result = run(*command, "--limit", 5, "--resume")
        problem = f"{state} is of other options or files; use the same, or remove it"
        assert (result.code, result.err) == (2, f"error: {problem}\n")
        result = run(*command, "--resume")
        assert result.code == 0
        assert kind is RunFiles or summary in result.err.splitlines()
        assert model.read_bytes() == expected
        assert names(place) == ["m"]


def test_ctrl_c_in_the_parsing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("uptrain", folder / "in.txt", "--base", folder / "base.treetune", "--model", tmp_path / "m", *SMALL)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ParsedData, "_parsed", interrupt)
        result = run(*arguments)
    part = tmp_path / "m.parsed.conllu.part"
    assert (result.code, result.err) == (
        130,
        f"interrupted: the training has not begun; 0 sentences are in {part}; the same command with --resume "
        "continues from there\n",
    )
    assert run(*arguments, "--resume") == Result(0, "", "")
    (tmp_path / "m.parsed.conllu.part.json").write_text("{")
    result = run(*arguments, "--resume")
    assert (result.code, result.err) == (
        2,
        f"error: {part}.json is damaged; remove it to start from the beginning\n",
    )


WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("{f}/none.conllu",), 1, "{f}/none.conllu: expected a file, found nothing under this name"),
    (("{f}",), 1, "{f}: expected a file, found a folder"),
    (("{f}/in.txt",), 2, "{f}/in.txt is raw text, without trees; give a base parser: --base MODEL"),
    (("{f}/in.conllu", "--read", "lines"), 2, "{f}/in.conllu is raw text with a sentence a line, without trees; give"),
    (("-", "-"), 2, "stdin (-) can be read once; give the name of a file"),
    (("{f}/in.conllu", "--parsed", "{f}/in.conllu"), 2, "--parsed would replace {f}/in.conllu, which is read; give"),
    (("{f}/in.conllu", "--parsed", "{t}/m"), 2, "--model and --parsed name the same file, {t}/m; give another name"),
    (
        ("{f}/in.conllu", "--parsed", "-"),
        2,
        "expected files to train on, whose hashes are stored in the model",
    ),
    (("{f}/in.conllu", "--parsed", "{t}/no/p"), 2, "cannot write the parsed data {t}/no/p: there is no folder {t}/no"),
    (("{f}/in.conllu", "--parsed", "{t}/p.gz"), 2, "--parsed: expected a name that ends with .conllu, found {t}/p.gz"),
    (("{f}/in.conllu", "--parsed", "{t}/p.json"), 2, "--parsed: expected a name that ends with .conllu, found {t}/p"),
    (("{f}/in.conllu", "--second", "{f}/parser.treetune"), 2, "--second is for a base parser that is a model; give"),
    (("{f}/in.conllu", "--agreement", "1"), 2, "--agreement is for a base parser that is a model; give one: --base"),
    (("{f}/in.conllu", "--min-margin", "1"), 2, "--min-margin is for a base parser that is a model; give one"),
    (("{f}/in.conllu", "--min-confidence", "1", "--base", "cat"), 2, "--min-confidence is for a base parser that is"),
    (("{f}/in.conllu", "--constrained"), 2, "--constrained is for a base parser that is a model; give one: --base"),
    (("{f}/in.txt", "--read", "text", "--base", "cat"), 2, "--read is for a base parser that is a model; a program"),
    (("{f}/in.conllu", "--base", "{f}/parser.treetune", "--agreement", "1"), 2, "--agreement is between two base pars"),
    (
        ("{f}/in.txt", "--base", "{f}/base.treetune", "--constrained"),
        2,
        "--constrained is for treebanks, and the input is raw text; leave it out",
    ),
    (("{f}/in.txt", "--base", "{f}/parser.treetune"), 1, "{f}/in.txt:1: expected 10 columns separated by tabs, found"),
    (("{f}/in.conllu", "--base", "{f}/tagger.treetune"), 2, "expected a base model with a parser, found one without"),
    (
        ("{f}/in.conllu", "--base", "{f}/parser.treetune", "--second", "{f}/tagger.treetune"),
        2,
        "expected a base model with a parser, found one without",
    ),
    (
        ("{f}/in.conllu", "--base", "{f}/parser.treetune", "--min-confidence", "0.5"),
        1,
        "this parser is not calibrated, so that its confidence means nothing; see 'treetune calibrate'",
    ),
    (("{f}/in.conllu", "--base", "nosuchmodel"), 1, "there is no model called 'nosuchmodel'"),
    (("{f}/in.conllu", "--base", "{t}/none.treetune"), 1, "cannot read the model {t}/none.treetune: there is no such"),
    (
        ("{f}/in.conllu", "--base", "no such"),
        2,
        "--base: expected a model or a program that can be run, found 'no",
    ),
    (("{f}/in.conllu", "--base", "cat 'a"), 2, '--base: expected a model or a command, found "cat \'a" (No closing'),
    (("{f}/in.conllu", "--base", "false"), 1, "{f}/in.conllu: the base program 'false' ended with status 1"),
    (
        ("{f}/in.conllu", "--base", "true"),
        1,
        "expected a sentence to train on, found none in what 'true' wrote for {f}/in.conllu",
    ),
    (
        ("{f}/in.conllu", "--base", "echo x"),
        1,
        "expected a sentence to train on, found none; left out: 1 malformed",
    ),
    (("{t}/empty.conllu",), 1, "expected a sentence to train on, found none in {t}/empty.conllu\n"),
    (("-",), 1, "expected a sentence to train on, found none in <stdin>"),
    (("{f}/in.conllu", "--min-length", "99"), 1, "expected a sentence to train on, found none; left out: 50 too"),
    (
        ("{f}/in.conllu", "--exclude", "{f}/in.conllu"),
        1,
        "expected a sentence to train on, found none; left out: 50",
    ),
    (("{f}/in.conllu", "--min-length", "9", "--max-length", "8"), 2, "the least length of a sentence, 9, is above the"),
    (("{f}/in.conllu", "--gold", "{f}/gold.conllu@0"), 2, "--gold {f}/gold.conllu@0: expected a weight above 0, found"),
    (("{f}/in.conllu", "--gold", "{f}/none@2"), 1, "{f}/none: expected a file, found nothing under this name"),
    (("{f}/in.conllu", "--task", "pipeline"), 2, "a pipeline needs a treebank with text and lemmas besides parsed"),
    (("{f}/in.conllu", "--beam", "2", "--parser", "graph"), 2, "--beam is an option of transition parsers"),
    (("{f}/in.conllu", "--also", "root"), 2, "--also: expected LOSS:FILE or LOSS:FILE@RATE"),
    (("{f}/in.conllu", "--exclude", "{f}/none"), 1, "{f}/none: expected a file, found nothing under this name"),
    (("{f}/in.conllu", "--set", "objective.parsed.rate=2"), 2, ""),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_use_is_said_in_one_line_and_leaves_nothing(
    folder: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "empty.conllu").write_text("")
    filled = [one.format(f=folder, t=tmp_path) for one in arguments]
    result = run("uptrain", *filled, "--model", tmp_path / "m", "-q")
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {message.format(f=folder, t=tmp_path)}")
    assert result.err.count("\n") == 1
    assert names(tmp_path) == ["empty.conllu"]


def test_a_model_is_never_read_and_replaced(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "parser.treetune", tmp_path)
    base = tmp_path / "parser.treetune"
    content = base.read_bytes()
    for option in ("--base", "--second"):
        others = () if option == "--base" else ("--base", folder / "parser.treetune")
        result = run("uptrain", folder / "in.conllu", *others, option, base, "--model", base, *SMALL)
        problem = f"--model would replace {base}, which is read; give another name"
        assert (result.code, result.err) == (2, f"error: {problem}\n")
    assert base.read_bytes() == content
