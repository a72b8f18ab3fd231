"""External programs as losses: the protocol, and every way in which a program can fail."""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from losses_samples import GOLD, SENTENCE, WRONG, references_with_answers

from strategies import sentences
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, LossError
from treetune.losses import Function, Program, Weighted, make_loss
from treetune.losses import process as process_module

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and process groups")

# The start of every program here: it leaves its process id in a file beside it.
HEADER = """
import json, os, sys, time
from pathlib import Path
with Path(__file__).with_suffix(".pids").open("a") as pids:
    print(os.getpid(), file=pids)
"""

WRONG_HEADS = """
for line in sys.stdin:
    item = json.loads(line)
    pairs = list(zip(item["candidate"]["heads"][1:], item["reference"]["heads"][1:]))
    print(sum(a != b for a, b in pairs) / len(pairs))
"""


def wrong_heads(sentence: Sentence, tree: Tree, reference: Tree) -> float:
    """The same as the program above."""
    pairs = list(zip(tree.heads[1:], reference.heads[1:], strict=True))
    return sum(a != b for a, b in pairs) / len(pairs)


class Made:
    """A program in a file, as a loss."""

    def __init__(self, folder: Path, text: str, *, timeout: float = 60.0) -> None:
        self.path = folder / "metric.py"
        self.path.write_text(HEADER + textwrap.dedent(text), encoding="utf-8")
        self.loss = Program([sys.executable, str(self.path)], timeout=timeout)

    @property
    def pids(self) -> list[int]:
        listed = self.path.with_suffix(".pids")
        return [int(line) for line in listed.read_text().split()] if listed.exists() else []

    def become_impatient(self) -> None:
        """Wait until the program runs, however slow the machine is, and only then expect quick answers."""
        self.costs(1)
        self.loss._timeout = 1.0

    def costs(self, count: int = 3, sentence: Sentence = SENTENCE) -> list[float]:
        return self.loss.costs(sentence, [WRONG] * count, GOLD)

    def fault(self, count: int = 3, sentence: Sentence = SENTENCE) -> str:
        """The error of a program that must fail, without the part that is always the same; it has stopped by then."""
        with pytest.raises(LossError) as caught:
            self.costs(count, sentence)
        assert not any(map(is_there, self.pids))
        message = str(caught.value)
        start = f"loss program '{sys.executable} {self.path}'"
        assert message.startswith(start)
        return message[len(start) :]


