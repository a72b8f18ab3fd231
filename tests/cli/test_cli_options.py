"""Options of one kind of parser or learner are refused for another, and all are checked before data is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import Result, run

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.cli.options import columns
from treetune.config.recipe import OWNERS
from treetune.errors import ConfigError
from treetune.models.registry import PARSERS, make_parser

__all__ = ["stub_model_fixture"]

# Options of the learner and of the data, not of the parser itself.
NOT_OF_THE_PARSER = {"update", "cost_augmented", "base_tree"}


def train(tmp_path: Path, *options: object) -> Result:
    """Train on a file that does not exist: whatever is said about an option is said before it is looked for."""
    return run("train", tmp_path / "none.conllu", "--model", tmp_path / "m", *options)


@pytest.mark.parametrize("parser", PARSERS)
def test_the_table_of_owners_is_that_of_the_parsers(parser: str) -> None:
    known = set(make_parser(parser).config.__dataclass_fields__)  # type: ignore[attr-defined]
    kind = PARSERS[parser][0]
    for option in set(OWNERS) - NOT_OF_THE_PARSER:
        assert (option in known) == (OWNERS[option] == kind), option


@pytest.mark.parametrize(
    ("parser", "options", "message"),
    [
        ("graph", ("--beam", 4), "--beam is an option of transition parsers; the parser is graph"),
        ("graph2", ("--beam", 4), "--beam is an option of transition parsers; the parser is graph2"),
        ("graph", ("--update", "early"), "--update is an option of transition parsers; the parser is graph"),
        (
            "transition",
            ("--decoder", "projective"),
            "--decoder is an option of graph parsers; the parser is transition",
        ),
        ("transition", ("--labels", "joint"), "--labels is an option of graph parsers; the parser is transition"),
        ("transition", ("--max-memory", 3), "--max-memory is an option of graph parsers; the parser is transition"),
        (
            "transition",
            ("--cost-augmented",),
            "--cost-augmented is an option of graph parsers; the parser is transition",
        ),
        (
            "transition",
            ("--learner", "factored-mira"),
            "the learner factored-mira is not for transition parsers, which have perceptron, mira",
        ),
        (
            "transition",
            ("--learner", "mirra"),
            "unknown learner 'mirra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ),
        ("transition", ("--learner", "mira", "--clip", "0"), "clip must be more than 0, found 0.0"),
        ("transition", ("--learner", "mira", "--clip", "nan"), "--clip: expected a number, found nan"),
    ],
)
def test_options_of_another_kind(tmp_path: Path, parser: str, options: tuple[object, ...], message: str) -> None:
    result = train(tmp_path, "--parser", parser, *options)
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_k_is_a_number_of_at_least_one(tmp_path: Path, value: str) -> None:
    result = train(tmp_path, "--k", value)
    assert result.code == 2
    assert result.err.startswith("error: Invalid value for '--k': ")


def test_right_options_are_not_refused(tmp_path: Path) -> None:
    for options in (("--beam", 4), ("--update", "early"), ("--learner", "mira", "--k", 3, "--clip", "0.5")):
        result = train(tmp_path, *options)
        assert result.code == 1
        assert "expected a file, found nothing under this name" in result.err


@pytest.mark.parametrize(
    ("learner", "options", "message"),
    [
        ((), ("--k", 3), "--k is an option of mira; the learner is perceptron"),
        ((), ("--clip", 3), "--clip is an option of mira and factored-mira; the learner is perceptron"),
        (("--learner", "perceptron"), ("--k", 3), "--k is an option of mira; the learner is perceptron"),
        (("--learner", "mira"), ("--k", 3, "--clip", 3), None),
    ],
)
def test_options_of_another_learner(
    tmp_path: Path,
    stub_model: StubParser,
    learner: tuple[object, ...],
    options: tuple[object, ...],
    message: str | None,
) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text(PLAIN)
    result = run("train", treebank, "--model", tmp_path / "m", "--parser", "stub", "-q", *learner, *options)
    if message is None:
        assert (result.code, result.err) == (0, "")
    else:
        assert (result.code, result.err) == (2, f"error: {message}\n")
        assert not (tmp_path / "m").exists()


def test_what_the_learner_says_of_itself_is_noted(tmp_path: Path, stub_model: StubParser) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text(PLAIN)
    base = ("train", treebank, "--model", tmp_path / "m", "--parser", "stub", "--epochs", 2)
    noted = []
    for options in ((), ("--learner", "mira", "--k", 7, "--cost-augmented"), ("--update", "early")):
        assert run(*base, *options).code == 0
        noted.append(storage.inspect(tmp_path / "m").info["training"])
    assert [{key: value for key, value in entry.items() if key != "train"} for entry in noted] == [
        {"epochs": 2, "best_epoch": 2, "seed": 1, "projectivize": True, **settings}
        for settings in (
            {"learner": "perceptron"},
            {"learner": "mira", "k": 7, "clip": None, "cost_augmented": True},
            {"learner": "perceptron", "update": "early"},
        )
    ]


def test_search_options_of_another_model(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m")
    result = run("parse", tmp_path / "m", tmp_path / "none.conllu", "--decoder", "projective")
    assert (result.code, result.err) == (2, "error: unknown search option of stubs 'decoder'; known: beam\n")


def test_columns_are_names_with_commas() -> None:
    assert columns(None) is None
    assert columns("") == ()
    assert columns(" UPOS,xpos, ,Feats,") == ("upos", "xpos", "feats")


def test_an_empty_list_of_columns_is_a_choice(tmp_path: Path, stub_model: StubParser) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text(PLAIN)
    assert run("train", treebank, "--model", tmp_path / "m", "--parser", "stub", "--inputs", "").code == 0
    loaded = storage.load(tmp_path / "m")
    assert isinstance(loaded, StubParser)
    assert loaded.options["inputs"] == []


def test_transition_parsers_search_otherwise_by_their_own_options_only() -> None:
    parser = make_parser("transition", beam=3)
    other = parser.with_options(beam=5)
    assert (other.config.beam, parser.config.beam) == (5, 3)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError) as caught:
        parser.with_options(beem=4)
    assert str(caught.value) == (
        "unknown search option of transition parsers 'beem'; known: beam (did you mean 'beam'?)"
    )
    with pytest.raises(ConfigError, match=r"^beam must be at least 1, found 0$"):
        parser.with_options(beam=0)
