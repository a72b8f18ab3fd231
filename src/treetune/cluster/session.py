"""A connection to a Ray cluster, or a local one that lives as long as the job."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treetune.errors import ConfigError

# The address that stands for a cluster of this machine alone, started for the job.
LOCAL = "local"
# The least that Ray takes; shards are files, and only the model passes through it.
_OBJECT_STORE = 200 << 20
# Seconds to wait for whoever is at an address.
_PATIENCE = 10.0


def import_ray() -> Any:
    """Return the module, or say how to get it."""
    # A user of an extra is not to be counted by others, and a machine without a network waits for nothing.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ConfigError("--cluster needs Ray; install it by: pip install 'treetune[ray]'") from None
    return ray


@contextmanager
def connected(address: str, *, cpus: int | None = None) -> Iterator[Any]:
    """Give `ray` with a connection; one that is there already is used, and stays.

    Args:
        address: `LOCAL`, ``auto`` for the cluster that this machine belongs to, ``host:port`` or ``ray://host:port``.
        cpus: Of a local cluster, as many as there are by default.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address == LOCAL:
        options |= {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    with _own_signals():
        try:
            _knock(address)
            ray.init(address=address, **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            first = str(error).strip().split("\n")[0]
            raise ConfigError(
                f"--cluster {address}: expected a Ray cluster of this version ({ray.__version__}), found none "
                f"({first}); start one by 'ray start --head', or say --cluster {LOCAL}"
            ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise OSError if nobody is at ``host:port``: Ray would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handlers of signals, which Ray replaces, so that a job ends as other commands do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            if handler is not None:
                signal.signal(number, handler)
