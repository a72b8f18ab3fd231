"""The house keeps its order: imports go down, modules stay small, the library is silent and starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "treetune"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A room may import rooms of a lower rank; equals do not import each other.
RANKS = {
    "errors": 0,
    "checked_state": 1, "model_names": 1,
    "corpus": 1,
    "features": 2, "reorder": 2, "semantics": 2,
    "weights": 3, "evaluation": 3,
    "filters": 4, "losses": 4,
    "models": 5,
    "learning": 6,
    "uptrain": 7, "storage": 7, "pipeline": 7, "sample": 7, "testing": 7,
    "config": 8,
    "cluster": 9, "web": 9, "integrations": 9,
    "cli": 10, "__main__": 11,
}  # fmt: skip
# Kernels that call one another stay together.
LARGEST_MODULE = 400
LARGE_ON_PURPOSE = "_kernels.py"

HEAVY = ("numba", "llvmlite", "typer", "rich", "zstandard", "fastapi", "sqlalchemy", "uvicorn", "jinja2")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_rooms(path: Path) -> Iterator[str]:
    for name in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] == "treetune" and parts[1:] not in ([], ["__version__"]):
            yield parts[1]


@pytest.mark.parametrize("path", [path for path in MODULES if path != PACKAGE / "__init__.py"], ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    here = room_of(path)
    assert here in RANKS, f"{here} has no place on the ladder"
    for room in set(imported_rooms(path)) - {here}:
        assert RANKS[room] < RANKS[here], f"{name_of(path)} imports {room}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "models").glob("*/*.py")), ids=name_of)
def test_models_do_not_import_each_other(path: Path) -> None:
    here = path.relative_to(PACKAGE).parts[1]
    modules = imported_modules(ast.parse(path.read_text(encoding="utf-8")))
    shared = {module.stem for module in (PACKAGE / "models").glob("*.py")}
    families = {name.split(".")[2] for name in modules if name.startswith("treetune.models.")}
    assert families - shared <= {here}


def test_the_package_itself_imports_nothing_at_once() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    at_once = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {name.split(".")[0] for node in at_once for name in imported_modules(node)} == {
        "__future__",
        "importlib",
        "typing",
    }


@pytest.mark.parametrize("path", [path for path in MODULES if room_of(path) != "cli"], ids=name_of)
def test_the_library_does_not_print(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not any(isinstance(function, ast.Name) and function.id == "print" for function in called)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_small(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LARGEST_MODULE or path.name.endswith(LARGE_ON_PURPOSE)


def test_no_module_is_a_drawer_for_everything() -> None:
    assert [name_of(path) for path in MODULES if path.stem in ("utils", "util", "helpers", "common", "misc")] == []


@pytest.mark.parametrize(
    "module",
    ["treetune", "treetune.corpus", "treetune.evaluation", "treetune.config", "treetune.losses", "treetune.sample"],
)
def test_reading_and_scoring_start_without_heavy_libraries(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, treetune; print(*(name for name in sys.modules if name.startswith('treetune.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