def is_there(pid: int) -> bool:
    """Whether a process runs, or is a zombie that we ought to have waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Whether a process that is not our child runs; its zombie is not our business."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return is_there(pid) if not Path("/proc/self").exists() else False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(name="wrong_heads_program", scope="module")
def wrong_heads_program_fixture(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Made(tmp_path_factory.mktemp("program"), WRONG_HEADS)
    yield made
    made.loss.close()
    assert not any(map(is_there, made.pids))


# --- what goes in and comes out -----------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=references_with_answers(), words=sentences(size=3))
def test_a_function_and_the_same_function_as_a_program_give_the_same(
    wrong_heads_program: Made, drawn: tuple[Tree, list[Tree]], words: Sentence
) -> None:
    reference, answers = drawn
    expected = Function(wrong_heads).costs(words, answers, reference)
    assert wrong_heads_program.loss.costs(words, answers, reference) == expected
    assert len(wrong_heads_program.pids) <= 1  # started once for all of them


def echoed(tmp_path: Path, sentence: Sentence, output: Any, reference: Any) -> Any:
    made = Made(tmp_path, """
        for line in sys.stdin:
            Path(__file__).with_suffix(".line").write_text(line)
            print(1)
        """)  # fmt: skip
    assert made.loss(sentence, output, reference) == 1.0
    made.loss.close()
    line = made.path.with_suffix(".line").read_text(encoding="ascii")
    assert line.endswith("}\n")
    return json.loads(line)


def test_what_a_program_reads(tmp_path: Path) -> None:
    sentence = replace(
        Sentence.of(["Où", "est\u2028il"], upos=["ADV", "VERB"], feats=["_", "Mood=Ind"], lemmas=["où", "il"]),
        comments=("# sent_id = 7",),
    )
    assert echoed(tmp_path, sentence, Tree.of([2, 0], ["advmod", "root"]), Tree.of([-1, 0], ["advmod", ""])) == {
        "sentence": {
            "forms": ["<root>", "Où", "est\u2028il"],
            "lemmas": ["<root>", "où", "il"],
            "upos": ["<root>", "ADV", "VERB"],
            "xpos": ["<root>", "_", "_"],
            "feats": ["<root>", "_", "Mood=Ind"],
            "misc": ["<root>", "_", "_"],
            "comments": ["# sent_id = 7"],
        },
        "candidate": {"heads": [None, 2, 0], "labels": [None, "advmod", "root"]},
        "reference": {"heads": [None, None, 0], "labels": [None, "advmod", None]},
    }


@pytest.mark.parametrize(
    ("reference", "read"),
    [
        (None, None),
        ([2, 1, 3], [2, 1, 3]),
        ({"spans": [(0, 2, "PER")]}, {"spans": [[0, 2, "PER"]]}),
        ({"tree": Tree.of([0])}, {"tree": {"heads": [None, 0], "labels": [None, None]}}),
        ("naïve\nlines", "naïve\nlines"),
    ],
)
def test_references_pass_as_they_are(tmp_path: Path, reference: Any, read: Any) -> None:
    seen = echoed(tmp_path, SENTENCE, ("PRON", "AUX"), reference)
    assert seen["reference"] == read
    assert seen["candidate"] == ["PRON", "AUX"]  # an output need not be a tree


def test_other_sentences_may_be_in_a_reference(tmp_path: Path) -> None:
    assert echoed(tmp_path, SENTENCE, None, [Sentence.of(["a"])])["reference"][0]["forms"] == ["<root>", "a"]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ({1, 2}, "found a value of type set"),
        (float("nan"), "Out of range float values are not JSON compliant.*"),
        ({(1, 2): 3}, "keys must be str, int, float, bool or None, not tuple"),
    ],
)
def test_references_that_json_cannot_hold(reference: Any, problem: str) -> None:
    loss = Program("never-started")
    with pytest.raises(DataError, match=f"^loss program needs a reference that JSON can hold: {problem}$"):
        loss.check(SENTENCE, reference)
    message = rf"^loss program 'never-started': cannot write the sentence 'What .*' as JSON: {problem}$"
    with pytest.raises(LossError, match=message):
        loss.costs(SENTENCE, [GOLD], reference)
    loss.check(SENTENCE, GOLD)


def test_an_empty_list_needs_no_program() -> None:
    assert Program("never-started").costs(SENTENCE, [], GOLD) == []


@pytest.mark.parametrize("answer", ["0.25", " 0.25 ", "2.5e-1", "0.25\\r"])
def test_ways_to_write_a_number(tmp_path: Path, answer: str) -> None:
    made = Made(tmp_path, f"""
        for line in sys.stdin:
            print("{answer}")
        """)  # fmt: skip
    assert made.costs() == [0.25] * 3
    made.loss.close()


def test_floats_arrive_exactly(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            print(json.loads(line)["reference"])
        """)  # fmt: skip
    for number in (0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308):
        assert made.loss(SENTENCE, GOLD, number) == number
    made.loss.close()


# --- pipes --------------------------------------------------------------------------------------------------------


def test_huge_lists_of_long_sentences_beside_a_chatty_program(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            sys.stderr.write("so much to say " * 500 + "\\n")
            print(len(json.loads(line)["candidate"]["heads"]))
        """)  # fmt: skip
    long = Tree.of([0] * 1000)
    assert made.loss.costs(Sentence.of(["word"] * 1000), [long] * 500, GOLD) == [1001.0] * 500
    made.loss.close()


def test_a_program_may_read_ahead_and_answer_late(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        while True:
            lines = [sys.stdin.readline() for _ in range(1000)]
            if not lines[-1]:
                break
            time.sleep(0.2)
            sys.stdout.write("".join(f"{len(line)}\\n" for line in lines))
        """)  # fmt: skip
    assert len(set(made.costs(1000))) == 1
    assert len(made.costs(1000)) == 1000
    made.loss.close()


