"""Models by name: where they are looked for, what hides what, and what is said of a name that is nowhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from commandline import run

import treetune
from pipeline_samples import small_pipeline
from treetune.model_names import find_model, is_name, model_folder, named_models
from treetune.storage import save

PAGE = Path(__file__).resolve().parents[2] / "docs" / "named-models.md"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and a folder of models in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREETUNE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def install(folder: Path, *models: str) -> None:
    """Make what an installed package with models looks like."""
    (folder / "my_models").mkdir(parents=True)
    (folder / "my_models" / "__init__.py").write_text("raise ValueError('this module is not to be run')\n")
    for name in models:
        save(small_pipeline(), folder / "my_models" / f"{name}.treetune", {"language": "xx", "licence": "CC0"})
    metadata = folder / "my_models-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-models\nVersion: 1.0\n")
    lines = "".join(f"{name} = my_models\n" for name in (*models, "broken"))
    (metadata / "entry_points.txt").write_text(f"[treetune_models]\n{lines}gone = no_such_module\n")


@pytest.mark.parametrize(
    ("model", "expected"),
    [("en", True), ("de-gsd_2", True), ("./en", False), ("en.treetune", False), ("a/b", False), ("-", False),
     (Path("en"), False), ("", False)],
)  # fmt: skip
def test_names_and_paths_are_told_apart(model: Any, expected: bool) -> None:
    assert is_name(model) is expected


def test_models_are_found_at_home_and_in_packages(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(small_pipeline(), home / "mine.treetune")
    install(home / "site", "mine", "theirs")
    monkeypatch.syspath_prepend(home / "site")
    assert find_model("mine") == home / "mine.treetune"
    assert find_model("theirs") == home / "site" / "my_models" / "theirs.treetune"
    own = [(found.name, found.place) for found in named_models() if found.place in ("home", "my-models")]
    assert own == [("mine", "home"), ("broken", "my-models"), ("mine", "my-models"), ("theirs", "my-models")]
    assert (
        treetune.load("theirs")("The dog sees a cat.").to_conllu()
        == small_pipeline()("The dog sees a cat.").to_conllu()
    )
    with pytest.raises(
        treetune.TreetuneError, match=r"^cannot read the model .*broken\.treetune: there is no such file$"
    ):
        treetune.load("broken")


def test_a_model_of_the_package_comes_first_and_files_beside_do_not_hide_it(home: Path) -> None:
    (home / "en.treetune").write_text("no model")
    Path("en").mkdir()
    assert Path(find_model("en")).parent == Path(treetune.__file__).parent / "embedded"
    assert find_model("./en") == "./en"
    with pytest.raises(
        treetune.TreetuneError, match=r"^cannot read the model \./en: it is a directory, expected a file$"
    ):
        treetune.load("./en")


def test_an_unknown_name_says_what_there_is(home: Path) -> None:
    save(small_pipeline(), home / "mine.treetune")
    with pytest.raises(treetune.TreetuneError) as caught:
        treetune.load("de")
    wanted = (
        "there is no model called 'de'; models here: en, mine; install a package that has it, or put de.treetune into "
        f"{home}: treetune train TREEBANK --task pipeline --model de.treetune"
    )
    assert str(caught.value) == wanted
    Path("de").write_text("a file")
    result = run("info", "de")
    assert (result.code, result.err) == (1, f"error: {wanted}; the file of this name is called ./de\n")


def test_the_folder_of_models_is_that_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TREETUNE_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "user")
    found = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        found[platform] = model_folder().relative_to(tmp_path).as_posix()
    assert found == {
        "linux": "treetune",
        "darwin": "user/Library/Application Support/treetune",
        "win32": "local/treetune",
    }


def test_the_command_lists_models(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = {"licence": "CC0", "training": {"train": {"name": "de_gsd-ud-train.conllu"}}}
    save(small_pipeline(), home / "de.treetune", info)
    save(small_pipeline(), home / "theirs.treetune")
    (home / "bad.treetune").write_text("no model")
    install(home / "site", "theirs")
    monkeypatch.syspath_prepend(home / "site")
    result = run("models")
    assert (result.code, result.err) == (0, f"Models of your own: {home} (TREETUNE_HOME)\n")
    rows = [re.split(r"  +", line) for line in result.out.splitlines()]
    assert rows[0] == ["name", "language", "parts", "MB", "licence", "path"]
    size = f"{(home / 'de.treetune').stat().st_size / 1e6:.1f}"
    assert rows[3] == ["de", "de", "tokenizer+tagger+parser", size, "CC0", str(home / "de.treetune")]
    assert rows[2][:2] == [
        "bad",
        f"{home / 'bad.treetune'} is not a treetune model; models are written by 'treetune train'",
    ]
    hidden = [line.split()[0] for line in result.out.splitlines() if line.endswith("(hidden by the one above)")]
    assert hidden == ["theirs"]
    listed = json.loads(run("models", "--json").out)
    assert listed["folder"] == str(home)
    assert [row["name"] for row in listed["models"]] == ["en", "bad", "de", "theirs", "broken", "theirs"]
    assert [row["language"] for row in listed["models"] if "language" in row] == ["en", "de", "", "xx"]


def test_commands_and_configurations_take_names(home: Path) -> None:
    save(small_pipeline(), home / "small.treetune")
    Path("in.txt").write_text("The dog sees a cat.")
    for command in (("parse", "small", "in.txt"), ("info", "small")):
        assert run(*command).code == 0
    run("parse", "small", "in.txt", "-o", "in.conllu")
    assert run("tag", "small", "in.conllu").code == 0
    trained = run("train", "in.conllu", "--start-from", "small", "--epochs", 1, "--model", "m.treetune")
    assert (trained.code, Path("m.treetune").is_file()) == (0, True)
    missing = run("train", "in.conllu", "--start-from", "nothing", "--model", "m.treetune")
    assert (missing.code, missing.err.partition(";")[0]) == (1, "error: there is no model called 'nothing'")


@pytest.mark.slow
def test_the_recipe_of_a_package_works(tmp_path: Path) -> None:
    """Builds the package of the page with pip, unpacks the wheel and loads the model of it in another process."""
    (recipe,) = re.findall(r"^```ini\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    project = tmp_path / "treetune-model-de"
    (project / "treetune_model_de").mkdir(parents=True)
    (project / "pyproject.toml").write_text(recipe, encoding="utf-8")
    (project / "treetune_model_de" / "__init__.py").touch()
    save(small_pipeline(), project / "treetune_model_de" / "de.treetune")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(project)]
    built = subprocess.run(pip, capture_output=True, text=True, check=False)
    if "Could not find a version" in built.stderr:
        pytest.skip("needs an index of packages, from which pip takes the build backend")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = f"import sys; sys.path.append({str(tmp_path / 'site')!r}); import treetune; print(treetune.load('de'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "<Pipeline of tokenizer, tagger, parser>\n"
