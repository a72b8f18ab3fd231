"""The measuring code of `benchmarks/`: nothing here depends on how fast the machine is."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import conllu_columns as columns
from benchmarks import measure


def test_summary_gives_mean_and_student_interval() -> None:
    found = measure.summary([1.0, 2.0, 3.0])
    assert found["mean"] == 2.0
    assert found["raw"] == [1.0, 2.0, 3.0]
    assert found["interval95"] == pytest.approx(4.303 / math.sqrt(3))


def test_summary_of_one_value_has_no_interval() -> None:
    assert measure.summary([5.0])["interval95"] == 0.0


def test_summary_beyond_the_table_uses_the_normal_quantile() -> None:
    found = measure.summary([0.0, 2.0] * 50)
    assert found["interval95"] == pytest.approx(1.96 * math.sqrt(100 / 99) / 10)


def test_rounds_hold_each_name_once_and_rotate() -> None:
    orders = measure.rounds(["a", "b", "c"], 4)
    assert orders == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


def test_interleaved_warms_up_once_and_prepares_before_every_run() -> None:
    events: list[str] = []

    def task(name: str) -> Callable[[], Callable[[], object]]:
        def prepare() -> Callable[[], object]:
            events.append(f"prepare {name}")
            return lambda: events.append(f"run {name}")

        return prepare

    seconds = measure.interleaved({"a": task("a"), "b": task("b")}, 2)
    assert [len(values) for values in seconds.values()] == [2, 2]
    runs = [event for event in events if event.startswith("run")]
    assert runs == ["run a", "run b", "run a", "run b", "run b", "run a"]
    assert all(events[i] == events[i + 1].replace("run", "prepare") for i in range(0, len(events), 2))


def test_cpu_seconds_counts_work() -> None:
    assert measure.cpu_seconds(lambda: sum(range(200_000))) > 0


def test_peak_memory_of_a_child_is_its_own_and_not_its_parents() -> None:
    ballast = bytearray(300_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    peak = measure.in_child("benchmarks.measure:peak_rss_mb")
    assert measure.peak_rss_mb() > 300
    if sys.platform == "linux":
        assert 1 < peak < 200


def test_a_command_is_measured_with_its_children_and_without_its_parent(tmp_path: Path) -> None:
    ballast = bytearray(300_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    inner = "import os, sys; sum(range(3_000_000)); open('seen', 'w').write(os.environ['WORD'] + sys.stdin.read())"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    found = measure.run_command([sys.executable, "-c", outer], text="in", cwd=tmp_path, env={"WORD": "out"})
    assert (tmp_path / "seen").read_text() == "outin"
    assert found["wall_seconds"] > 0
    assert found["cpu_seconds"] > measure.cpu_seconds(lambda: sum(range(1_000_000)))
    assert 1 < found["peak_rss_mb"] < 200
    with pytest.raises(subprocess.CalledProcessError):
        measure.run_command([sys.executable, "-c", "raise SystemExit(3)"])


def test_size_of_a_folder_is_that_of_all_files_below(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "one").write_bytes(b"x" * 1_000_000)
    (tmp_path / "deep" / "two").write_bytes(b"x" * 500_000)
    assert measure.size_mb(tmp_path) == 1.5
    assert measure.size_mb(tmp_path / "one") == 1.0


def test_a_child_is_given_plain_arguments_runs_on_one_thread_and_returns_its_last_line() -> None:
    assert measure.in_child("os:getenv", key="OMP_NUM_THREADS") == "1"
    # What is no JSON is handed on as text.
    assert measure.in_child("os.path:basename", p=Path("folder", "file")) == "file"


def test_a_failing_child_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        measure.in_child("os:no_such_function")


def test_provenance_leaves_out_what_is_not_installed() -> None:
    found = measure.provenance(["pytest", "no-such-package"])
    assert found["versions"]["pytest"] == pytest.__version__
    assert "no-such-package" not in found["versions"]
    assert found["machine"]["cores"] >= 1
    assert isinstance(found["dirty"], bool)


def test_a_new_result_is_no_local_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "REPOSITORY", tmp_path)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "new.json").touch()
    assert measure.provenance([])["dirty"] is False
    (tmp_path / "benchmarks" / "new.py").touch()
    assert measure.provenance([])["dirty"] is True


def test_missing_package_is_named_with_the_remedy() -> None:
    measure.require(["pytest"])
    with pytest.raises(SystemExit, match=r"needs no-such-package; install with: pip install '\.\[bench,dev\]'"):
        measure.require(["pytest", "no-such-package"])


def test_result_file_is_complete_json_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "results" / "x.json"
    measure.write_json(target, {"interval": "±"})
    assert json.loads(target.read_text(encoding="utf-8")) == {"interval": "±"}
    assert list(target.parent.iterdir()) == [target]


SENTENCE = """\
# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\tdo\tAUX\tVBP\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t3:conj\t_
"""


def test_blinded_lines_keep_only_form_and_tags() -> None:
    blind = columns.blinded(SENTENCE.splitlines())
    assert blind[2] == "1\tdo\t_\tAUX\tVBP\t_\t_\t_\t_\t_"
    assert blind[1].startswith("1-2\tdon't")
    assert len(blind) == 5


def test_arcs_can_be_put_back_where_they_were() -> None:
    lines = SENTENCE.splitlines()
    assert columns.arcs(lines) == ([3, 3, 0], ["aux", "advmod", "root"])
    assert columns.arcs(columns.with_arcs(lines, ([2, 0, 2], ["a", "b", "c"]))) == (
        [2, 0, 2],
        ["a", "b", "c"],
    )
    assert columns.with_arcs(lines, columns.arcs(lines)) == lines


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(SENTENCE + "\n" + SENTENCE + "\n", encoding="utf-8")
    blocks = list(columns.sentences(path))
    assert len(blocks) == 2
    assert columns.count_words(path) == 6
    columns.write_sentences(tmp_path / "y.conllu", blocks)
    assert (tmp_path / "y.conllu").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([0], True),
        ([2, 0, 2], True),
        ([0, 0], False),
        ([2, 1], False),
        ([2, 1, 0], False),
        ([0, 3, 2], False),
        ([0, 9], False),
        ([0, -1], False),
        ([1, 0], False),
    ],
)
def test_single_root_tree(heads: list[int], expected: bool) -> None:
    assert columns.is_single_root_tree(heads) is expected
