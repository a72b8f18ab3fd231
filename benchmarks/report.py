"""Result files go in; docs/benchmarks.md comes out, so that the docs quote numbers from files and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

INTERVAL = "± is the 95 % interval of the mean"
SPEED = "words_per_cpu_second"
EARLIER = "earlier"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """Return a Markdown table: the first columns, which are `texts`, flush left, the others right."""
    ruled = [header, [*[":--"] * texts, *["--:"] * (len(header) - texts)], *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def spread(summary: Record, decimals: int = 0) -> str:
    """Return a mean with the half-width of its 95 % interval."""
    mean = f"{summary['mean']:,.{decimals}f}"
    return f"{mean} ± {summary['interval95']:,.{decimals}f}" if len(summary["raw"]) > 1 else mean


def folded(title: str, *parts: str) -> str:
    """Return a collapsible part of a page."""
    return "\n\n".join([f'<details markdown="1">\n<summary>{title}</summary>', *parts, "</details>"])


def origin(record: Record) -> str:
    """Return the sentence that says when, at which commit and on which machine a result was measured."""
    machine = record["machine"]
    changed = " with local changes" if record["dirty"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return (
        f"Measured {record['date']} at commit `{record['commit'][:12]}`{changed} on {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}; {versions}."
    )


def compare_table(record: Record) -> str:
    """Return the table of systems, then the ratios of speeds."""
    settings = record["settings"]
    part = f", first {settings['limit']} sentences" if settings["limit"] else ""
    about = (
        f"`{settings['test']}`{part}: {settings['words']:,} words, gold tokens and tags, one thread, "
        f"{settings['repeats']} interleaved rounds; {INTERVAL}. File to file: "
        f"{settings['file_to_file']}. The parse alone: from sentence objects to trees, memory to memory; of "
        "MaltParser, the command less one on a single sentence."
    )
    header = (
        "system", "sees", "UAS", "LAS", "LAS, official scorer", "single-root trees",
        "words per CPU-s, file to file", "words per CPU-s, the parse alone", "peak memory (MB)", "model (MB)",
        "training (CPU-min)",
    )  # fmt: skip
    table = markdown(header, [_system_row(system, settings["sentences"]) for system in record["systems"]])
    alone = {(ratio["faster"], ratio["than"]): ratio["times"] for ratio in record["ratios"]["parse"]}
    lines = [
        f"* {ratio['faster']} parses {spread(ratio['times'], 2)} times as fast as {ratio['than']} from file to file; "
        f"the parse alone {spread(alone[ratio['faster'], ratio['than']], 2)} times."
        for ratio in record["ratios"]["file_to_file"]
    ]
    return "\n\n".join([about, table, "\n".join(lines)])


def _system_row(system: Record, sentences: int) -> tuple[str, ...]:
    scores, trained = system["scores"], system["training"]["cpu_seconds"]
    return (
        system["name"],
        system["sees"],
        f"{scores['UAS']:.2f}",
        f"{scores['LAS']:.2f}",
        f"{system['official_scores']['LAS']:.2f}",
        f"{system['single_root_trees']:,} of {sentences:,}",
        spread(system["file_to_file"][SPEED]),
        spread(system["parse"][SPEED]),
        f"{system['peak_rss_mb']:.0f}",
        f"{system['model_mb']:.1f}",
        "" if trained is None else f"{trained / 60:.1f}",
    )


TRAINING_COLUMNS = {
    "CPU-min": "cpu_minutes",
    "memory above the interpreter (MB)": "memory_mb",
    "model (MB)": "model_mb",
    "dev UAS": "dev_UAS",
    "dev LAS": "dev_LAS",
    "test UAS": "test_UAS",
    "test LAS": "test_LAS",
    "test LAS without subtypes": "test_LAS_without_subtypes",
}


def training_tables(records: Sequence[Record]) -> str:
    """Return what training costs and what it reaches: the means of all parsers, then each seed."""
    columns = TRAINING_COLUMNS.values()
    means = [(trained_as(one["settings"]), *(spread(one["mean"][column], 2) for column in columns)) for one in records]
    seeds = []
    for record in records:
        runs = record["runs"]
        rows = [(str(run["settings"]["seed"]), *(f"{run[column]:.2f}" for column in columns)) for run in runs]
        seeds += [f"{trained_as(record['settings'])}:", markdown(("seed", *TRAINING_COLUMNS), rows), origin(record)]
    about = (
        f"From the file `{records[0]['settings']['train']}` to the model file, one thread, each seed in a process of "
        f"its own, the best epoch chosen on dev; {len(records[0]['runs'])} seeds, {INTERVAL}."
    )
    return "\n\n".join([about, markdown(("parser", *TRAINING_COLUMNS), means), folded("Each seed", *seeds)])


def trained_as(settings: Record) -> str:
    """Return the parser, its features and its learner; what early results do not name had its default."""
    parser = settings.get("parser", "transition")
    name = f"beam {settings['beam']}" if parser == "transition" else f"`{parser}`"
    learning = [f"{option} {value}" for option, value in settings.get("learning", {}).items()]
    features = f"features `{settings.get('features', 'default')}`"
    return ", ".join([name, features, *learning, f"{settings['epochs']} epochs"])


def startup_table(record: Record) -> str:
    """Return time and memory of each command."""
    about = (
        f"`{record['settings']['command']}`, from the start of the process to its end, with all processors; the first "
        f"parse after installation compiles the kernels; the mean of {record['settings']['repeats']} installations, "
        f"{INTERVAL}. Memory is that of the largest process. The load average before was "
        f"{record['load_before']:.1f} on {record['machine']['cores']} cores: wall time depends on it, CPU time less."
    )
    columns = {"wall seconds": "wall_seconds", "CPU seconds": "cpu_seconds", "peak memory (MB)": "peak_rss_mb"}
    rows = [
        (name, *(spread(found[column], 0 if column == "peak_rss_mb" else 2) for column in columns.values()))
        for name, found in record["commands"].items()
    ]
    return "\n\n".join([about, markdown(("command", *columns), rows)])


def reordering_table(record: Record) -> str:
    """Return the speed of parsing, of parsing and reordering, and of the rules alone."""
    about = "From memory to memory, one thread: sentence objects to trees, to word orders, and trees to word orders."
    rows = [(name, spread(summary)) for name, summary in record[SPEED].items()]
    rows.append(("parse and reorder / parse", f"{100 * record['share_of_parsing_speed']['mean']:.1f} %"))
    return "\n\n".join([about, markdown(("", "words per CPU-s"), rows)])


def overhead_table(record: Record) -> str:
    """Return what the trainer costs beside a bare loop, and updates on an objective beside those on the treebank."""
    trainer, updates = record["trainer_to_bare_loop"], record["objective_to_treebank"]
    about = (
        f"In memory: CPU time of training the transition parser (beam 8, MIRA) on {record['sentences']:,} sentences, "
        f"interleaved, the median of {len(trainer['raw'])} rounds."
    )
    rows = [
        ("an epoch of `treetune.train` / of a bare loop over the same sentences", f"{trainer['median']:.2f}"),
        ("a word of an objective (root loss, k = 8) / a word of the treebank", f"{updates['median']:.2f}"),
    ]
    return "\n\n".join([about, markdown(("", "ratio"), rows)])


def raw_text_table(record: Record) -> str:
    """Return scores and speeds from raw text, then what the model takes."""
    settings = record["settings"]
    about = (
        f"`{settings['test']}` from raw text: {settings['words']:,} words, F1 by the official scorer, one thread, "
        f"{settings['repeats']} interleaved rounds; {INTERVAL}. Speed is from a string of raw text to CoNLL-U in "
        "memory, with the model loaded: no files."
    )
    metrics = list(next(iter(record["systems"].values()))["test"])
    rows = [
        (name, *(f"{system['test'][metric]:.2f}" for metric in metrics), spread(system["conllu_words_per_cpu_second"]))
        for name, system in record["systems"].items()
    ]
    others = [part for part in next(iter(record["systems"].values())) if part in ("GUM", "PUD")]
    far = [
        (f"{name}, {part}", *(f"{system[part][metric]:.2f}" for metric in metrics), "")
        for part in others
        for name, system in record["systems"].items()
    ]
    stages = ", ".join(f"{name} {spread(summary)}" for name, summary in record["stages"].items())
    load, command = (spread(record[f"{what}_cpu_seconds"], 2) for what in ("load", "command"))
    lines = [
        f"Words per CPU-second of the parts alone: {stages}.",
        f"The model has {record['model']['mb']:.1f} MB and is ready after {load} CPU-s; a whole command on one "
        f"sentence takes {command}.",
    ]
    if "times_as_fast" in record:
        lines.insert(0, f"treetune is {spread(record['times_as_fast'], 2)} times as fast as UDPipe.")
    header = ("system", *metrics, "words per CPU-s, text to CoNLL-U")
    return "\n\n".join([about, markdown(header, [*rows, *far]), *lines])


def treebanks_table(record: Record) -> str:
    """Return the scores and speeds of pipelines of several treebanks from raw text."""
    about = (
        "The test parts of UD treebanks from raw text, F1 by the official scorer; every system is trained on the train "
        "part with its default settings; treetune chooses its epochs by the dev part, UDPipe has no dev data. "
        "Speed is from a string of raw text to CoNLL-U in memory, one thread, "
        f"{record['settings']['repeats']} interleaved rounds."
    )
    earlier = [name for name, found in record["treebanks"].items() if "speed_commit" in found["treetune"]]
    if earlier:
        about += f" The speeds of {', '.join(earlier)} are those of earlier models, with shorter endings as features."
    described = [
        (treebank, name, found) for treebank, by_name in record["treebanks"].items() for name, found in by_name.items()
    ]
    metrics = list(described[0][2]["test"])
    rows = [
        (
            *(treebank, name, *(f"{found['test'][metric]:.2f}" for metric in metrics)),
            *(spread(found["words_per_cpu_second"]), _training_minutes(found)),
        )
        for treebank, name, found in described
    ]
    header = ("treebank", "system", *metrics, "words per CPU-s", "training (CPU-min)")
    return "\n\n".join([about, markdown(header, rows)])


def arc_filters_table(record: Record) -> str:
    """Return the speed-up and accuracy of graph parsers with arc filters."""
    about = (
        f"Graph parsers with joint arc filters beside the same without, gold tags, test part of {record['treebank']}, "
        f"one thread, memory to memory, the median of {record['rounds']} interleaved rounds; the filters are "
        "trained on the treebank of the parsers and attached to them. C1 is the cost of an arc that could be removed; "
        "p is that of McNemar's test on LAS against the same parser without a filter."
    )
    rows = []
    for parser, parts in record["parsers"].items():
        for part, found in ((part, found) for part, found in parts.items() if part != "training"):
            for name, one in found["systems"].items():
                made = record["filters"].get(name)
                filtered = ("", "", "") if made is None else (
                    f"{made['remove_cost']:g}", f"{made['coverage']:.2f}", f"{made['reduction']:.1f}"
                )  # fmt: skip
                scores = (f"{100 * one['LAS']:.2f}", f"{one['words per CPU-second']:,.0f}", f"{one['speed-up']:.2f}")
                p_value = f"{one['p of LAS']:.2f}" if "p of LAS" in one else ""
                rows.append((parser, part, name, *filtered, *scores, p_value))
    header = (
        *("parser", "sentences", "filter", "C1", "coverage (%)", "reduction (%)"),
        *("LAS", "words per CPU-s", "speed-up", "p of LAS"),
    )
    return "\n\n".join([about, markdown(header, rows, texts=3)])


def _training_minutes(found: Record) -> str:
    """Return what training took, if that was recorded."""
    return f"{found['training']['cpu_seconds'] / 60:.1f}" if "training" in found else "–"


def adaptation_table(record: Record) -> str:
    """Return what the English model does after few answers, and at home."""
    about = (
        "The English model of the package, plain words in; `treetune adapt` with EWT as the home domain. Means of the "
        "seeds, the worst seed in brackets; *kept*: runs in which the model stayed as it was, because held-out answers "
        "were not significantly more often right. CPU time is that of the whole adaptation, memory to "
        "memory, largest seed."
    )
    runs: dict[tuple[str, str], list[Any]] = {}
    for one in record["runs"]:
        runs.setdefault((one["domain"], one["annotation"]), []).append(one)
    metrics = list(record["start"]["EWT dev"])
    rows, home = [], f"{record['start']['EWT dev']['LAS']:.1f}"
    for domain in dict.fromkeys(domain for domain, _ in runs):
        start = record["start"][domain]
        rows.append((domain, "none", *(f"{start[metric]:.1f}" for metric in metrics), home, "", ""))
        for (_, annotation), found in ((key, found) for key, found in runs.items() if key[0] == domain):
            cells = [_mean_and_worst([one["test"][metric] for one in found]) for metric in metrics]
            at_home = _mean_and_worst([one["EWT dev"]["LAS"] for one in found])
            kept = sum(not one["report"]["is_adapted"] for one in found)
            seconds = max(one["cpu_seconds"] for one in found)
            rows.append((domain, annotation, *cells, at_home, f"{kept} of {len(found)}", f"{seconds:.0f}"))
    header = ("domain", "annotation", *metrics, "EWT dev LAS", "kept", "CPU-s")
    return "\n\n".join([about, markdown(header, rows, texts=2)])


def _mean_and_worst(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1f} ({min(values):.1f})"


def versions_table(record: Record) -> str:
    """Return the speed of each parser at an earlier commit and now: parsing, and training where it was measured."""
    settings = record["settings"]
    about = (
        f"`{settings['test']}`, one thread: commit `{settings['old'][:12]}` and the one below with the same trees, "
        f"from memory to memory, {settings['repeats']} rounds in turn. No other parser took part."
    )
    rows = [
        (f"{parser['name']}, {work}", spread(found["old"]), spread(found["new"]), spread(found["times"], 2))
        for parser in record["parsers"]
        for work, found in (("parsing", parser), ("training", parser.get("training")))
        if found is not None
    ]
    header = ("system", "words per CPU-s, before", "words per CPU-s, now", "times as fast")
    return "\n\n".join([about, markdown(header, rows)])


TAGGING_COLUMNS = {
    "dev UPOS": "dev_UPOS",
    "dev XPOS": "dev_XPOS",
    "UPOS": "test_UPOS",
    "XPOS": "test_XPOS",
    "FEATS": "test_FEATS",
    "all columns": "test_accuracy",
    "known words": "test_known",
    "unknown words": "test_unknown",
    "model (MB)": "model_mb",
    "training (CPU-min)": "cpu_minutes",
}


def tagging_table(record: Record) -> str:
    """Return what taggers reach and cost, one row a model; a system that was only timed has a speed alone."""
    rows = []
    for name, speed in record[SPEED].items():
        means = record["mean"].get(name, {})
        cells = [spread(means[column], 2) if column in means else "" for column in TAGGING_COLUMNS.values()]
        rows.append((name, *cells, spread(speed)))
    seeds = max(len(runs) for runs in record["runs"].values())
    about = (
        f"Trained on `{record['train']}`, gold tokens, {record['epochs']} epochs, the best chosen on dev; scores on "
        f"test unless dev is named; {seeds} seeds, one thread; {INTERVAL}. Speed is from memory to memory: from "
        "sentences without tags to sentences with tags."
    )
    return "\n\n".join([about, markdown(("tagger", *TAGGING_COLUMNS, "words per CPU-s"), rows)])


def earlier_table(record: Record) -> str:
    """Return figures of other parsers from earlier, which are no measurements of this page."""
    rows = [
        (one["what"], "; ".join(f"{name}: {figure:,}" for name, figure in one["peers"].items()))
        for one in record["figures"]
    ]
    return "\n\n".join([f"## {record['title']}", record["about"], markdown(("", "measured earlier"), rows)])


def annotation_order_table(record: Record) -> str:
    """Return scores over the number of answers, by the order in which questions were asked."""
    about = (
        "Gold main verbs of `questions/target-train`, learned by a parser that has seen no questions "
        f"(`questions/source-train`, gold UPOS); scores on `questions/target-test`, root / LAS, means of "
        f"{len({one['seed'] for one in record['runs']})} seeds. The last column: after how many answers 80 % of the "
        "gain by all of them is there, root / LAS."
    )
    rows = []
    for order, points in record["mean"].items():
        enough = record["answers_for_80_percent"][order]
        cells = [f"{point['root']:.1f} / {point['LAS']:.1f}" for point in points]
        rows.append((order, *cells, f"{enough['root']} / {enough['LAS']}"))
    counts = [f"{point['answers']:.0f}" for point in next(iter(record["mean"].values()))]
    return "\n\n".join([about, markdown(("order", *counts, "80 %"), rows)])


def web_load_table(record: Record) -> str:
    """Return latency and throughput of servers under load."""
    about = (
        "`treetune serve` beside a FastAPI page around spaCy (tagger, morphologizer and parser, trained for a "
        f"moment), from request to response, a sentence of {record['words']} words; server and client on a core each, "
        f"medians of {len(next(iter(record['rounds'].values())))} rounds in turn. "
        f"Requests: one after the other, and {record['concurrent']:,} at once, each over a "
        "connection of "
        "its own. Batches: sentences of EWT train, JSON out."
    )
    columns = {
        "single p50, ms": "single_p50_ms", "single p95, ms": "single_p95_ms",
        "at once p50, ms": "concurrent_p50_ms", "at once p95, ms": "concurrent_p95_ms",
        "requests per CPU-s": "concurrent_per_cpu_second", "5xx": "5xx", "not answered": "unanswered",
        "batch, sentences per s": "batch_sentences_per_second",
        "batch, sentences per CPU-s": "batch_sentences_per_cpu_second",
    }  # fmt: skip
    rows = [(name, *(f"{found[key]:,.0f}" for key in columns.values())) for name, found in record["median"].items()]
    return "\n\n".join([about, markdown(("server", *columns), rows)])


def cluster_table(record: Record) -> str:
    """Return time, bytes and memory of a local cluster beside one process."""
    one, many, kills = record["one_process"], record["cluster"], record["kills"]
    about = (
        f"`treetune parse en` on {record['words']:,} words of CoNLL-U (AMALGUM), {many['shards']} shards, "
        f"{record['workers']} workers of a local Ray cluster beside one process, start-up counted. Others ran on "
        f"the machine (load {record['load_before']:.0f} to {record['load_after']:.0f} on two cores): wall time says "
        "little, CPU time of the parsing itself is the measure."
    )
    rows = [
        ("one process", f"{one['wall_seconds']:.0f}", f"{one['cpu_seconds']:.0f}", f"{one['peak_rss_mb']:.0f}", ""),
        (
            "cluster", f"{many['wall_seconds']:.0f}", f"{many['shard_cpu_seconds']:.0f}, all shards",
            f"{max(map(max, many['memory_mb'].values())):.0f} a worker", "yes" if many["same_bytes"] else "no",
        ),
    ]  # fmt: skip
    jobs = kills["jobs"]
    same, hit = (sum(job[key] for job in jobs) for key in ("same_bytes", "killed"))
    killed = (
        f"Killed: in {len(jobs)} jobs of {kills['words']:,} words and {kills['shards']} shards, a worker was to be "
        f"killed at a random moment; {hit} times one was there, and {same} of {len(jobs)} had the same bytes."
    )
    return "\n\n".join([about, markdown(("", "wall s", "CPU s", "memory, MB", "same bytes"), rows), killed])


def mixing_table(record: Record) -> str:
    """Return accuracy and time of training in shards."""
    about = (
        f"EWT, {record['sentences']:,} sentences, beam {record['beam']}, {record['epochs']} epochs, from trees in "
        "memory to the parser; on free processors the time is that of the slowest shard of each turn and of all that "
        "is not divided."
    )
    rows = [
        (
            *(str(row[name]) for name in ("shards", "mixes", "seed")),
            *(f"{row[name]:.2f}" for name in ("dev_LAS", "test_UAS", "test_LAS")),
            *(f"{row[name]:.0f}" for name in ("cpu_seconds", "seconds_on_free_processors")),
        )
        for row in record["rows"]
    ]  # fmt: skip
    head = ("shards", "mixes an epoch", "seed", "dev LAS", "test UAS", "test LAS", "CPU s", "s on free processors")
    return "\n\n".join([about, markdown(head, rows)])


def uptraining_table(record: Record) -> str:
    """Return time, memory and accuracy of a large training."""
    settings = record["settings"]
    about = (
        f"`treetune uptrain` on {settings['sentences']:,} parsed sentences of AMALGUM alone, without a treebank, "
        f"{settings['epochs']} epochs, beam {settings['beam']}, from the files to the model file: the whole command."
    )
    columns = {"CPU-min": record["cpu_seconds"] / 60, "peak memory (MB)": record["peak_rss_mb"]}
    columns |= {"model (MB)": record["model_mb"], "EWT test UAS": record["test_UAS"], "LAS": record["test_LAS"]}
    return "\n\n".join([about, markdown([*columns], [[f"{value:,.1f}" for value in columns.values()]], texts=0)])


TABLES: dict[str, tuple[str, Callable[[Record], str]]] = {
    "raw_text": ("From raw text", raw_text_table),
    "treebanks": ("Other treebanks from raw text", treebanks_table),
    "adaptation": ("Adaptation by few answers", adaptation_table),
    "annotation_order": ("The order of questions", annotation_order_table),
    "web_load": ("The web server under load", web_load_table),
    "cluster": ("A local cluster of two workers", cluster_table),
    "mixing": ("Training in shards", mixing_table),
    "compare": ("Compared with other parsers", compare_table),
    "arc_filters": ("Arc filters", arc_filters_table),
    "versions": ("Before and now", versions_table),
    "tagging": ("Taggers", tagging_table),
    "startup": ("Start-up", startup_table),
    "reordering": ("Word order", reordering_table),
    "overhead": ("Training overhead", overhead_table),
    "uptraining": ("Uptraining on many sentences", uptraining_table),
}
# The page has them in this order; training and earlier figures have no single record.
ORDER = (
    *("raw_text", "treebanks", "adaptation", "annotation_order", "web_load", "cluster", "mixing", "compare"),
    *("arc_filters", "versions", EARLIER, "training", "tagging", "startup", "reordering", "overhead", "uptraining"),
)


def section(record: Record) -> str:
    """Return one result as a section with its origin."""
    if record["benchmark"] == EARLIER:
        return earlier_table(record)
    title, table = TABLES[record["benchmark"]]
    return "\n\n".join([f"## {title}", table(record), origin(record)])


def page(records: Sequence[Record]) -> str:
    """Return all results as one page, with all parsers that were trained in one table."""
    made = "<!-- Made by `python -m benchmarks report` from the files in benchmarks/results; do not edit. -->"
    about = "How accurate, how fast and how large treetune's models are; all times are CPU time of one thread."
    parts = [made, "# Benchmarks", about]
    for kind in ORDER:
        chosen = [record for record in records if record["benchmark"] == kind]
        if kind == "training" and chosen:
            parts.append("## Training\n\n" + training_tables(chosen))
        else:
            parts += map(section, chosen)
    return "\n\n".join(parts) + "\n"
