"""Trainings that were stopped: whenever that was, the final model is the same; what does not belong is refused."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import checkpoint_runs
import numpy as np
import pytest
from checkpoint_runs import (
    DEV,
    EPOCHS,
    QUESTIONS,
    RUNS,
    TREEBANK,
    new_pipeline,
    objectives,
    start,
    start_pipeline,
)
from linear_model import LinearModel, Space, difference, example, round_robin
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from treetune import Objective
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError, TreetuneError
from treetune.learning import checkpoints
from treetune.learning.checkpoints import Checkpoint, StageCheckpoints
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.losses import Root
from treetune.models.base import Parser, Storable
from treetune.models.graph.parser import GraphParser
from treetune.models.transition.parser import TransitionParser

OTHER = (
    "the checkpoint {path} is of a training with other data or options; "
    "resume with the same ones, or remove it to start from the beginning"
)


def contents(model: Storable) -> tuple[str, dict[str, bytes]]:
    """All that a model file would hold."""
    config, tensors = model.state()
    return json.dumps(config, sort_keys=True), {name: array.tobytes() for name, array in tensors.items()}


def told(reports: Sequence[Progress]) -> list[Progress]:
    """The ends of epochs, without the time they took."""
    return [replace(report, cpu_seconds=0.0) for report in reports if report.is_epoch_end and not report.resumed]


@cache
def uninterrupted(name: str) -> tuple[tuple[str, dict[str, bytes]], list[Progress]]:
    model = RUNS[name][0]()
    reports = list(start(name, model, None))
    return contents(model), told(reports)


def finish(name: str, path: Path, **changes: Any) -> tuple[tuple[str, dict[str, bytes]], list[Progress]]:
    model = RUNS[name][0]()
    reports = list(start(name, model, path, resume=True, **changes))
    return contents(model), reports


def stop_after(name: str, path: Path, epochs: int, *, more: int = 0, resume: bool = False) -> None:
    """Train until so many epochs have ended and `more` reports have come, and no further."""
    ended = 0
    for report in start(name, RUNS[name][0](), path, resume=resume):
        ended += report.is_epoch_end
        if ended >= epochs:
            if not more:
                return
            more -= 1


def refusal(attempt: Callable[[], object], kind: type[TreetuneError] = ConfigError) -> str:
    with pytest.raises(TreetuneError) as caught:
        attempt()
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize("name", ["perceptron", "greedy", "graph"])
def test_keeping_checkpoints_changes_nothing(name: str, tmp_path: Path) -> None:
    model = RUNS[name][0]()
    reports = list(start(name, model, tmp_path / "c"))
    assert (contents(model), told(reports)) == uninterrupted(name)
    # It stays until it is removed, and nothing stays beside it.
    assert list(tmp_path.iterdir()) == [tmp_path / "c"]


@pytest.mark.parametrize(
    ("name", "epochs"),
    [*(("perceptron", epochs) for epochs in range(1, EPOCHS)), *((name, 3) for name in RUNS if name != "perceptron")],
)
def test_a_resumed_training_ends_with_the_same_model(name: str, epochs: int, tmp_path: Path) -> None:
    # Also in the middle of the next epoch, which is then learned anew.
    stop_after(name, tmp_path / "c", epochs, more=epochs % 2)
    model, reports = finish(name, tmp_path / "c")
    expected, ends = uninterrupted(name)
    assert model == expected
    assert told(reports) == ends[epochs:]


def test_a_training_may_be_stopped_again_and_again(tmp_path: Path) -> None:
    stop_after("mira", tmp_path / "c", 1)
    # The first report of a resumed training is on the epochs before.
    for _ in range(EPOCHS - 1):
        stop_after("mira", tmp_path / "c", 2, resume=True)
    assert finish("mira", tmp_path / "c")[0] == uninterrupted("mira")[0]


@pytest.mark.parametrize("name", ["perceptron", "greedy"])
def test_the_first_report_is_on_the_best_epoch_so_far(name: str, tmp_path: Path) -> None:
    stop_after(name, tmp_path / "c", 4)
    first = next(start(name, RUNS[name][0](), tmp_path / "c", resume=True))
    _, ends = uninterrupted(name)
    best = [end for end in ends[:4] if end.best]
    assert (first.resumed, first.is_epoch_end, first.best) == (True, True, name == "perceptron")
    assert first.epoch == (best[-1].epoch if best else 4)
    assert first.dev == (best[-1].dev if best else None)
    assert first.settings == ends[0].settings


@pytest.mark.parametrize("name", ["perceptron", "greedy"])
def test_what_is_done_is_done(name: str, tmp_path: Path) -> None:
    for _ in start(name, RUNS[name][0](), tmp_path / "c"):
        pass
    before = (tmp_path / "c").read_bytes()
    model, reports = finish(name, tmp_path / "c")
    assert model == uninterrupted(name)[0]
    assert [report.resumed for report in reports] == [True]
    assert (tmp_path / "c").read_bytes() == before


def test_without_a_checkpoint_training_begins_at_the_beginning(tmp_path: Path) -> None:
    model, reports = finish("greedy", tmp_path / "c")
    assert (model, told(reports)) == uninterrupted("greedy")
    assert not any(report.resumed for report in reports)


def test_a_checkpoint_that_is_not_asked_for_is_replaced(tmp_path: Path) -> None:
    stop_after("greedy", tmp_path / "c", 3)
    model = RUNS["greedy"][0]()
    reports = list(start("greedy", model, tmp_path / "c"))
    assert (contents(model), told(reports)) == uninterrupted("greedy")


def test_going_on_from_a_model_can_be_stopped_too(tmp_path: Path) -> None:
    def old(seed: int) -> TransitionParser:
        model = TransitionParser(beam=2)
        for _ in train(model, TREEBANK, epochs=2, seed=seed):
            pass
        return model

    def more(model: Parser, **options: Any) -> Any:
        objective = Objective(QUESTIONS, Root())
        return train(model, objectives=[objective], warm_start=True, epochs=3, checkpoint=tmp_path / "c", **options)

    expected = old(1)
    for _ in more(expected):
        pass
    reports = more(old(1))
    while not next(reports).is_epoch_end:
        pass
    del reports
    resumed = old(1)
    for _ in more(resumed, resume=True):
        pass
    assert contents(resumed) == contents(expected)
    # From another model it would be another training.
    assert refusal(lambda: list(more(old(2), resume=True))) == OTHER.format(path=tmp_path / "c")


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_killed_at_any_moment(kills: int, tmp_path: Path) -> None:
    """All trainings run in one program, which is killed again and again without a warning."""
    draw = random.Random(time.time_ns())
    kept = 0
    for lines in (draw.randint(16, 32), *(draw.randint(1, 40) for _ in range(kills - 1))):
        with subprocess.Popen(
            [sys.executable, checkpoint_runs.__file__, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for _ in range(lines):
                if not child.stdout.readline():
                    break
            time.sleep(draw.uniform(0, 0.05))
            child.kill()
            child.wait(60)
        assert child.returncode in (0, -signal.SIGKILL if hasattr(signal, "SIGKILL") else 1)
        names = [path.name for path in tmp_path.iterdir() if path.name in RUNS]
        kept = max(kept, len(names))
    assert kept > 0
    for name in RUNS:
        assert finish(name, tmp_path / name)[0] == uninterrupted(name)[0], name
    pipelines = [new_pipeline(), new_pipeline()]
    list(start_pipeline(pipelines[0]))
    list(start_pipeline(pipelines[1], checkpoint=tmp_path / "pipeline", resume=True))
    assert contents(pipelines[1]) == contents(pipelines[0])


# What is refused.


def other_words(examples: Sequence[Any]) -> list[Any]:
    first = examples[0]
    words = Sentence.of(["x"] * len(first.sentence), upos=first.sentence.upos[1:], xpos=first.sentence.xpos[1:])
    return [replace(first, sentence=words), *examples[1:]]


def other_tree(examples: Sequence[Any]) -> list[Any]:
    first = examples[0]
    return [replace(first, gold=Tree(first.gold.heads, (*first.gold.labels[:-1], "nsubj"))), *examples[1:]]


def other_column(examples: Sequence[Any], column: str) -> list[Any]:
    """Losses may look at any column, the parser at most."""
    first = examples[0].sentence
    values = (first.forms[0], *["Y"] * len(first))
    return [replace(examples[0], sentence=replace(first, **{column: values})), *examples[1:]]


def changed(number: int, **options: Any) -> list[Objective]:
    one = objectives()
    one[number] = replace(one[number], **options)
    return one


CHANGES: dict[str, dict[str, Any]] = {
    "seed": {"seed": 4},
    "epochs": {"epochs": EPOCHS + 1},
    "learner": {"learner": "mira"},
    "choose_by": {"choose_by": "UAS"},
    "fewer sentences": {"treebank": TREEBANK[:-1]},
    "another order": {"treebank": TREEBANK[::-1]},
    "words": {"treebank": other_words(TREEBANK)},
    "trees": {"treebank": other_tree(TREEBANK)},
    "features of words": {"treebank": other_column(TREEBANK, "feats")},
    "no dev": {"dev": ()},
    "other dev": {"dev": other_tree(DEV)},
    "no objectives": {"objectives": []},
    "rate": {"objectives": changed(0, rate=1.0)},
    "k": {"objectives": changed(0, k=3)},
    "max_k": {"objectives": changed(0, max_k=32)},
    "step": {"objectives": changed(1, step="perceptron")},
    "margin updates": {"objectives": changed(0, margin_updates=False)},
    "start": {"objectives": changed(0, start=3)},
    "search": {"objectives": changed(1, search="list")},
    "loss": {"objectives": changed(1, loss=Root())},
    "name": {"objectives": changed(1, name="mine")},
    "data of an objective": {"objectives": changed(0, data=other_column(QUESTIONS, "misc"))},
    "references": {"objectives": changed(1, data=other_tree(QUESTIONS[:4]))},
    "dev of an objective": {"objectives": changed(1, dev=other_tree(QUESTIONS))},
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stopped") / "c"
    stop_after("perceptron", path, 2)
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_other_data_or_options_are_refused(change: str, stopped: Path) -> None:
    before = stopped.read_bytes()
    assert refusal(lambda: finish("perceptron", stopped, **CHANGES[change])) == OTHER.format(path=stopped)
    assert stopped.read_bytes() == before


@pytest.mark.parametrize(
    "model",
    [TransitionParser(beam=4), TransitionParser(beam=3, min_count=1), GraphParser()],
    ids=["beam", "words", "graph"],
)
def test_another_parser_is_refused(model: Parser, stopped: Path) -> None:
    problem = refusal(lambda: list(start("perceptron", model, stopped, resume=True)))
    assert problem == OTHER.format(path=stopped)


def test_the_same_is_not_refused(stopped: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(stopped.read_bytes())
    # How many threads parse dev, or where the file lies, is no matter.
    assert finish("perceptron", copy, threads=2)[0] == uninterrupted("perceptron")[0]


@pytest.mark.parametrize("kept", [0, 4, 100, -1000, -1])
def test_a_file_that_was_cut_off_is_refused(kept: int, stopped: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "c"
    damaged.write_bytes(stopped.read_bytes()[:kept])
    problem = refusal(lambda: finish("perceptron", damaged), ModelError)
    assert problem.startswith(f"cannot read the checkpoint {damaged}: ")
    assert problem.endswith("; remove it to start from the beginning")


DAMAGED = (
    "cannot read the checkpoint {path}: its checksum does not match, it is damaged; "
    "remove it to start from the beginning"
)


@pytest.mark.parametrize("place", [0.3, 0.6, 0.999])
def test_a_file_in_which_a_bit_has_changed_is_refused(place: float, stopped: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "c"
    content = bytearray(stopped.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    content[header + int(place * (len(content) - header))] ^= 4
    damaged.write_bytes(content)
    assert refusal(lambda: finish("perceptron", damaged), ModelError) == DAMAGED.format(path=damaged)


def test_a_note_in_which_a_digit_has_changed_is_refused(stopped: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "c"
    content = stopped.read_bytes()
    assert content.count(b'\\"epoch\\": 2') == 1
    damaged.write_bytes(content.replace(b'\\"epoch\\": 2', b'\\"epoch\\": 1'))
    assert refusal(lambda: finish("perceptron", damaged), ModelError) == DAMAGED.format(path=damaged)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_text("# sent_id = 1\n" * 100)
    problem = refusal(lambda: finish("perceptron", path), ModelError)
    assert problem.startswith(f"cannot read the checkpoint {path}: ")
    save_file({"weights": np.zeros(3)}, path)
    problem = refusal(lambda: finish("perceptron", path), ModelError)
    assert problem == f"{path} is not a checkpoint of this version of treetune; give another name"


@pytest.mark.parametrize("content", ['{"epoch": 1', "[]", '{"told": "x"}'])
def test_a_damaged_note_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "c"
    save_file({"weights": np.zeros(3)}, path, metadata={"treetune checkpoint 3": content, "checksum": "0"})
    problem = refusal(lambda: finish("perceptron", path), ModelError)
    assert problem == DAMAGED.format(path=path)


def test_a_checkpoint_is_written_without_copies(tmp_path: Path) -> None:
    tensors: dict[str, NDArray[Any]] = {
        "weights": np.arange(1 << 20, dtype=np.float32).reshape(1 << 10, 1 << 10),
        "table": np.arange(1 << 19, dtype=np.uint64),
        "flags": np.array([True, False, True]),
        "small": np.arange(-3, 4, dtype=np.int8),
        "none": np.empty((0, 4), np.int16),
    }
    size = sum(array.nbytes for array in tensors.values())
    file = Checkpoint(tmp_path / "some.checkpoint", "f")
    tracemalloc.start()
    file.write({"epoch": 1}, tensors, ({"kind": "k"}, tensors))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size / 8
    found = file.read()
    assert found is not None
    for kept in (found["learner"], found["best"][1]):
        assert kept.keys() == tensors.keys()
        for name, array in tensors.items():
            assert kept[name].dtype == array.dtype
            assert np.array_equal(kept[name], array)


def test_a_checkpoint_needs_a_folder_to_lie_in(tmp_path: Path) -> None:
    def attempt(path: Path) -> str:
        return refusal(lambda: start("perceptron", TransitionParser(beam=3), path))

    folder = tmp_path / "none"
    assert attempt(tmp_path) == (f"cannot write the checkpoint {tmp_path}: it is a directory; give the name of a file")
    assert attempt(folder / "c") == f"cannot write the checkpoint {folder / 'c'}: there is no folder {folder}"


def test_a_folder_that_cannot_be_written_to_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    problem = refusal(lambda: start("perceptron", TransitionParser(beam=3), tmp_path / "c"))
    assert problem == f"cannot write the checkpoint {tmp_path / 'c'}: the folder {tmp_path} cannot be written to"


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c"
    stop_after("greedy", path, 2)
    before = path.read_bytes()

    class Full:
        def __init__(self, handle: int, mode: str) -> None:
            self._file = open(handle, mode)  # noqa: SIM115

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def fileno(self) -> int:
            return self._file.fileno()

        def write(self, data: bytes) -> int:
            self._file.write(data[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", Full)
        problem = refusal(lambda: finish("greedy", path), DataError)
    assert problem == f"{path}: this file cannot be written: no space left on device"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert finish("greedy", path)[0] == uninterrupted("greedy")[0]


# Schedules, in the plainest model.

SPACE: Space = {word: {f"y{place}": {f"{word}{place}": 1.0} for place in range(3)} for word in ("u", "v", "w", "x")}


@pytest.mark.parametrize("stop", range(1, 6))
def test_orders_and_turns_are_resumed(stop: int, tmp_path: Path) -> None:
    """Rates and data of which the epochs are no multiples, and a schedule of rounds."""

    def cost(sentence: Sentence, tree: Tree, reference: Tree) -> float:
        return float(tree != reference)

    def run(schedule: bool, **options: Any) -> tuple[LinearModel, Any]:
        model = LinearModel(SPACE, averaged=True)
        other = [
            Objective([example(word, "y2") for word in "wxu"], cost, k=3, rate=0.3, start=1, name="a"),
            Objective([example(word, "y1") for word in "xw"], cost, k=3, rate=0.7, start=2, name="b"),
        ]
        treebank = [example("u", "y1"), example("v", "y2"), example("w", "y0"), example("x", "y1"), example("u", "y0")]
        turns = round_robin(3) if schedule else None
        return model, train(model, treebank, objectives=other, schedule=turns, epochs=6, **options)

    for schedule in (False, True):
        path = tmp_path / str(schedule)
        whole, reports = run(schedule)
        for _ in reports:
            pass
        first, reports = run(schedule, checkpoint=path)
        for report in reports:
            if report.is_epoch_end and report.epoch == stop:
                break
        done = len(first.learners[0].log)
        second, reports = run(schedule, checkpoint=path, resume=True)
        for _ in reports:
            pass
        assert second.weights is not None
        assert whole.weights is not None
        assert difference(second.weights, whole.weights) == {}
        assert first.learners[0].log[:done] + second.learners[0].log == whole.learners[0].log


def test_another_schedule_is_refused_and_a_stateful_one_is_resumed(tmp_path: Path) -> None:
    def cost(sentence: Sentence, tree: Tree, reference: Tree) -> float:
        return float(tree != reference)

    def every(period: int) -> Callable[[int, int], int]:
        """Give the objective a step each time it was asked so often: what it answers depends on what came before."""
        asked = 0

        def steps(objective: int, turn: int) -> int:
            nonlocal asked
            asked += objective
            return int(objective == 0 or asked % period == 0)

        return steps

    def run(period: int, *, stop: int = 6, resume: bool = False) -> LinearModel:
        model = LinearModel(SPACE, averaged=True)
        other = Objective([example(word, "y2") for word in "wxu"], cost, k=3, start=2, name="a")
        treebank = [example(word, "y1") for word in "uvwxu"]
        path = tmp_path / "c"
        for report in train(
            model, treebank, objectives=[other], schedule=every(period), epochs=6, checkpoint=path, resume=resume
        ):
            if report.is_epoch_end and report.epoch == stop:
                break
        return model

    whole = run(3)
    first = run(3, stop=4)
    problem = refusal(lambda: run(2, resume=True))
    assert problem == (
        "the checkpoint is of a training with another schedule; resume with the same one, or remove it to start from "
        "the beginning"
    )
    second = run(3, resume=True)
    assert first.learners[0].log + second.learners[0].log == whole.learners[0].log


def test_two_trainings_do_not_share_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = start("greedy", TransitionParser(beam=1), path)
    next(first)
    message = f"the checkpoint {path} is being written by another training (process {os.getpid()} on "
    with pytest.raises(ConfigError) as caught:
        next(start("greedy", TransitionParser(beam=1), path))
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith("); wait until it has ended, or give another name")
    del first
    # What a killed process has left is no obstacle.
    lock = tmp_path / f".state.training.{zlib.crc32(b'state.training'):08x}.lock"
    lock.write_text("process 1 on nowhere")
    list(start("greedy", TransitionParser(beam=1), path, epochs=2))
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


def test_two_trainings_do_not_share_a_folder_of_checkpoints(tmp_path: Path) -> None:
    first = StageCheckpoints(tmp_path / "stages", resume=False)
    with pytest.raises(ConfigError, match="stages is being written by another training"):
        StageCheckpoints(tmp_path / "stages", resume=True)
    del first
    StageCheckpoints(tmp_path / "stages", resume=True)


def strange_state(state: Any, draw: random.Random) -> Any:
    """Return a state in which one value is of another type, too large, or missing."""
    if isinstance(state, dict) and state and draw.random() < 0.9:
        name = draw.choice(sorted(state.keys() - {"fingerprint"}) or sorted(state))
        if draw.random() < 0.15:
            return {key: value for key, value in state.items() if key != name}
        return {**state, name: strange_state(state[name], draw)}
    if isinstance(state, list) and state and draw.random() < 0.8:
        at = draw.randrange(len(state))
        return [*state[:at], strange_state(state[at], draw), *state[at + 1 :]]
    return draw.choice([None, -1, 3.5, "x", [], {}, [[1]], 99, True])


@pytest.mark.slow
def test_mutated_states_work_or_are_refused(tmp_path: Path) -> None:
    name, path = "greedy", tmp_path / "state"
    for report in start(name, RUNS[name][0](), path):
        if report.is_epoch_end and report.epoch == 4:
            break
    with safe_open(path, framework="numpy") as file:
        notes, tensors = file.metadata(), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    draw, refused, field = random.Random(1), 0, next(key for key in notes if key.startswith("treetune"))
    for _ in range(30):
        text = json.dumps(strange_state(json.loads(notes[field]), draw))
        save_file(tensors, path, {field: text, "checksum": checkpoints._checksum(text, tensors)})
        try:
            list(start(name, RUNS[name][0](), path, resume=True))
        except TreetuneError as error:
            refused += "\n" not in str(error)
    assert 10 < refused <= 30
