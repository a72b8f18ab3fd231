"""The README and the docs are right: snippets run, commands and settings exist, tables are complete."""

from __future__ import annotations

import io
import json
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import treetune
from treetune.cli import main
from treetune.cli.app import app
from treetune.config import Config
from treetune.config.schema import all_settings
from treetune.corpus.json_lines import format_json, read_json
from treetune.corpus.treebank import write_trees
from treetune.evaluation import ENTITY_METRICS, METRICS
from treetune.evaluation.tagging import tag_metrics
from treetune.losses import LOSSES, Loss, Program, as_loss, make_loss
from treetune.losses.program import SENTENCE_COLUMNS, request_lines
from treetune.reorder import load_rules
from treetune.sample import generate

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
TREETUNE: Any = typer.main.get_command(app)
CONTEXT = TREETUNE.make_context("treetune", [], resilient_parsing=True)
COMMANDS = {name: TREETUNE.get_command(CONTEXT, name) for name in TREETUNE.list_commands(CONTEXT)}


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """Return language and text of the code blocks of a page."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [(language, text) for language, text in found if language in languages]


def with_blocks(*languages: str) -> pytest.MarkDecorator:
    """Parametrize over the pages that have such blocks."""
    pages = [page for page in PAGES if blocks(page, *languages)]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.stem)


@pytest.fixture(scope="module")
def parser() -> treetune.TransitionParser:
    return treetune.TransitionParser(beam=2).fit(generate(20, seed=7), epochs=1)


@pytest.fixture(scope="module")
def ner() -> treetune.Tagger:
    data = [treetune.Tagged(treetune.Sentence.of(["Ada", "wrote"]), treetune.Tags.of(["B-PER", "O"]))]
    return treetune.Tagger(columns=("ner",), spans=True, features="ner").fit(data, epochs=1)


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parser: treetune.TransitionParser, ner: treetune.Tagger
) -> Path:
    """A folder with generated treebanks and a parser, named as the pages name them."""
    monkeypatch.chdir(tmp_path)
    parts = ("train", "dev", "test", "questions", "questions-dev", "in")
    data = {name: generate(60, seed=seed) for seed, name in enumerate(parts)}
    for name, examples in {**data, "gold": data["in"], "base-in": data["in"]}.items():
        write_trees(examples, f"{name}.conllu")
    write_trees(data["train"], "train.conllu.gz")
    write_trees(data["questions"][:4], "answers.conllu")
    Path("questions.txt").write_text("".join(" ".join(one.sentence.forms[1:]) + "\n" for one in data["questions"]))
    treetune.save(parser, "en.treetune")
    treetune.save(ner, "ner.treetune")
    for name in ("train.iob2", "dev.iob2"):
        Path(name).write_text("Ada\tB-PER\nwrote\tO\n\n")
    ((_, toml), *_) = blocks(DOCS / "config-files.md", "toml")
    Path("questions.toml").write_text(toml)
    return tmp_path


def run_page(page: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Execute the snippets of a page in order; a block that begins with the name of a file is that file."""
    for language, text in blocks(page, "python", "toml"):
        if named := re.match(r"# ([\w-]+\.\w+)\n", text):
            Path(named[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            here = text.replace('["python",', f"[{sys.executable!r},").replace("v:0.1.0", f"v:{treetune.__version__}")
            exec(compile(here, str(page), "exec"), names)
    return names


@with_blocks("python")
def test_the_snippets_of_a_page_run(page: Path, folder: Path, parser: treetune.TransitionParser) -> None:
    names = run_page(page, {"parser": parser})
    assert names["__builtins__"]


def commands(page: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the treetune commands of the shell blocks of a page, as lists of words, and what is piped into them."""
    for language, text in blocks(page, "console", "sh"):
        lines = text.replace("\\\n", " ").splitlines()
        for line in (line.removeprefix("$ ") for line in lines if language == "sh" or line.startswith("$ ")):
            piped = ""
            for command in re.split(r"\s(?:\||&&|>)\s", f" {line}"):
                words = shlex.split(command, comments=True)
                if words[:1] == ["treetune"]:
                    yield words[1:], piped
                piped = " ".join(words[1:]) if words[:1] == ["echo"] else ""


@with_blocks("console", "sh")
def test_the_commands_of_a_page_are_accepted(page: Path) -> None:
    known = {(setting.table, setting.key) for setting in all_settings()}
    for (name, *arguments), _ in commands(page):
        context = COMMANDS[name].make_context(name, list(arguments), parent=CONTEXT)
        for change in context.params.get("changes") or ():
            table, *path = change.partition("=")[0].split(".")
            assert (table, path[1 if table == "objective" else 0]) in known, change


RUN = [
    "../README",
    "tutorial",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("training", "config-files", "combining-parsers")),
]


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, piped in commands(DOCS / f"{name}.md"):
        if arguments not in (["demo"], ["serve"]):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.encode())))
            assert main(arguments) == 0, arguments


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_option_of_a_command_is_documented_and_no_other(name: str) -> None:
    page = text_of("command-line.md")
    section = page.partition(f"\n## treetune {name}\n")[2].partition("\n## ")[0]
    command = COMMANDS[name]
    parts = getattr(command, "commands", {"": command}).values()
    offered = {option for part in parts for parameter in part.params for option in parameter.opts}
    offered = {option for option in offered if option.startswith("--")} - {"--help"}
    hidden = {"--punct", "--subtypes"}  # the default side of a switch
    switches = {option for part in parts for parameter in part.params for option in parameter.secondary_opts}
    assert offered - hidden <= set(OPTION.findall(section))
    assert set(OPTION.findall(section)) <= offered | switches


def test_the_page_of_settings_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "docs_settings.py"))["settings_page"]()
    assert text_of("settings.md") == made, "run: python scripts/docs_settings.py"


@with_blocks("toml")
def test_configurations_are_accepted(page: Path, folder: Path) -> None:
    Path("my_losses.py").write_text("def missed(sentence, tree, pairs): return 0\n")
    for _, text in blocks(page, "toml"):
        tables = tomllib.loads(text)
        if "rule" in tables:
            Path("rules.toml").write_text(text)
            assert load_rules("rules.toml").rules
            continue
        tables.setdefault("train", {}).setdefault("treebank", "train.conllu")
        assert Config.of(tables)


def test_the_json_of_the_page_is_what_is_read_and_written() -> None:
    ((_, line),) = blocks(DOCS / "file-formats.md", "json")
    (example,) = read_json([line])
    assert json.loads(format_json(example.sentence, example.gold))["words"] == json.loads(line)["words"]


def test_every_public_name_is_in_the_reference() -> None:
    listed = set(re.findall(r"^::: treetune\.(\w+)$", "".join(map(text_of, _api_pages())), flags=re.MULTILINE))
    assert set(treetune.__all__) <= listed


def _api_pages() -> list[str]:
    return [f"api/{page.name}" for page in (DOCS / "api").glob("*.md")]


def test_every_metric_is_explained() -> None:
    metrics = (*METRICS, *ENTITY_METRICS, *tag_metrics(("upos", "xpos", "feats")))
    assert [name for name in metrics if f"`{name}`" not in text_of("scores.md")] == []


LOSS_PAGE = DOCS / "writing-losses.md"


def test_the_losses_of_the_page_do_what_it_says(folder: Path) -> None:
    run = run_page(LOSS_PAGE, {})
    question, tree, pairs = run["question"], run["tree"], [("reads", "Who"), ("reads", "it")]
    trees = [tree, run["other"], *(candidate.output for candidate in run["parser"].k_best(question, 8))]
    program = Program([sys.executable, "metric.py"])
    costs = program.costs(question, trees, pairs)
    program.close()
    assert costs == as_loss(run["missed"]).costs(question, trees, pairs)
    assert costs[:2] == [0.5, 0.5]
    second = run["SecondWord"]()
    assert second.costs(question, [tree, treetune.Tree.of([0, 1, 1, 1])], True) == [0.0, 1.0]
    with pytest.raises(treetune.TreetuneError, match="expected at least two words, found one"):
        second.check(treetune.Sentence.of(["Who"]), True)
    ((_, line),) = blocks(LOSS_PAGE, "json")
    assert request_lines(question, [tree], [("reads", "Who")]) == [line.encode()]


def test_the_losses_of_configuration_files_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_losses.py").write_text("def missed(sentence, tree, pairs): return 0\n")
    tables = [tomllib.loads(text)["objective"][0]["loss"] for _, text in blocks(LOSS_PAGE, "toml")]
    made = [json.loads(json.dumps(make_loss(**table).settings())) for table in tables]
    assert [one["name"] for one in made] == ["attachment", "python", "program", "weighted"]
    assert (made[0]["labelled"], made[2]["timeout"]) == (False, 60.0)


def test_the_tables_of_losses_are_complete() -> None:
    page = LOSS_PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| `(\w+)\(", page, flags=re.MULTILINE)
    assert listed == [(name, kind.__name__) for name, kind in LOSSES.items()]
    methods = re.findall(r"^\| `(\w+)\(.*?\)` \| [a-z]", page, flags=re.MULTILINE)
    own = [name for name in vars(Loss) if name == "__call__" or not name.startswith("_")]
    assert methods == [name for name in own if name not in ("name", "output", "reference")]
    assert [column for column in SENTENCE_COLUMNS if f"`{column}`" not in page] == []