def test_a_python_program_that_forgets_to_flush_is_helped(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            sys.stdout.write("1\\n")
        """)  # fmt: skip
    assert made.costs() == [1.0] * 3
    made.loss.close()


def test_threads_take_turns(wrong_heads_program: Made) -> None:
    def ask(size: int) -> bool:
        tree, other = Tree.of([0] * size), Tree.of([0] * (size - 1) + [1])
        expected = [0.0, 1 / size] * 20
        return wrong_heads_program.loss.costs(SENTENCE, [tree, other] * 20, tree) == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(1, 60)))


# --- faults -------------------------------------------------------------------------------------------------------


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(LossError, match=r"^loss program 'no-such-program -x': cannot start it: .*no-such-program"):
        Program("no-such-program -x")(SENTENCE, GOLD, GOLD)


@posix
def test_a_program_that_may_not_run(tmp_path: Path) -> None:
    path = tmp_path / "metric"
    path.write_text("text")
    with pytest.raises(LossError, match=r"^loss program '.*metric': cannot start it: .*Permission denied"):
        Program([str(path)])(SENTENCE, GOLD, GOLD)


def test_a_program_that_ends(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        print(sys.stdin.readline() and 0.5)
        print("out of cheese", file=sys.stderr)
        print("redo from start", file=sys.stderr)
        sys.exit(3)
        """)  # fmt: skip
    assert made.fault() == (
        ", sentence 'What does she read ?': it ended with exit code 3 after 1 of 3 answers; its stderr ends:\n"
        "  out of cheese\n  redo from start"
    )


def test_a_program_that_fails(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            print(1 / json.loads(line)["reference"]["heads"][4])
        """)  # fmt: skip
    fault = made.fault()
    assert fault.startswith(
        ", sentence 'What does she read ?': it ended with exit code 1 after 0 of 3 answers; its stderr ends:\n  "
    )
    assert fault.endswith("\n  ZeroDivisionError: division by zero")


def test_only_the_last_lines_of_stderr_are_quoted(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for number in range(5000):
            print("line", number, file=sys.stderr)
        sys.exit(1)
        """)  # fmt: skip
    quoted = made.fault().partition("its stderr ends:\n")[2]
    assert quoted.split("\n") == [f"  line {number}" for number in range(4992, 5000)]


def test_a_program_that_ends_at_once_and_says_nothing(tmp_path: Path) -> None:
    fault = Made(tmp_path, "sys.exit(0)").fault()
    assert fault in (
        f", sentence 'What does she read ?': it ended with exit code 0 {when}; it wrote nothing to stderr"
        for when in ("after 0 of 3 answers", "before it was asked")
    )


@posix
@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (40, "signal 40")])
def test_a_program_that_is_killed(tmp_path: Path, number: int, name: str) -> None:
    if number > 31 and sys.platform != "linux":
        pytest.skip("needs signals without a name")
    made = Made(tmp_path, f"""
        sys.stdin.readline()
        print(0)
        sys.stdin.readline()
        os.kill(os.getpid(), {number})
        """)  # fmt: skip
    assert made.fault() == (
        f", sentence 'What does she read ?': it was killed by {name} after 1 of 3 answers; it wrote nothing to stderr"
    )


@posix
def test_a_program_that_is_killed_between_two_lists(tmp_path: Path) -> None:
    made = Made(tmp_path, WRONG_HEADS)
    made.costs()
    os.kill(made.pids[0], signal.SIGKILL)
    time.sleep(0.2)
    assert "it was killed by SIGKILL " in made.fault()


