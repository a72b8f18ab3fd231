"""``treetune parse`` with a parser that needs no training: files, streams, options and faults."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest
from cli_samples import PLAIN, STUB_HEADS, column
from commandline import run

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.corpus.conllu import read_conllu
from treetune.errors import DataError

__all__ = ["stub_model_fixture"]


@pytest.fixture
def model(tmp_path: Path, stub_model: StubParser) -> Path:
    storage.save(stub_model, tmp_path / "stub.treetune")
    return tmp_path / "stub.treetune"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.conllu"
    path.write_text(PLAIN)
    return path


def test_a_file_gets_trees_and_keeps_everything_else(model: Path, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    result = run("parse", model, source, "-o", out)
    assert (result.code, result.out) == (0, "")
    text = out.read_text()
    assert column(text, 6) == list(STUB_HEADS.values())
    assert column(text, 7) == [["root", "dep", "dep", "dep"], ["root", "dep"], ["root"]]
    for kept in (0, 1, 2, 3, 4, 5, 9):
        assert column(text, kept) == column(PLAIN, kept)
    assert "# text = Dogs don't bark\n" in text
    assert "\n2-3\tdon't\t" in text


def test_without_output_the_trees_go_to_stdout_and_nothing_else_does(model: Path, source: Path) -> None:
    result = run("parse", model, source)
    assert (result.code, result.err) == (0, "")
    assert column(result.out, 6) == list(STUB_HEADS.values())


def test_stdin_to_stdout(model: Path, source: Path) -> None:
    assert run("parse", model, "-", stdin=PLAIN) == run("parse", model, source)
    assert run("parse", model, "-", "-o", "-", stdin=PLAIN) == run("parse", model, source)


def test_heads_and_labels_of_the_input_are_not_even_read(model: Path) -> None:
    text = PLAIN.replace("4\tnsubj", "nonsense\tx y").replace("0\troot", "_\t_")
    assert run("parse", model, "-", stdin=text) == run("parse", model, "-", stdin=PLAIN)


def test_constrained_keeps_what_is_known(model: Path) -> None:
    partial = PLAIN.replace("4\taux", "_\t_").replace("4\tadvmod", "_\tadvmod").replace("0\troot", "_\t_")
    result = run("parse", model, "-", "--constrained", stdin=partial)
    assert result.code == 0
    assert column(result.out, 6) == [["4", "1", "2", "3"], ["0", "1"], ["0"]]
    assert column(result.out, 7) == [["nsubj", "dep", "advmod", "dep"], ["root", "punct"], ["root"]]


def test_a_bad_constraint_names_the_sentence(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: StubParser, length: int, k: int, fixed: object) -> list[object]:
        if length == 2:
            raise DataError("expected arcs that do not cross, found 1 over 2")
        return original(self, length, k, fixed)  # type: ignore[arg-type, return-value]

    original = StubParser._candidates
    monkeypatch.setattr(StubParser, "_candidates", refuse)
    out = tmp_path / "out"
    result = run("parse", model, "-", "--constrained", "-o", out, stdin=PLAIN)
    assert result.code == 1
    assert result.err == (
        "error: <stdin>: sentence 2 (sent_id s2): expected arcs that do not cross, found 1 over 2; "
        f"{out} was not written\n"
    )
    assert not out.exists()


def test_beam_is_handed_to_the_parser(model: Path, source: Path) -> None:
    scores = [
        [line for line in run("parse", model, source, "--k-best", 1, *beam).out.split("\n") if "# score" in line]
        for beam in ((), ("--beam", 3))
    ]
    assert scores == [["# score = 8.0"] * 3, ["# score = 3.0"] * 3]


def test_k_best_repeats_the_sentence_with_rank_and_score(model: Path, source: Path, tmp_path: Path) -> None:
    result = run("parse", model, source, "--k-best", 2)
    assert result.code == 0
    first, second = result.out.split("\n\n")[:2]
    assert first.split("\n")[:4] == [
        "# sent_id = s1",
        "# text = Dogs don't bark",
        "# kbest_rank = 1",
        "# score = 8.0",
    ]
    assert second.split("\n")[:4] == [
        "# sent_id = s1",
        "# text = Dogs don't bark",
        "# kbest_rank = 2",
        "# score = 7.0",
    ]
    assert [len(heads) for heads in column(result.out, 6)] == [4, 4, 2, 1]
    examples = list(read_conllu(result.out.split("\n")))
    assert len({example.gold for example in examples[:2]}) == 2


def test_only_the_first_of_the_k_best_begins_a_document(model: Path) -> None:
    text = "# newdoc id = d\n# newpar\n" + PLAIN
    first, second = run("parse", model, "-", "--k-best", 2, stdin=text).out.split("\n\n")[:2]
    assert first.split("\n")[:4] == ["# newdoc id = d", "# newpar", "# sent_id = s1", "# text = Dogs don't bark"]
    assert second.startswith("# sent_id = s1\n# text = Dogs don't bark\n# kbest_rank = 2\n")


def test_without_k_best_there_are_no_ranks(model: Path, source: Path) -> None:
    assert "kbest_rank" not in run("parse", model, source).out


def test_k_best_has_no_place_in_conllx(model: Path, source: Path, tmp_path: Path) -> None:
    for options in (("--format", "conllx"), ("-o", tmp_path / "out.conll")):
        result = run("parse", model, source, "--k-best", 2, *options)
        assert result.code == 2
        assert result.err == ("error: --k-best writes ranks as comments, and CoNLL-X has none; write CoNLL-U instead\n")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_parse_a_table_each_or_are_handed_to_the_parser(
    model: Path, source: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    others = set()
    meeting = threading.Barrier(threads)
    original = StubParser.predict_batch

    def spy(self: StubParser, sentences: list[object], **options: object) -> list[object]:
        seen.append(options.get("threads", 1))
        if threads > 1 and "threads" not in options and len(seen) <= threads:
            # Waits until as many threads are here.
            meeting.wait(60)
            others.add(threading.get_ident())
        return original(self, sentences, **options)  # type: ignore[arg-type, return-value]

    monkeypatch.setattr(StubParser, "predict_batch", spy)
    monkeypatch.setattr("treetune.models.file_parsing.TABLE", 1)
    monkeypatch.setattr("treetune.models.file_parsing.SMALLEST_TABLE", 1)
    assert run("parse", model, source, "--threads", threads).code == 0
    assert seen == [1, 1, 1]
    assert len(others - {threading.get_ident()}) == (threads if threads > 1 else 0)
    assert run("parse", model, source, "--threads", threads, "--constrained").code == 0
    assert seen[3:] == [threads]


def test_formats_by_name_and_by_suffix(model: Path, tmp_path: Path) -> None:
    conllx = "1\tGo\tgo\tVERB\tVB\t_\t5\tx\t_\t_\n\n"
    expected = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
    assert run("parse", model, "-", "--read", "conllx", "--format", "conllx", stdin=conllx).out == expected
    (tmp_path / "in.conll").write_text(conllx)
    assert run("parse", model, tmp_path / "in.conll").out == expected
    # To another format: CoNLL-U has comments and multiword tokens, CoNLL-X has not.
    (tmp_path / "in.conllu").write_text(PLAIN)
    assert run("parse", model, tmp_path / "in.conllu", "-o", tmp_path / "out.conll").code == 0
    text = (tmp_path / "out.conll").read_text()
    assert "#" not in text
    assert "2-3" not in text
    result = run("parse", model, tmp_path / "in.conllu", "--read", "conllx")
    assert result.code == 1
    assert "in.conllu:1: " in result.err


def test_compressed_files(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.conllu.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert run("parse", model, tmp_path / "in.conllu.gz", "-o", tmp_path / "out.conllu.gz").code == 0
    text = gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode()
    assert text == run("parse", model, "-", stdin=PLAIN).out


BAD = PLAIN + "1\tBad\n\n" + PLAIN


def test_a_fault_in_the_input_leaves_no_output_file(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.conllu").write_text(BAD)
    out = tmp_path / "out.conllu"
    result = run("parse", model, tmp_path / "in.conllu", "-o", out)
    assert result.code == 1
    line = PLAIN.count("\n") + 1
    assert result.err.startswith(f"error: {tmp_path / 'in.conllu'}:{line}: expected 10 columns")
    assert result.err.endswith(f"; {out} was not written\n")
    assert result.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.conllu", "stub.treetune"]


def test_a_fault_leaves_an_older_output_file_as_it_was(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    out.write_text("older")
    assert run("parse", model, "-", "-o", out, stdin=BAD).code == 1
    assert out.read_text() == "older"


def test_on_stdout_the_error_says_how_far_it_came(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a CoNLL-U file all that precedes the fault, of other formats whole chunks.
    result = run("parse", model, "-", stdin=BAD)
    assert result.code == 1
    assert result.err.endswith("; 3 sentences were written before\n")
    assert result.out == run("parse", model, "-", stdin=PLAIN).out
    monkeypatch.setattr("treetune.corpus.batches.BATCH", 2)
    result = run("parse", model, "-", "--k-best", "1", stdin=BAD)
    assert result.err.endswith("; 2 sentences were written before\n")
    assert len(column(result.out, 6)) == 2


@pytest.mark.parametrize("table", [1, 2, 256])
def test_threads_change_nothing_before_a_fault(model: Path, table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treetune.models.file_parsing.TABLE", table)
    for text in (PLAIN, BAD, BAD + PLAIN):
        assert run("parse", model, "-", "--threads", "2", stdin=text) == run("parse", model, "-", stdin=text)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4])
def test_chunks_do_not_show(model: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("parse", model, "-", stdin=PLAIN)
    monkeypatch.setattr("treetune.models.file_parsing.TABLE", chunk)
    assert run("parse", model, "-", stdin=PLAIN) == whole
    ranked = run("parse", model, "-", "--k-best", "1", stdin=PLAIN)
    monkeypatch.setattr("treetune.corpus.batches.BATCH", chunk)
    assert run("parse", model, "-", "--k-best", "1", stdin=PLAIN) == ranked


def test_lenient_skips_and_reports(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    result = run("parse", model, "-", "-o", out, "--lenient", stdin=BAD)
    assert result.code == 0
    assert len(column(out.read_text(), 6)) == 6
    assert result.err.startswith("skipped 1 of 7 sentences\n  1 for ")
    assert run("parse", model, "-", "-o", out, "--lenient", "--quiet", stdin=BAD).err == ""


def test_the_summary(model: Path, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    result = run("parse", model, source, "-o", out)
    assert result.err.startswith("parsed 3 sentences, 7 words, ")
    assert result.err.endswith(" words/s\n")
    assert run("parse", model, source, "-o", out, "--quiet").err == ""
    assert run("parse", model, source, "-o", out, "-q").err == ""


def test_a_terminal_sees_a_bar(model: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    watched = run("parse", model, source, terminal=True)
    assert "parsing" in watched.err
    assert "words/s" in watched.err
    assert watched.out == run("parse", model, source).out
    assert run("parse", model, source, "--quiet", terminal=True).err == ""
    assert "parsing" in run("parse", model, "-", stdin=PLAIN, terminal=True).err


def test_an_empty_input_gives_an_empty_output(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    result = run("parse", model, "-", "-o", out, stdin="")
    assert (result.code, out.read_text()) == (0, "")
    assert result.err.startswith("parsed 0 sentences, 0 words")


def test_ctrl_c_says_what_was_written(
    model: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StubParser, "predict_batch", interrupt)
    out = tmp_path / "out.conllu"
    result = run("parse", model, source, "-o", out)
    assert (result.code, result.err) == (130, f"interrupted: {out} was not written\n")
    assert not out.exists()
    result = run("parse", model, source)
    assert (result.code, result.err) == (130, "interrupted: nothing was written\n")


def test_missing_files_and_folders(model: Path, source: Path, tmp_path: Path) -> None:
    none = tmp_path / "none"
    result = run("parse", none, source)
    assert (result.code, result.err) == (1, f"error: cannot read the model {none}: there is no such file\n")
    result = run("parse", model, none, "-o", tmp_path / "out")
    assert result.code == 1
    assert result.err.startswith(f"error: {none}: expected a file, found nothing under this name")
    result = run("parse", model, source, "-o", none / "out")
    assert result.code == 1
    assert f"this file cannot be written: there is no folder {none}" in result.err
    result = run("parse", source, source)
    assert result.code == 1
    assert "is not a treetune model" in result.err


def test_an_unknown_format_is_named_with_the_known_ones(model: Path, source: Path) -> None:
    result = run("parse", model, source, "--format", "conlu")
    assert result.code == 2
    known = "conllu, conllx, iob2, json, tokens, tree (did you mean 'conllu'?)"
    assert result.err == f"error: unknown file format 'conlu'; known: {known}\n"


@pytest.mark.parametrize("option", ["--beam", "--k-best", "--threads"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5"])
def test_numbers_must_be_numbers_of_at_least_one(model: Path, source: Path, option: str, value: str) -> None:
    result = run("parse", model, source, option, value)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith(f"error: Invalid value for '{option}': ")
    assert result.err.endswith(" (see 'treetune parse --help')\n")
    assert result.err.count("\n") == 1
