"""What a cluster does but for Ray: files to shards, a shard to its part and record, the folder, documents in rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.cluster import Parse
from treetune.cluster.documents import DocumentParser
from treetune.cluster.output import OutputFolder
from treetune.cluster.parsing import fingerprint
from treetune.cluster.shards import JSON_ROWS, find_files, make_shards, row_kind
from treetune.cluster.work import RECORDS, ShardJob, parse_shard, part_name
from treetune.corpus.faults import SkipReport
from treetune.corpus.formats import FORMATS
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.models.file_input import Input
from treetune.models.file_parsing import FileParsing
from treetune.models.pipeline import Pipeline

TEXTS = ["She gave him a book. He read it.", "Fruit flies do not like it.\n\nTime does.", ""]


@pytest.fixture(scope="module")
def parsing() -> FileParsing:
    model = treetune.load("en")
    assert isinstance(model, Pipeline)
    return FileParsing(model, "test", FORMATS["conllu"])


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    """Sentences of one to nine words, some with CRLF, which have nothing to do with each other."""
    path = tmp_path / "in.conllu"
    blocks = []
    for number in range(60):
        lines = [f"# sent_id = s{number}"]
        lines += ["\t".join((str(word), f"w{word}", *"_" * 8)) for word in range(1, 2 + number % 9)]
        blocks.append("".join(line + ("\r\n" if number % 7 == 0 else "\n") for line in [*lines, ""]))
    path.write_text("".join(blocks), encoding="utf-8", newline="")
    return path


def conllu(path: str) -> str:
    return "conllu"


def parse_all(job: ShardJob, shards: Sequence[Any], folder: Path) -> bytes:
    (folder / RECORDS).mkdir(parents=True, exist_ok=True)
    for shard in shards:
        parse_shard(job, shard, str(folder))
    return b"".join((folder / part_name(shard.number, job.suffix)).read_bytes() for shard in shards)


def whole(parsing: FileParsing, path: Path, kind: str, *, lenient: bool = False) -> bytes:
    """Return what one machine writes of a file."""
    chunks = replace(parsing).chunks(Input(str(path), FORMATS[kind], lenient=lenient), SkipReport())
    return "".join(text for texts, *_ in chunks for text in texts).encode()


@pytest.mark.parametrize("size", [1, 40, 333, 2000, 10**9])
def test_files_are_cut_between_sentences_and_lose_nothing(treebank: Path, size: int) -> None:
    data = treebank.read_bytes()
    shards = make_shards([str(treebank)], conllu, size)
    pieces = [data[piece.start : piece.end] for shard in shards for piece in shard.pieces]
    assert b"".join(pieces) == data
    assert all(piece.endswith((b"\n\n", b"\n\r\n")) for piece in pieces)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert shards == make_shards([str(treebank)], conllu, size)
    if size == 1:
        assert len(pieces) == 60


def test_small_files_go_together_and_raw_text_is_never_cut(tmp_path: Path) -> None:
    for name, length in (("b.txt", 400), ("a.txt", 30), ("c.txt", 30), ("_made.txt", 5), (".hidden", 5)):
        (tmp_path / name).write_text("x" * length)
    files = find_files([str(tmp_path)])
    assert [Path(path).name for path in files] == ["a.txt", "b.txt", "c.txt"]
    shards = make_shards(files, lambda path: "text", 100)
    assert [[(Path(piece.path).name, piece.end) for piece in shard.pieces] for shard in shards] == [
        [("a.txt", 30)],
        [("b.txt", 400)],
        [("c.txt", 30)],
    ]
    assert len(make_shards(files, lambda path: "text", 1000)) == 1


def test_what_cannot_be_found_or_has_no_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a folder with files to parse, found none in it"):
        find_files([str(tmp_path)])
    with pytest.raises(DataError, match="expected a file, found nothing under this name"):
        find_files([str(tmp_path / "none.txt")])
    with pytest.raises(ConfigError, match=r"a\.txt: expected a file with a document a row, \.parquet or \.jsonl"):
        row_kind("a.txt")
    assert row_kind("a.jsonl.gz") == JSON_ROWS


@pytest.mark.parametrize("size", [200, 1000, 10**9])
def test_parts_are_what_one_machine_writes(parsing: FileParsing, treebank: Path, tmp_path: Path, size: int) -> None:
    shards = make_shards([str(treebank)], conllu, size)
    assert parse_all(ShardJob(parsing), shards, tmp_path / "out") == whole(parsing, treebank, "conllu")


def test_text_files_are_documents_of_their_own(parsing: FileParsing, tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(TEXTS[:2]):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text(text)
    shards = make_shards(map(str, paths), lambda path: "text", 10**6)
    assert len(shards) == 1
    expected = b"".join(whole(parsing, path, "text") for path in paths)
    assert parse_all(ShardJob(parsing), shards, tmp_path / "out") == expected


def test_bad_sentences_and_bad_files_are_set_aside_with_their_lines(
    parsing: FileParsing, treebank: Path, tmp_path: Path
) -> None:
    lines = treebank.read_bytes().split(b"\n")
    lines[100] = b"nonsense"
    bad = tmp_path / "bad.conllu"
    bad.write_bytes(b"\n".join(lines))
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"Good.\n\xff\n")
    kinds = {str(bad): "conllu", str(broken): "text"}
    shards = make_shards(kinds, kinds.__getitem__, 300)
    job = ShardJob(parsing)
    folder = OutputFolder(tmp_path / "out", shards, job.suffix, fingerprint(job, shards))
    with folder.held():
        assert folder.missing() == shards
        written = parse_all(job, shards, folder.path)
        assert folder.missing() == []
        folder.finish()
    assert (folder.path / "_SUCCESS").exists()
    assert written == whole(parsing, bad, "conllu", lenient=True)
    found = [json.loads(line) for line in (folder.path / "_bad.jsonl").read_text().splitlines()]
    assert [(Path(one["file"]).name, one["line"]) for one in found] == [("bad.conllu", 101), ("broken.txt", 2)]
    assert "expected 10 columns" in found[0]["reason"]
    assert "expected UTF-8 text" in found[1]["reason"]


def test_a_sentence_that_cannot_be_parsed_does_not_take_others_along(
    parsing: FileParsing, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser: Any = parsing.pipeline.parser
    original = type(parser).predict_batch

    def refuse(self: Any, sentences: Sequence[Sentence], **options: Any) -> list[Tree]:
        if any(len(sentence) == 9 for sentence in sentences):
            raise DataError("sentence 1: too long for this test")
        return list(original(self, sentences, **options))

    expected = whole(parsing, treebank, "conllu").decode().split("\n\n")
    monkeypatch.setattr(type(parser), "predict_batch", refuse)
    shards = make_shards([str(treebank)], conllu, 10**9)
    found = parse_all(ShardJob(parsing), shards, tmp_path / "out").decode().split("\n\n")
    assert found == [one for one in expected if "\n9\t" not in one]
    record = json.loads((tmp_path / "out" / RECORDS / "part-00000.json").read_text())
    assert len(record["bad"]) == 6
    assert record["sentences"] == 54
    assert record["bad"][0]["reason"].endswith("too long for this test")


def test_a_folder_belongs_to_one_job(parsing: FileParsing, treebank: Path, tmp_path: Path) -> None:
    shards = make_shards([str(treebank)], conllu, 500)
    job, other = ShardJob(parsing), ShardJob(replace(parsing, keep_tags=True))
    path = tmp_path / "out"
    folder = OutputFolder(path, shards, job.suffix, fingerprint(job, shards))
    with folder.held(), pytest.raises(ConfigError, match="is being written by another job"):
        folder.held().__enter__()
    parse_shard(job, shards[1], str(path))
    assert [shard.number for shard in folder.missing()] == [shard.number for shard in shards if shard.number != 1]
    with (
        pytest.raises(ConfigError, match="has parts of a job with another model, other options or other input"),
        OutputFolder(path, shards, job.suffix, fingerprint(other, shards)).held(),
    ):
        pass
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with (
        pytest.raises(ConfigError, match="has files of something else; give a new folder"),
        OutputFolder(tmp_path / "full", shards, job.suffix, "").held(),
    ):
        pass
    with (
        pytest.raises(ConfigError, match="expected a folder for shards, found a file"),
        OutputFolder(treebank, shards, job.suffix, "").held(),
    ):
        pass


def rows_file(path: Path, texts: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps({"id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(texts)))
    return path


def test_documents_in_rows_are_parsed_one_by_one(parsing: FileParsing, tmp_path: Path) -> None:
    path = rows_file(tmp_path / "in.jsonl", [*TEXTS, 7, "a\ud800"])
    with path.open("a") as out:
        out.write('nonsense\n[1]\n{"id": 1}\n')
    job = ShardJob(parsing, column="text", id_column="id")
    for size in (10, 10**6):
        shards = make_shards([str(path)], lambda path: JSON_ROWS, size)
        folder = OutputFolder(tmp_path / f"out-{size}", shards, job.suffix, fingerprint(job, shards))
        with folder.held():
            written = parse_all(job, shards, folder.path).decode()
            folder.finish()
        expected = ""
        for number, text in enumerate(TEXTS):
            (tmp_path / "one.txt").write_text(text)
            one = whole(parsing, tmp_path / "one.txt", "text").decode()
            expected += one.replace("# newdoc\n", f"# newdoc id = d{number}\n")
        assert written == expected
        bad = [json.loads(line) for line in (folder.path / "_bad.jsonl").read_text().splitlines()]
        assert [one["line"] for one in bad] == [4, 5, 6, 7, 8]
        assert [one["reason"] for one in bad[:2]] == [
            "expected text, found an int",
            "expected text, found the lone surrogate '\\ud800'",
        ]
        assert bad[2]["reason"].startswith("expected a JSON object, found a line that is not JSON")
        assert bad[3]["reason"] == "expected a JSON object, found a list"
        assert bad[4]["reason"] == "expected a column 'text', found none"


def test_rows_keep_their_columns(parsing: FileParsing, tmp_path: Path) -> None:
    path = rows_file(tmp_path / "in.jsonl", TEXTS)
    shards = make_shards([str(path)], lambda path: JSON_ROWS, 10**6)
    lines = parse_all(ShardJob(parsing, column="text", output="json"), shards, tmp_path / "out").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["id"], row["text"]) for row in rows] == [(f"d{number}", text) for number, text in enumerate(TEXTS)]
    assert rows[0]["conllu"].startswith("# newdoc\n# newpar\n# sent_id = 1\n")
    assert rows[2]["conllu"] == ""


def test_parquet_in_and_out(parsing: FileParsing, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'treetune[ray]'")
    import pyarrow.parquet as parquet

    path = tmp_path / "in.parquet"
    table = pyarrow.table({"n": pyarrow.array(range(5), pyarrow.int8()), "text": [*TEXTS, None, "Yes."]})
    parquet.write_table(table, path, row_group_size=2)
    shards = make_shards([str(path)], row_kind, 1)
    assert [(piece.start, piece.end) for shard in shards for piece in shard.pieces] == [(0, 1), (1, 2), (2, 3)]
    job = ShardJob(parsing, column="text", id_column="n", output="parquet")
    parse_all(job, shards, tmp_path / "out")
    found = parquet.read_table(tmp_path / "out", schema=None)
    rows = [
        row
        for shard in shards
        for row in parquet.read_table(tmp_path / "out" / part_name(shard.number, ".parquet")).to_pylist()
    ]
    assert found.schema.field("n").type == pyarrow.int8()
    assert [row["n"] for row in rows] == [0, 1, 2, 4]
    assert rows[3]["conllu"].startswith("# newdoc id = 4\n")
    with pytest.raises(DataError, match="expected a Parquet file, found what cannot be read as one"):
        make_shards([str(rows_file(tmp_path / "bad.parquet", TEXTS))], row_kind, 1)
    # Of treebanks, a row has a sentence.
    tree = tmp_path / "in.conllu"
    tree.write_bytes(whole(parsing, rows_file(tmp_path / "t.txt", ["One. Two."]), "text"))
    parse_all(ShardJob(parsing, output="parquet"), make_shards([str(tree)], conllu, 10**6), tmp_path / "rows")
    sentences = parquet.read_table(tmp_path / "rows" / "part-00000.parquet").to_pylist()
    assert "".join(row["conllu"] for row in sentences).encode() == whole(parsing, tree, "conllu")
    assert len(sentences) > 1
    assert {row["file"] for row in sentences} == {str(tree)}


def test_batches_of_columns(parsing: FileParsing) -> None:
    parse = Parse(parsing.pipeline, id_column="name")
    batch = {"text": [*TEXTS, None], "name": ["a", "b", "c", "d"]}
    found = parse(batch)
    assert found["text"] == batch["text"]
    assert found["conllu"][0].startswith("# newdoc id = a\n")
    assert [value is None for value in found["conllu"]] == [False, False, False, True]
    assert list(found["error"]) == [None, None, None, "expected text, found None"]
    with pytest.raises(ConfigError, match="expected a column 'text', found 'other'"):
        Parse(parsing.pipeline)({"other": []})
    with pytest.raises(ModelError, match="this model has no tokenizer, and the documents are text"):
        Parse(Pipeline.of(parsing.pipeline.parser))


def test_ids_and_unforeseen_failures(parsing: FileParsing, monkeypatch: pytest.MonkeyPatch) -> None:
    found = DocumentParser(parsing).parse(["Yes."], ["two\nlines"])
    assert str(found[0]) == "expected an id without line breaks, found 'two\\nlines'"
    parser: Any = parsing.pipeline.parser
    original = type(parser).predict_batch

    def fail(self: Any, sentences: Sequence[Sentence], **options: Any) -> list[Tree]:
        if any("flies" in sentence.forms for sentence in sentences):
            raise RuntimeError("unforeseen")
        return list(original(self, sentences, **options))

    monkeypatch.setattr(type(parser), "predict_batch", fail)
    first, second, third = DocumentParser(parsing).parse(TEXTS)
    assert str(second) == "RuntimeError: unforeseen"
    assert not isinstance(first, DataError)
    assert not isinstance(third, DataError)
    assert (first.sentences, third.sentences) == (2, 0)