def test_a_program_that_hangs(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        print(sys.stdin.readline() and 1)
        print("thinking", file=sys.stderr)
        print(sys.stdin.readline() and 1)
        time.sleep(1000)
        """)  # fmt: skip
    made.become_impatient()
    assert made.fault() == (
        ", sentence 'What does she read ?': it gave 1 of 3 answers within 1 seconds and was stopped; it must answer "
        "every line and flush its output; its stderr ends:\n  thinking"
    )


def test_a_program_that_never_reads(tmp_path: Path) -> None:
    made = Made(tmp_path, "time.sleep(1000)", timeout=0.5)
    assert "it gave 0 of 20000 answers within 0.5 seconds and was stopped" in made.fault(20000)


def test_a_program_that_never_ends_its_line(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        sys.stdin.readline()
        sys.stdout.write("0.5")
        time.sleep(1000)
        """, timeout=1)  # fmt: skip
    assert "it gave 0 of 1 answers within 1 seconds and was stopped" in made.fault(1)


@posix
def test_a_program_that_closes_its_output_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "GRACE_SECONDS", 0.2)
    made = Made(tmp_path, """
        sys.stdin.readline()
        os.close(1)
        time.sleep(1000)
        """)  # fmt: skip
    assert made.fault() == (
        ", sentence 'What does she read ?': it closed its output after 0 of 3 answers and was stopped; "
        "it wrote nothing to stderr"
    )


@posix
def test_what_a_hanging_program_has_started_is_stopped_too(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        import subprocess
        if len(sys.argv) == 1:
            subprocess.Popen([sys.executable, __file__, "child"])
            while len(Path(__file__).with_suffix(".pids").read_text().split()) < 2:
                time.sleep(0.01)
            print(sys.stdin.readline() and 1)
        time.sleep(1000)
        """)  # fmt: skip
    made.become_impatient()
    with pytest.raises(LossError, match="within 1 seconds and was stopped"):
        made.costs()
    assert len(made.pids) == 2
    wait_until(lambda: not any(map(is_running, made.pids)))


@posix
def test_a_program_that_leaves_a_child_behind_with_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "GRACE_SECONDS", 0.2)
    made = Made(tmp_path, """
        import subprocess
        if len(sys.argv) > 1:
            time.sleep(5)
        else:
            print(sys.stdin.readline() and 1)
            sys.stdin.readline()
            subprocess.Popen([sys.executable, __file__, "child"])
            sys.exit(4)
        """)  # fmt: skip
    made.become_impatient()
    with pytest.raises(LossError, match="it ended with exit code 4 after 0 of 3 answers"):
        made.costs()


@pytest.mark.parametrize("answer", ["abc", "", "nan", "inf", "-inf", "-0.5", "1_0", "0.5 0.6", "None", "1e999", "0,5"])
def test_answers_that_are_no_cost(tmp_path: Path, answer: str) -> None:
    made = Made(tmp_path, f"""
        sys.stdin.readline()
        print(0.5)
        for line in sys.stdin:
            print({answer!r})
        """)  # fmt: skip
    assert made.fault() == (
        f": expected a cost, a finite number of at least 0, found {answer!r} for the sentence 'What does she read ?'"
    )


def test_answers_that_are_no_text(tmp_path: Path) -> None:
    made = Made(tmp_path, r"""
        for line in sys.stdin:
            sys.stdout.buffer.write(b"\xff\xfe\n")
        """)  # fmt: skip
    assert ", found '\ufffd\ufffd' for the sentence" in made.fault()


def test_long_nonsense_is_shortened(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            print("x" * 1000)
        """)  # fmt: skip
    fault = made.fault(sentence=Sentence.of(["buffalo"] * 20))
    assert fault == (
        f": expected a cost, a finite number of at least 0, found '{'x' * 58}… for the sentence '{'buffalo ' * 7}buf…'"
    )


def test_more_lines_than_candidates(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            sys.stdout.write("0.25\\n0.75\\n")
        """)  # fmt: skip
    assert made.fault(1) == (
        ", sentence 'What does she read ?': it wrote '0.75' after its 1 answers; "
        "it must write one line for each line it reads"
    )


def test_late_lines_that_nobody_asked_for_are_found_at_the_next_list(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            print(1)
            time.sleep(0.2)
            print("done")
        """)  # fmt: skip
    assert made.costs(1) == [1.0]
    time.sleep(1)
    fault = made.fault(1)
    # A machine that stood still in the meantime takes it for an answer.
    assert "it wrote 'done' before it was asked; it must write one line" in fault or "found 'done' for" in fault


