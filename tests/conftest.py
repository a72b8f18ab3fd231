"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from treetune.corpus.sentence import Example
from treetune.sample import KINDS, generate

# A kernel may have to be compiled, or loaded, in the first of many examples.
hypothesis.settings.register_profile("treetune", deadline=None)
hypothesis.settings.load_profile("treetune")

# In the background of a shell, and under nohup, signals are ignored, and would be by the commands under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _find_data() -> Path | None:
    named = os.environ.get("TREETUNE_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real treebanks; without it the test is skipped, and pytest -ra says so."""
    found = _find_data()
    if found is None:
        pytest.skip("needs the treebanks: set TREETUNE_DATA to a folder with ud/ and questions/")
    return found


@pytest.fixture(scope="session")
def by_kind() -> dict[str, list[Example]]:
    """Generated English, 1,500 sentences of each kind."""
    return {kind: generate(1500, seed=11, kinds=(kind,)) for kind in KINDS}


@pytest.fixture(scope="session")
def everything(by_kind: dict[str, list[Example]]) -> list[Example]:
    """The generated sentences of all kinds."""
    return [example for examples in by_kind.values() for example in examples]


# In the names of files whose tests train graph parsers first of all.
_GRAPHS = ("graph", "test_experiments_trials", "test_learning_checkpoints")


def work_unit(nodeid: str) -> str:
    """Return which tests run in one process: those of a file share fixtures, those of graph parsers large kernels.

    A process that needs a kernel while another compiles it has to wait.
    """
    path = nodeid.partition("::")[0]
    return "graph" if any(name in path for name in _GRAPHS) else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Divide the tests by `work_unit`: the groups of xdist's own schedulers are files, or lost in pytest 9.2."""
    if config.getoption("dist") != "loadfile":
        return None
    scheduler: Any = import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    scheduler._split_scope = work_unit
    return scheduler


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what compiles kernels that nothing else needs: training and online decoding with crossing arcs."""
    for item in items:
        path = item.nodeid.partition("::")[0]
        crossing = path.endswith(("test_graph_online_decoder.py", "test_graph_learner.py"))
        if (crossing and "non-projective" in item.nodeid) or path.endswith("test_experiments_trials.py"):
            item.add_marker(pytest.mark.slow)
