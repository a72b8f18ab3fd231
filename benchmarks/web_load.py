"""The web server under load on one core: 1,000 requests at once, single requests, and batches; beside a page of spaCy.

The peer is a FastAPI page written here around spaCy (tagger, morphologizer, parser), because UDPipe's REST server is
not on PyPI. Its model is trained for a moment only: that changes its accuracy, which is not measured, not its work.
Server and client have a core each; the server's seconds are CPU time as well, since other programs may share the
machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure, peers

PACKAGES = ("numpy", "numba", "fastapi", "uvicorn", "spacy")
SENTENCE = "My sister in Boston gave the old man a book that he did not like at all last summer ."
WORDS = 20
CONCURRENT, ONE_BY_ONE, ROUNDS = 1000, 200, 3
SERVERS = ("treetune", "spaCy")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--sentences", type=int, default=5000, help="sentences of a batch, of EWT train")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure both servers in turn."""
    measure.require(["spacy"])
    assert len(SENTENCE.split()) == WORDS
    record: dict[str, Any] = {
        "benchmark": "web_load", **measure.provenance(PACKAGES), "words": WORDS, "concurrent": CONCURRENT,
        "cores": {"server": 1, "client": 1}, "rounds": {name: [] for name in SERVERS},
    }  # fmt: skip
    examples = list(treetune.read_trees(arguments.data / "ud" / "en_ewt-train.conllu"))
    texts = [_text(one) for one in random.Random(1).sample(examples, arguments.sentences)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _train_spacy(arguments.data, folder / "spacy")
        for number in range(ROUNDS):
            for server in SERVERS if number % 2 == 0 else SERVERS[::-1]:
                found = _measured(server, folder, texts)
                record["rounds"][server].append(found)
                measure.say(f"{server}: {found}")
    record["median"] = {
        server: {key: statistics.median(one[key] for one in rounds) for key in rounds[0] if key != "statuses"}
        for server, rounds in record["rounds"].items()
    }
    return record


def _text(example: Any) -> str:
    return " ".join(example.sentence.forms[1:]).replace("\n", " ")


def _train_spacy(data: Path, model: Path) -> None:
    """Train a pipeline of spaCy for a moment, on 200 sentences."""
    import spacy
    from spacy.training import Example

    docs = peers.spacy_docs(data / peers.DEV)[:200]
    nlp = spacy.blank("en")
    for name in ("tok2vec", "tagger", "morphologizer", "parser"):
        nlp.add_pipe(name)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(3):
        for start in range(0, len(examples), 32):
            nlp.update(examples[start : start + 32], sgd=optimizer)
    nlp.to_disk(model)


def _measured(server: str, folder: Path, texts: Sequence[str]) -> dict[str, Any]:
    port = 8700 + random.randrange(200)
    if server == "treetune":
        command = ["-m", "treetune", "serve", "--port", str(port), "--folder", str(folder / "treetune")]
    else:
        command = ["-m", "benchmarks.web_load", str(port), str(folder / "spacy")]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    process = subprocess.Popen(
        ["taskset", "-c", "0", sys.executable, *command], env={**os.environ, **one}, stderr=subprocess.DEVNULL
    )
    os.sched_setaffinity(0, {1})
    try:
        return asyncio.run(_load(port, process.pid, texts))
    finally:
        os.sched_setaffinity(0, {0, 1})
        process.kill()
        process.wait()


async def _load(port: int, process: int, texts: Sequence[str]) -> dict[str, Any]:
    body = json.dumps({"text": SENTENCE}).encode()
    for _ in range(300):
        try:
            await _request(port, "/api/v1/parse", body, "application/json")
            break
        except OSError:
            await asyncio.sleep(0.2)
    for _ in range(20):
        await _request(port, "/api/v1/parse", body, "application/json")
    single = [(await _request(port, "/api/v1/parse", body, "application/json"))[1] for _ in range(ONE_BY_ONE)]
    before = _cpu_seconds(process)
    many = await asyncio.gather(*(_request(port, "/api/v1/parse", body, "application/json") for _ in range(CONCURRENT)))
    cpu = _cpu_seconds(process) - before
    latencies = [seconds for _, seconds, _ in many]
    statuses = [status for status, _, _ in many]
    found: dict[str, Any] = {
        "single_p50_ms": _ms(single, 0.5), "single_p95_ms": _ms(single, 0.95),
        "concurrent_p50_ms": _ms(latencies, 0.5), "concurrent_p95_ms": _ms(latencies, 0.95),
        "concurrent_per_cpu_second": round(CONCURRENT / cpu, 1),
        "statuses": {str(status): statuses.count(status) for status in sorted(set(statuses))},
        "5xx": sum(status >= 500 for status in statuses), "unanswered": statuses.count(0),
    }  # fmt: skip
    lines = "\n".join(texts).encode()
    before, started = _cpu_seconds(process), time.monotonic()
    status, _, size = await _request(port, "/api/v1/batch", lines, "text/plain")
    wall, cpu = time.monotonic() - started, _cpu_seconds(process) - before
    assert status == 200
    found |= {
        "batch_sentences_per_second": round(len(texts) / wall, 1),
        "batch_sentences_per_cpu_second": round(len(texts) / cpu, 1), "batch_bytes": size,
    }  # fmt: skip
    return found


async def _request(port: int, path: str, body: bytes, kind: str) -> tuple[int, float, int]:
    """Send one request over a connection of its own; return status, seconds and bytes of the answer.

    The status is 0 if the server closes the connection without an answer.
    """
    started = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        answer = await reader.read(-1)
    except ConnectionError:
        answer = b""
    seconds = time.monotonic() - started
    writer.close()
    return int(answer[9:12] or b"0"), seconds, len(answer)


def _ms(seconds: Sequence[Any], part: float) -> float:
    ordered = sorted(seconds)
    return float(round(1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 1))


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve_spacy(port: int, model: str) -> None:
    """Serve spaCy as its users do: a page of FastAPI that calls the pipeline."""
    import spacy
    import uvicorn
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse

    nlp = spacy.load(model)
    app = FastAPI()

    @app.post("/api/v1/parse")
    def parse(content: dict[str, Any]) -> Any:
        return nlp(content["text"]).to_json()

    async def batch(request: Any) -> Any:
        lines = (await request.body()).decode().splitlines()
        return StreamingResponse(json.dumps(doc.to_json()) + "\n" for doc in nlp.pipe(lines))

    app.router.add_route("/api/v1/batch", batch, methods=["POST"])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False, backlog=2048)


if __name__ == "__main__":
    serve_spacy(int(sys.argv[1]), sys.argv[2])