def test_a_greeting_is_no_answer(tmp_path: Path) -> None:
    made = Made(tmp_path, 'print("loading the model")' + WRONG_HEADS)
    fault = made.fault()
    # The program is as fast as we are: it speaks before or after we have written.
    assert "it wrote 'loading the model' before it was asked" in fault or "found 'loading the model' for" in fault


@pytest.mark.parametrize(
    ("endless", "expected"),
    [
        ('"1\\n"', "; it must write one line for each line it reads"),
        ('"1"', "it wrote more than 65536 bytes without a line end"),
    ],
)
def test_a_program_that_writes_without_end(tmp_path: Path, endless: str, expected: str) -> None:
    made = Made(tmp_path, f"""
        sys.stdin.readline()
        while True:
            sys.stdout.write({endless} * 10000)
        """)  # fmt: skip
    fault = made.fault()
    assert expected in fault
    assert made.loss._running is None


def test_a_sum_of_losses_passes_the_fault_on(tmp_path: Path) -> None:
    made = Made(tmp_path, "sys.exit(2)")
    with pytest.raises(LossError, match="ended with exit code 2"):
        Weighted([(1, made.loss)]).costs(SENTENCE, [GOLD], GOLD)


# --- life and death -----------------------------------------------------------------------------------------------


def test_it_starts_when_it_is_needed_and_once(tmp_path: Path) -> None:
    made = Made(tmp_path, WRONG_HEADS)
    assert not made.path.with_suffix(".pids").exists()
    for _ in range(3):
        assert made.costs() == [3 / 5] * 3
    assert len(made.pids) == 1
    made.loss.close()


def test_closing_ends_it_and_asking_starts_it_again(tmp_path: Path) -> None:
    made = Made(tmp_path, WRONG_HEADS + "\nPath(__file__).with_suffix('.end').write_text('by itself')\n")
    made.loss.close()  # nothing to close yet
    made.costs()
    made.loss.close()
    made.loss.close()
    assert made.path.with_suffix(".end").read_text() == "by itself"
    assert not is_there(made.pids[0])
    assert made.costs() == [3 / 5] * 3
    assert len(made.pids) == 2
    made.loss.close()


def test_a_program_that_does_not_end_with_its_input_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "GRACE_SECONDS", 0.2)
    made = Made(tmp_path, WRONG_HEADS + "\ntime.sleep(1000)\n")
    made.costs()
    made.loss.close()
    assert not is_there(made.pids[0])


