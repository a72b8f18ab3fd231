"""``treetune parse --cluster``: many files in, a folder of shards out, on the workers of a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from treetune.cli.console import Interrupted, note, progress_bar
from treetune.cli.input import input_format
from treetune.corpus.files import STANDARD_STREAM
from treetune.corpus.formats import FORMATS
from treetune.errors import ConfigError
from treetune.models.file_parsing import FileParsing

PARQUET, JSON = "parquet", "json"
# MB of input that a task parses: half a minute to two minutes of work.
SHARD_SIZE = 16.0


@dataclass(frozen=True)
class ClusterOptions:
    """The options that only a cluster has; all but the address are None without one."""

    address: str | None
    workers: int | None
    shard_size: float | None
    column: str | None
    id_column: str | None

    def check(self, more: Sequence[str], output: str, *, refused: dict[str, bool]) -> None:
        """Refuse what does not go together; `refused` are options that a cluster does not have."""
        if self.address is None:
            own = {"--workers": self.workers, "--shard-size": self.shard_size, "--column": self.column}
            for flag, value in {**own, "--id-column": self.id_column}.items():
                if value is not None:
                    raise ConfigError(f"{flag} is for --cluster; leave it out, or say --cluster local")
            if more:
                raise ConfigError(f"expected one IN, found {more[0]} too; several are for --cluster")
            return
        if output == STANDARD_STREAM:
            raise ConfigError("--cluster writes shards to a folder; name it: -o OUT/")
        for flag, is_given in refused.items():
            if is_given:
                raise ConfigError(f"{flag} does not go with --cluster; leave one of them out")

    def files(self, sources: Sequence[str]) -> list[str]:
        """Return the files to parse, with paths that other working folders understand."""
        from treetune.cluster.shards import find_files, row_kind

        if STANDARD_STREAM in sources:
            raise ConfigError("--cluster reads files, and not stdin; name files or folders")
        files = [str(Path(path).absolute()) for path in find_files(sources)]
        if self.has_rows(files):
            for path in files:
                row_kind(path)
        elif self.id_column is not None:
            raise ConfigError("--id-column is for documents in rows; name the column of their text too: --column NAME")
        return files

    def has_rows(self, files: Sequence[str]) -> bool:
        """Whether there is a document a row."""
        return self.column is not None or any(path.endswith(".parquet") for path in files)

    def output_kind(self, file_format: str | None, files: Sequence[str]) -> str | None:
        """Return the kind of rows to write, None for text."""
        if file_format == PARQUET:
            return PARQUET
        if not self.has_rows(files) or file_format in (None, "conllu"):
            return None
        if file_format != JSON:
            raise ConfigError(f"--format {file_format}: documents in rows are written as conllu, json or parquet")
        return JSON


def parse_on_cluster(
    parsing: FileParsing,
    options: ClusterOptions,
    files: Sequence[str],
    folder: str,
    *,
    read: str | None,
    file_format: str | None,
    ranges: bool,
    quiet: bool,
) -> None:
    """Parse files into a folder and say how far it is, and what was set aside."""
    from treetune.cluster.parsing import parse_files, rate
    from treetune.cluster.session import import_ray
    from treetune.cluster.shards import make_shards, row_kind
    from treetune.cluster.work import ShardJob

    assert options.address is not None
    import_ray()
    rows, output = options.has_rows(files), options.output_kind(file_format, files)
    if rows and parsing.k_best is not None:
        raise ConfigError("--k-best writes several trees a sentence, and --column one document a row; leave one out")
    kinds = {path: row_kind(path) if rows else input_format(path, read, parsing.pipeline).name for path in files}
    if any("text" in FORMATS[kind].holds for kind in kinds.values() if kind in FORMATS) or rows:
        parsing.pipeline.split("")  # says now that a model has no tokenizer
    shards = make_shards(files, kinds.__getitem__, int((options.shard_size or SHARD_SIZE) * 1e6))
    job = ShardJob(
        replace(parsing, writes=FORMATS["conllu"]) if rows or output else parsing,
        column=(options.column or "text") if rows else None,
        id_column=options.id_column,
        output=output,
        ranges=ranges,
    )
    started = time.perf_counter()
    reports = parse_files(job, shards, folder, address=options.address, workers=options.workers)
    try:
        with closing(reports), progress_bar("parsing", total=sum(shard.size for shard in shards), quiet=quiet) as show:
            size = words = 0
            for progress in reports:
                show(progress.done_size - size, progress.new_words - words)
                size, words = progress.done_size, progress.new_words
                if progress.lost is not None:
                    note(f"a worker was lost {progress.lost}; the part is tried again", quiet=quiet)
                if progress.done == progress.before and progress.done and progress.lost is None:
                    note(f"{progress.done:,} of {progress.shards:,} parts are there already", quiet=quiet)
    except KeyboardInterrupt:
        raise Interrupted(f"{folder} is not complete; the same command parses what is missing") from None
    aside = f"; {progress.set_aside:,} bad, see {folder}/_bad.jsonl" if progress.set_aside else ""
    note(
        f"parsed {progress.sentences:,} sentences, {progress.words:,} words, {rate(progress, started):,.0f} words/s on "
        f"{progress.workers} workers, {progress.shards:,} parts{aside}",
        quiet=quiet,
    )
