"""Python functions as losses: given as themselves, by module and by file, with clear errors."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from losses_samples import GOLD, SENTENCE, WRONG

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, LossError
from treetune.losses import Function, Loss, Root, as_loss, make_loss


def wrong_heads(sentence: Sentence, tree: Tree, reference: Tree) -> int:
    return sum(a != b for a, b in zip(tree.heads, reference.heads, strict=True))


def dividing(sentence: Sentence, tree: Tree, reference: Any) -> float:
    return 1 / 0


def two_arguments(tree: Tree, reference: Tree) -> float:
    return 0.0


class Distance:
    """A callable object."""

    def __call__(self, sentence: Sentence, tree: Tree, reference: Tree) -> float:
        return 0.5


class Costly(Loss[Tree, int]):
    """A loss of a user, with all it may have."""

    name: ClassVar[str] = "costly"
    closed = 0

    def __call__(self, sentence: Sentence, output: Tree, reference: int) -> float:
        return float(reference)

    def known(self, sentence: Sentence, reference: int) -> Tree:
        return Tree.unknown(len(sentence))

    def check(self, sentence: Sentence, reference: int) -> None:
        if reference > 9:
            raise DataError("too much")

    def close(self) -> None:
        Costly.closed += 1


class Optional(Costly):
    def __init__(self, strength: int) -> None:
        self.strength = strength


class Short(Costly):
    def costs(self, sentence: Sentence, outputs: Any, reference: int) -> list[float]:
        return [0.0]


class Negative(Costly):
    def costs(self, sentence: Sentence, outputs: Any, reference: int) -> list[float]:
        return [-1.0] * len(outputs)


class Failing(Costly):
    def costs(self, sentence: Sentence, outputs: Any, reference: int) -> list[float]:
        raise KeyError("x")


ready_made = Root()
constant = 3


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_function_is_a_loss() -> None:
    loss = as_loss(wrong_heads)
    assert loss(SENTENCE, WRONG, GOLD) == 3.0
    assert loss.costs(SENTENCE, [GOLD, WRONG], GOLD) == [0.0, 3.0]
    assert loss.known(SENTENCE, GOLD) is None
    loss.check(SENTENCE, "anything")
    loss.close()
    assert loss.settings() == {"name": "python", "function": "test_losses_function:wrong_heads"}
    assert repr(loss) == "Function('test_losses_function:wrong_heads')"


def test_a_loss_stays_itself() -> None:
    loss = Root()
    assert as_loss(loss) is loss


@pytest.mark.parametrize(
    ("function", "title"),
    [
        (lambda sentence, tree, reference: 0, "test_losses_function:<lambda>"),
        (Distance(), "test_losses_function:Distance"),
        (Distance().__call__, "test_losses_function:Distance.__call__"),
        (functools.partial(wrong_heads), "functools:partial"),
        (lambda *everything: 0, "test_losses_function:<lambda>"),
    ],
)
def test_whatever_can_be_called_is_a_loss_and_has_a_title(function: Any, title: str) -> None:
    loss = as_loss(function)
    assert loss.settings() == {"name": "python", "function": title}
    assert loss(SENTENCE, GOLD, GOLD) >= 0


def test_a_function_of_an_imported_module_by_name() -> None:
    loss = make_loss("python", function="test_losses_function:wrong_heads")
    assert loss(SENTENCE, WRONG, GOLD) == 3.0
    assert make_loss(**loss.settings()).settings() == loss.settings()


def test_a_method_by_name() -> None:
    loss = Function("test_losses_function:ready_made.__call__")
    assert loss(SENTENCE, WRONG, GOLD) == 1.0


def test_a_function_of_a_file_is_found_beside_what_it_imports(tmp_path: Path) -> None:
    write(tmp_path, "beside_the_metric.py", "FACTOR = 7\n")
    path = write(
        tmp_path,
        "metric.py",
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from beside_the_metric import FACTOR\n"
        "@dataclass\nclass Box:\n    factor: int\n"
        "def cost(sentence, tree, reference):\n    return Box(FACTOR).factor * len(sentence)\n",
    )
    before = list(sys.path)
    loss = Function(f"{path}:cost")
    assert loss(SENTENCE, GOLD, None) == 35.0
    assert sys.path == before
    assert loss.settings() == {"name": "python", "function": f"{path}:cost"}


def test_two_files_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    losses = []
    for folder, answer in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        losses.append(
            Function(write(tmp_path / folder, "metric.py", f"def cost(s, t, r): return {answer}\n") + ":cost")
        )
    assert [loss(SENTENCE, GOLD, None) for loss in losses] == [1.0, 2.0]


def test_a_file_is_loaded_once_for_all_its_functions(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "counting.py",
        "seen = []\ndef a(s, t, r): seen.append(1); return len(seen)\ndef b(s, t, r): return a(s, t, r)\n",
    )
    one, other = Function(f"{path}:a"), Function(f"{path}:b")
    assert [one(SENTENCE, GOLD, None), other(SENTENCE, GOLD, None)] == [1.0, 2.0]


def test_a_function_of_a_script_is_found_again_by_its_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "script.py",
        "from treetune.losses import as_loss, make_loss\n"
        "def cost(s, t, r): return 4\n"
        "if __name__ == '__main__':\n"
        "    settings = as_loss(cost).settings()\n"
        "    print(settings['function'], make_loss(**settings)(None, None, None))\n",
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}:cost 4.0\n"


def test_a_named_loss_does_everything_itself() -> None:
    for title in ("test_losses_function:Costly", "test_losses_function:ready_made"):
        assert Function(title).settings() == {"name": "python", "function": title}
    loss = Function("test_losses_function:Costly")
    assert loss.costs(SENTENCE, [GOLD, WRONG], 2) == [2.0, 2.0]
    assert loss(SENTENCE, GOLD, 2) == 2.0
    assert loss.known(SENTENCE, 2) == Tree.unknown(5)
    with pytest.raises(DataError, match=r"^too much$"):
        loss.check(SENTENCE, 10)
    before = Costly.closed
    loss.close()
    assert Costly.closed == before + 1


def test_the_costs_of_a_named_loss_are_checked() -> None:
    with pytest.raises(
        LossError,
        match=r"^loss test_losses_function:Short: expected 2 costs, one an output, found 1 for the sentence 'What",
    ):
        Function("test_losses_function:Short").costs(SENTENCE, [GOLD, WRONG], 0)
    with pytest.raises(LossError, match=r"^loss test_losses_function:Negative: expected a cost, .* found -1\.0 for"):
        Function("test_losses_function:Negative").costs(SENTENCE, [GOLD], 0)
    with pytest.raises(
        LossError, match=r"^loss test_losses_function:Failing failed for .*: KeyError: 'x' \(test_losses"
    ):
        Function("test_losses_function:Failing").costs(SENTENCE, [GOLD], 0)


def test_a_function_that_fails_is_named_with_its_sentence_and_line() -> None:
    message = (
        r"^loss test_losses_function:dividing failed for the sentence 'What does she read \?': "
        r"ZeroDivisionError: division by zero \(test_losses_function\.py, line \d+\)$"
    )
    with pytest.raises(LossError, match=message) as caught:
        as_loss(dividing).costs(SENTENCE, [GOLD], None)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_function_that_does_not_say_what_it_takes_is_tried() -> None:
    with pytest.raises(LossError, match=r"^loss builtins:max failed for the sentence 'What .*': TypeError: "):
        as_loss(max)(SENTENCE, GOLD, WRONG)


def test_a_function_that_gives_no_cost() -> None:
    message = r"^loss test_losses_function:\S*<lambda>: expected a cost, a finite number of at least 0, found None for"
    with pytest.raises(LossError, match=message):
        as_loss(lambda sentence, tree, reference: None)(SENTENCE, GOLD, GOLD)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("wrong_heads", r"function must be 'package\.module:name' or 'path/to/file\.py:name', found 'wrong_heads'"),
        (":cost", r"function must be 'package\.module:name' or 'path/to/file\.py:name', found ':cost'"),
        ("metric:", r"function must be 'package\.module:name' or 'path/to/file\.py:name', found 'metric:'"),
        (
            "no.such.module:cost",
            r"cannot import the module 'no\.such\.module' of a loss: ModuleNotFoundError: No module named 'no'; "
            r"install it, or name its file, as in 'path/to/file\.py:name'",
        ),
        ("no/such/file.py:cost", r"expected the file no/such/file\.py with the function of a loss, found none"),
        (
            "test_losses_function:wrong_hads",
            r"unknown function of test_losses_function 'wrong_hads'; known: .*\(did you mean 'wrong_heads'\?\)",
        ),
        ("test_losses_function:constant", r"expected a function as test_losses_function:constant, found 3"),
        (
            "test_losses_function:two_arguments",
            r"the function test_losses_function:two_arguments must take three arguments, "
            r"\(sentence, output, reference\), found \(tree: .*\) -> .*",
        ),
        (
            "test_losses_function:Optional",
            r"the loss test_losses_function:Optional must be made without options: .*'strength'",
        ),
    ],
)  # fmt: skip
def test_names_that_are_no_loss(title: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        make_loss("python", function=title)


def test_a_file_that_cannot_be_loaded(tmp_path: Path) -> None:
    path = write(tmp_path, "broken.py", "def cost(:\n")
    for _ in range(2):  # nothing of it stays
        with pytest.raises(
            ConfigError, match=r"broken\.py, which has the function of a loss: SyntaxError: invalid syntax"
        ):
            Function(f"{path}:cost")
    path = write(tmp_path, "raising.py", "raise ValueError('not today')\n")
    with pytest.raises(ConfigError, match=r"^cannot load .*raising\.py, .*: ValueError: not today$"):
        Function(f"{path}:cost")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("root", r"expected a loss or a function of \(sentence, output, reference\), found 'root'; make_loss makes "
         r"losses from names"),
        (Root, r"expected a loss, found the class Root; make one of it: Root\(\)"),
        (two_arguments, r"the function test_losses_function:two_arguments must take three arguments, .*"),
    ],
)  # fmt: skip
def test_things_that_are_no_loss(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        as_loss(given)