def test_after_a_fault_the_next_list_has_a_new_program(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        for line in sys.stdin:
            if json.loads(line)["sentence"]["forms"][1] == "bad":
                sys.exit("bad")
            print(1)
        """)  # fmt: skip
    assert made.costs() == [1.0] * 3
    made.fault(sentence=Sentence.of(["bad"]))
    assert made.costs() == [1.0] * 3
    assert len(made.pids) == 2
    made.loss.close()


@pytest.mark.parametrize(
    "copied", [lambda loss: pickle.loads(pickle.dumps(loss)), deepcopy], ids=["pickle", "deepcopy"]
)
def test_a_copy_starts_a_program_of_its_own(tmp_path: Path, copied: Callable[[Program], Program]) -> None:
    made = Made(tmp_path, WRONG_HEADS, timeout=33)
    made.costs()
    other = copied(made.loss)
    assert len(made.pids) == 1
    assert other.settings() == made.loss.settings()
    assert other.costs(SENTENCE, [WRONG], GOLD) == made.costs(1)
    assert len(made.pids) == 2
    other.close()
    assert made.costs(1) == [3 / 5]
    made.loss.close()


def test_it_goes_when_the_loss_goes(tmp_path: Path) -> None:
    made = Made(tmp_path, WRONG_HEADS)
    made.costs()
    pid = made.pids[0]
    del made
    gc.collect()
    assert not is_there(pid)


def write_user(folder: Path, loss: Program, last: str) -> Path:
    """A script that uses a program and then does something."""
    path = folder / "user.py"
    path.write_text(
        "import sys, time\n"
        "from treetune.corpus.sentence import Sentence, Tree\n"
        "from treetune.losses import make_loss\n"
        f"loss = make_loss(**{loss.settings()!r})\n"
        "tree = Tree.of([0])\n"
        "print(loss(Sentence.of(['a']), tree, tree), flush=True)\n" + textwrap.dedent(last)
    )
    return path


@pytest.mark.parametrize("last", ["", "raise SystemExit(0)\n"])
def test_it_ends_with_the_process_that_uses_it(tmp_path: Path, last: str) -> None:
    made = Made(tmp_path, WRONG_HEADS + "\nPath(__file__).with_suffix('.end').write_text('by itself')\n")
    user = write_user(tmp_path, made.loss, last)
    done = subprocess.run([sys.executable, "-X", "dev", str(user)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0.0\n", "")
    assert made.path.with_suffix(".end").read_text() == "by itself"
    wait_until(lambda: not is_running(made.pids[0]))


@posix
def test_an_interrupt_in_the_middle_of_a_list_stops_it(tmp_path: Path) -> None:
    made = Made(tmp_path, """
        print(sys.stdin.readline() and 0.5)
        sys.stdin.readline()
        Path(__file__).with_suffix('.reached').touch()
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            Path(__file__).with_suffix('.interrupted').touch()
        """)  # fmt: skip
    last = """
        try:
            loss(Sentence.of(['a']), tree, tree)
        except KeyboardInterrupt:
            print("interrupted", loss._running)
        """
    user = write_user(tmp_path, made.loss, last)
    # A group of its own, as a shell would make, so that the interrupt can go to the whole group.
    running = subprocess.Popen([sys.executable, str(user)], stdout=subprocess.PIPE, text=True, process_group=0)
    wait_until(made.path.with_suffix(".reached").exists)
    os.killpg(running.pid, signal.SIGINT)
    assert running.communicate(timeout=60)[0] == "0.5\ninterrupted None\n"
    assert running.returncode == 0
    wait_until(lambda: not is_running(made.pids[0]))
    assert not made.path.with_suffix(".interrupted").exists()


@posix
def test_it_ends_when_its_user_is_killed(tmp_path: Path) -> None:
    made = Made(tmp_path, WRONG_HEADS)
    user = write_user(tmp_path, made.loss, "time.sleep(1000)\n")
    with subprocess.Popen([sys.executable, str(user)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "0.0\n"
        running.kill()
    wait_until(lambda: not is_running(made.pids[0]))


# --- options ------------------------------------------------------------------------------------------------------


def test_settings_make_it_again() -> None:
    loss = make_loss("program", command="python metric.py --name 'two words'")
    assert loss.settings() == {
        "name": "program",
        "command": ["python", "metric.py", "--name", "two words"],
        "timeout": 60.0,
    }
    assert make_loss(**loss.settings()).settings() == loss.settings()
    assert make_loss("program", command=["a b"], timeout=5).settings()["command"] == ["a b"]
    assert repr(Program("a b", timeout=5)) == "Program(('a', 'b'), timeout=5.0)"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", r"command must be a program with its arguments, as in \['python', 'metric\.py'\], found \[\]"),
        ([], r"command must be a program .*, found \[\]"),
        (["python", 3], r"command must be a program .*, found \['python', 3\]"),
        ([""], r"command must be a program .*, found \[''\]"),
        (None, r"command must be a program .*, found None"),
        ("python 'metric.py", r"command \"python 'metric\.py\" cannot be split into words: No closing quotation"),
    ],
)
def test_commands_that_are_wrong(command: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        make_loss("program", command=command)


@pytest.mark.parametrize("timeout", [0, -1, True, "60", None, float("inf"), float("nan")])
def test_timeouts_that_are_wrong(timeout: Any) -> None:
    with pytest.raises(ConfigError, match=r"^timeout must be a number of seconds above 0, found "):
        make_loss("program", command="x", timeout=timeout)
