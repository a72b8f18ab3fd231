"""The experiments with taggers: quick trials of every row, what is kept of them, and what is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config_samples import lab, write_treebanks
from treetune.corpus import iob_tags, read_conllu, write_conllu, write_iob
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.spans import Span
from treetune.corpus.tags import Tagged, Tags
from treetune.sample import generate

SCRIPTS = ("hall2011_extrinsic_table1", "hall2011_extrinsic_table2", "petrov2010_table4")
Records = dict[str, dict[str, Any]]


def as_entities(example: Example) -> Tagged:
    """Every proper noun is a person."""
    words = [word for word, tag in enumerate(example.sentence.upos) if tag == "PROPN"]
    sentence = Sentence.of(example.sentence.forms[1:])
    return Tagged(sentence, Tags(iob_tags([Span(word, word + 1, "PER") for word in words], len(sentence))))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated English under the names of the real files."""
    folder = write_treebanks(tmp_path_factory.mktemp("data"), sizes=(60, 15, 20))
    write_conllu(generate(40, seed=5), folder / "ud" / "en_gum-train.conllu")
    for name in ("unlabeled", "unlabeled-web"):
        lines = [" ".join(example.sentence.forms[1:-1]) + "?" for example in generate(40, seed=6)]
        (folder / "questions" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "ner").mkdir()
    for seed, name in enumerate(("uner-train", "uner-test", "wnut17-train", "wnut17-dev", "wnut17-test")):
        write_iob(map(as_entities, generate(60, seed=20 + seed)), folder / "ner" / f"{name}.iob2")
    return folder


def run_script(name: str, *arguments: str) -> None:
    module = getattr(lab, name)
    lab.tasks.main(module.EXPERIMENT, module.__doc__, arguments)


@pytest.fixture(scope="module")
def records(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Records:
    folder = tmp_path_factory.mktemp("results")
    found = {}
    for name in SCRIPTS:
        out = folder / f"{name}.json"
        run_script(name, "--data", str(data), "--quick", "--seeds", "1", "--out", str(out))
        found[name] = json.loads(out.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_row_is_made_and_every_claim_judged(records: Records, name: str) -> None:
    record, experiment = records[name], getattr(lab, name).EXPERIMENT
    assert [row["name"] for row in record["rows"]] == [row.name for row in experiment.rows]
    assert len(record["pattern"]) == len(experiment.expected)
    assert all(claim["holds"] in (True, False) for claim in record["pattern"])
    first = experiment.metrics[0].name
    for row in record["rows"]:
        assert all(scores[first]["mean"] > 20 for scores in row["tests"].values()), row
    assert len(record["comparisons"]) >= len(experiment.pairs)


@pytest.mark.parametrize("name", SCRIPTS)
def test_results_can_be_shown(records: Records, name: str) -> None:
    text = lab.tables.section(records[name])
    assert text.startswith(f"## {getattr(lab, name).EXPERIMENT.title}\n")
    assert getattr(lab, name).EXPERIMENT.about in text
    assert "A quick trial" in text
    assert "Differences in points" in text


def test_what_is_stored_is_not_made_again(
    records: Records, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "hall2011_extrinsic_table1"
    out = tmp_path / "again.json"
    out.write_text(json.dumps(records[name]))
    run_script(name, "--data", str(data), "--quick", "--seeds", "1", "--out", str(out))
    assert json.loads(out.read_text()) == records[name]
    shown = capsys.readouterr()
    assert ", seed 0" not in shown.out + shown.err


def test_wrong_options_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no row has 'nothing' in its name; the rows are: source; "):
        run_script("hall2011_extrinsic_table1", "--data", str(data), "--only", "nothing", "--out", str(tmp_path / "x"))
    with pytest.raises(SystemExit, match="is missing; name the folder that holds it with --data"):
        run_script("hall2011_extrinsic_table1", "--data", str(tmp_path), "--out", str(tmp_path / "x"))


def test_the_main_verb_is_the_root_or_its_copula() -> None:
    lines = [
        "1\tWhat\t_\tPRON\t_\t_\t0\troot\t_\t_",
        "2\tis\t_\tAUX\t_\t_\t1\tcop\t_\t_",
        "3\tthat\t_\tPRON\t_\t_\t1\tnsubj\t_\t_",
    ]
    (example,) = read_conllu(lines)
    assert lab.tagging.main_verb(example) == 2
    ((sentence, tree),) = lab.tagging.main_verbs([example])
    assert tree == Tree.of([-1, 0, -1])
    assert set(sentence.upos[1:]) == {"_"}
    verb = [line.replace("PRON\t_\t_\t0", "VERB\t_\t_\t0") for line in lines]
    assert lab.tagging.main_verb(next(iter(read_conllu(verb)))) == 1
    bare = [line.replace("\tcop\t", "\tdet\t") for line in lines]
    assert lab.tagging.main_verbs(list(read_conllu(bare))) == []
