"""A real Ray cluster of two workers on this machine: the same bytes, also when workers are killed. Skipped without Ray.

All tests share one cluster, which takes some seconds to start.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from cluster_samples import FatalParsing, own_workers

import treetune
from treetune.cli import main
from treetune.cluster.parsing import ParseProgress, parse_files
from treetune.cluster.session import LOCAL, connected
from treetune.cluster.shards import Shard, make_shards
from treetune.cluster.training import ray_pool
from treetune.cluster.work import ShardJob
from treetune.corpus.formats import FORMATS
from treetune.errors import ConfigError, DataError, TreetuneError
from treetune.learning.mixing import LocalPool
from treetune.learning.trainer import train
from treetune.models.file_parsing import FileParsing
from treetune.models.pipeline import Pipeline
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs Ray: pip install 'treetune[ray]'")
    # Workers must find what tests pickle.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with connected(LOCAL, cpus=2) as found:
            yield found


@pytest.fixture(scope="module")
def job() -> ShardJob:
    model = treetune.load("en")
    assert isinstance(model, Pipeline)
    return ShardJob(FileParsing(model, "test", FORMATS["conllu"]))


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "in.conllu"
    treetune.write_trees(generate(1500, seed=3), path)
    return path


@pytest.fixture(scope="module")
def expected(treebank: Path) -> bytes:
    out = treebank.with_name("one.conllu")
    assert main(["parse", "en", str(treebank), "-o", str(out)]) == 0
    return out.read_bytes()


def joined(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("part-*")))


def shards_of(treebank: Path, count: int) -> list[Shard]:
    return make_shards([str(treebank)], lambda path: "conllu", treebank.stat().st_size // count)


def test_the_command_writes_the_same_bytes(
    treebank: Path, expected: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["parse", "en", str(treebank), "--cluster", "local", "--workers", "2", "--shard-size", "0.02"]
    command += ["-o", str(out)]
    assert main(command) == 0
    assert "on 2 workers" in capsys.readouterr().err
    assert joined(out) == expected
    assert (out / "_SUCCESS").exists()
    assert not (out / "_bad.jsonl").exists()
    # Again, there is nothing to do; of a part that is missing, that one alone.
    times = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    missing = sorted(times)[1]
    missing.unlink()
    (out / "_SUCCESS").unlink()
    assert main(command) == 0
    assert f"{len(times) - 1} of {len(times)} parts are there already" in capsys.readouterr().err
    assert joined(out) == expected
    assert [path for path, time in times.items() if path.stat().st_mtime_ns != time] == [missing]
    assert (out / "_SUCCESS").exists()
    assert main([*command, "--retag"]) == 2
    assert "has parts of a job with another model, other options or other input" in capsys.readouterr().err


@pytest.mark.parametrize("after", [0, 1, 5, 11])
def test_a_worker_that_is_killed_loses_nothing(
    job: ShardJob, treebank: Path, expected: bytes, tmp_path: Path, after: int
) -> None:
    killed: list[int] = []
    reports: list[str | None] = []
    last: ParseProgress | None = None
    for last in parse_files(job, shards_of(treebank, 16), tmp_path, address=LOCAL, workers=2):
        reports.append(last.lost)
        if last.done >= after and last.workers and not killed and (workers := own_workers()):
            killed.append(workers[-1])
            os.kill(killed[0], signal.SIGKILL)
    if after:
        assert killed
    assert joined(tmp_path) == expected
    assert (tmp_path / "_SUCCESS").exists()
    assert last is not None
    assert last.done == last.shards
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".part")] or killed


def test_what_always_fails_is_given_up_and_named(
    job: ShardJob, treebank: Path, expected: bytes, tmp_path: Path
) -> None:
    paths = [treebank, *(tmp_path / name for name in ("fatal.conllu", "failing.conllu"))]
    for path in paths[1:]:
        path.write_bytes(treebank.read_bytes()[:2000].rpartition(b"\n\n")[0] + b"\n\n")
    shards = shards_of(treebank, 3)
    for path in paths[1:]:
        (shard,) = make_shards([str(path)], lambda path: "conllu", 10**6)
        shards.append(replace(shard, number=len(shards)))
    parsing = job.parsing
    fatal = ShardJob(FatalParsing(**{field.name: getattr(parsing, field.name) for field in fields(parsing)}))
    lost: list[str] = []

    def follow() -> None:
        for progress in parse_files(fatal, shards, tmp_path / "out", address=LOCAL, workers=2):
            lost.extend([progress.lost] if progress.lost else [])

    with pytest.raises(DataError, match=r"2 of \d+ parts could not be parsed, each tried several times"):
        follow()
    assert sum("no space left on device" in one.lower() for one in lost) == 3, lost
    assert len(lost) == 6
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    assert joined(tmp_path / "out") == expected


def test_a_model_that_workers_cannot_load_is_said(job: ShardJob, treebank: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(treetune, "__version__", "0.0")
        with pytest.raises(TreetuneError, match=r"no worker of the cluster could start: .*treetune 0\.0") as raised:
            list(parse_files(job, shards_of(treebank, 2), tmp_path, address=LOCAL, workers=1))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_model_trained_on_shards_is_that_of_one_process(tmp_path: Path, is_killed: bool) -> None:
    examples = generate(120, seed=8, kinds=("declarative",))
    models = []
    for pool in (LocalPool, ray_pool(LOCAL)):
        models.append(TransitionParser(beam=2))
        for report in train(models[-1], examples, epochs=2, shards=3, mixes=4, make_pool=pool):
            if is_killed and pool is not LocalPool and report.seen == 60 and (workers := own_workers()):
                os.kill(workers[-1], signal.SIGKILL)
    one, other = (model.state() for model in models)
    assert one[0] == other[0]
    assert {name: array.tobytes() for name, array in one[1].items()} == {
        name: array.tobytes() for name, array in other[1].items()
    }


def test_rows_of_a_ray_dataset(ray: Any) -> None:
    data = pytest.importorskip("ray.data", reason="needs Ray Data: pip install 'treetune[ray]'")
    from treetune.cluster import Parse

    texts = ["She gave him a book.", "Time flies."]
    rows = data.from_items([{"text": text} for text in texts])
    found = rows.map_batches(Parse, fn_constructor_args=["en"], concurrency=1).take_all()
    nlp = treetune.load("en")
    by_text = {row["text"]: row for row in found}
    for text in texts:
        assert by_text[text]["error"] is None
        assert [sentence.text for sentence in nlp(text).sentences] == [
            line.removeprefix("# text = ") for line in by_text[text]["conllu"].split("\n") if line.startswith("# text")
        ]


def test_no_cluster_at_an_address_is_one_sentence() -> None:
    import ray

    ray.shutdown()
    try:
        with (
            pytest.raises(ConfigError, match=r"--cluster 127\.0\.0\.1:1: expected a Ray cluster of this version"),
            connected("127.0.0.1:1"),
        ):
            pass
    finally:
        ray.shutdown()
