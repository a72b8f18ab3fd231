"""Does reordering help translation? Pre-ordering measured by BLEU (Xu et al. 2009, Tables 3 and 4, Figure 5).

``python -m experiments.translation run`` trains phrase-based systems with and without reordering, tunes and scores
them, and writes `experiments/results/translation.json`; a step that is done is kept in `--work` and not made again.
``python -m experiments.translation report`` writes the page and the figure. Needs ``pip install -e '.[translation]'``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import provenance, say
from experiments.data import KEPT
from experiments.phrase_based import START, Decoder, Output, clean, train_language_model, train_translation_model
from experiments.translation_report import NAMES
from experiments.tuning import bleu_counts, tune

NONE, HAND, LEARNED = "baseline", "hand-written rules", "learned rules"
ALIGNMENTS, WEAK = "baseline, alignments of the reordered text", "hand-written rules, weak parser"
TREEBANK = "hand-written rules, parser of the treebank alone"
TRAINED = "hand-written rules, parser trained for reordering"
FOLDERS = {
    NONE: "baseline", HAND: "hand", ALIGNMENTS: "alignments", TREEBANK: "treebank", TRAINED: "trained", WEAK: "weak",
    LEARNED: "learned",
}  # fmt: skip
SYSTEMS = tuple(FOLDERS)
# The rows of a table that train the parsers of two systems, for the languages that have aligned word orders.
TABLE = "hall2011_table1_parallel"
ROWS = {TREEBANK: "transition, treebank only", TRAINED: "transition, word orders at rate 2, {language}"}
LIMITS = (0, 1, 2, 4, 6, 10)
# The limits of the systems that are not in the figure.
MAIN_LIMITS = (0, 6, 10)
TUNED_AT = {0: 0}
WIDEST = 10
N_BEST = 100
RESULT = Path(__file__).resolve().parent / "results" / "translation.json"
RULES = {"tr": "tr", "hi": "hi", "mr": "sov", "ja": "ja"}
# Of English sentences, in words: those of Tatoeba, and those of NTREX, a second test set of news.
LENGTHS = ((1, 5), (6, 8), (9, 12), (13, 10_000))
NEWS_LENGTHS = ((1, 15), (16, 25), (26, 10_000))
TEST, NEWS = "test", "ntrex"
# Sentences of each part; the first ones.
SIZES = {"train": 20_000, "dev": 300, TEST: 1_000}
NEWS_SIZE = 300
SAMPLES = 1000
LONGEST = 60
SEEDS = 3
WEAK_TREES = 1000


def is_separate(character: str) -> bool:
    """Whether a character is a word of its own: punctuation and symbols, but no apostrophe, which joins suffixes."""
    return unicodedata.category(character)[0] in "PS" and character not in "'’-"


def split_words(text: str) -> list[str]:
    """Return the words of a text in a language that writes spaces."""
    return "".join(f" {c} " if is_separate(c) else c for c in text).split()


def segmenter(language: str) -> Callable[[str], list[str]]:
    """Return what splits the sentences of a language into words."""
    if language != "ja":
        return split_words
    from fugashi import Tagger

    tagger = Tagger("-Owakati")
    return lambda text: tagger.parse(text).split()


@dataclass(frozen=True)
class Part:
    """One part of a parallel corpus: words of both sides, and the orders of a rule set, from 0."""

    source: Sequence[Sequence[str]]
    target: Sequence[Sequence[str]]
    orders: Sequence[Sequence[int]]

    def reordered(self) -> list[list[str]]:
        """Return the source sentences in their orders."""
        return [[words[word] for word in order] for words, order in zip(self.source, self.orders, strict=True)]


class Study:
    """One language: its corpus, systems and runs, all in a folder of their own."""

    def __init__(self, language: str, data: Path, work: Path, sizes: Mapping[str, int]) -> None:
        self.language, self.data, self.sizes = language, data, sizes
        self.work = work / f"{language}-{sizes['train']}"
        self.work.mkdir(parents=True, exist_ok=True)

    # Corpora.

    def part(self, name: str, system: str) -> Part:
        """Return a part of the corpus with the orders of a system's rules."""
        path = self.work / f"{name}.{FOLDERS[HAND if system in (NONE, ALIGNMENTS) else system]}.jsonl"
        if not path.is_file():
            rules = self._learned_rules() if system == LEARNED else RULES[self.language]
            model = self._weak_model() if system == WEAK else self._table_model(system) if system in ROWS else "en"
            command("reorder", "parallel", self._tokenized(name), "--to", rules, "--model", model, "-o", path, "-q")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        usable = [one for one in lines if one["tokens"] and clean(one["target"])]
        return Part(
            # A word with a space inside cannot be told from two.
            [[word.lower().replace(" ", "_").replace("|||", "|") for word in one["tokens"]] for one in usable],
            [clean(one["target"]) for one in usable],
            [one["order"] for one in usable],
        )

    def _tokenized(self, name: str) -> Path:
        """Return pairs whose translations are words between spaces."""
        path = self.work / f"{name}.tsv"
        if not path.is_file():
            split = segmenter(self.language)
            file = f"ntrex-en-{self.language}.tsv" if name == NEWS else f"tatoeba-en-{self.language}-{name}.tsv"
            size = NEWS_SIZE if name == NEWS else self.sizes[name]
            with (self.data / "parallel" / file).open(encoding="utf-8") as lines:
                pairs = [line.rstrip("\n").split("\t") for line, _ in zip(lines, range(size), strict=False)]
            write(path, "".join(f"{english}\t{' '.join(split(other))}\n" for english, other in pairs))
        return path

    def _learned_rules(self) -> Path:
        rules, orders, plain = (self.work / name for name in ("learned.toml", "orders.jsonl", "plain.tsv"))
        if not rules.is_file():
            if not orders.is_file():
                part = self.part("train", NONE)
                lines = zip(part.source, part.target, strict=True)
                write(plain, "".join(f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in lines))
                command("reorder", "align", plain, "-o", orders, "--min-confidence", 0.5, "-q")
            command("reorder", "learn", orders, "--model", "en", "-o", rules, "-q")
        return rules

    def _weak_model(self) -> Path:
        path = self.work.parent / "weak.treetune"
        if not path.is_file():
            import treetune
            from treetune import storage

            trees = list(treetune.read_trees(self.data / "ud" / "en_ewt-train.conllu"))[:WEAK_TREES]
            parser = treetune.TransitionParser(beam=1).fit(trees, epochs=4)
            storage.save(treetune.load("en").with_parser(parser), path)
        return path

    def _table_model(self, system: str) -> Path:
        """Return the model of the package with the parser of a row of the table of word orders, seed 0."""
        path = self.work.parent / f"{FOLDERS[system]}-{self.language}.treetune"
        if not path.is_file():
            import treetune
            from experiments.data import Limits, check, read
            from experiments.training import Training
            from treetune import storage

            config = table_rows()[ROWS[system].format(language=NAMES[self.language])]
            check(config, self.data)
            parser = Training(say).train(config, read(config, self.data, Limits()), seed=0)
            storage.save(treetune.load("en").with_parser(parser), path)
        return path

    # Systems.

    def _language_model(self) -> Path:
        path = self.work / "lm"
        if not (self.work / "lm.done").is_file():
            train_language_model(path, self.part("train", NONE).target, self.part("dev", NONE).target)
            write(self.work / "lm.done", "")
        return path

    def _translation_model(self, system: str) -> Path:
        folder = self.work / FOLDERS[system]
        if not (folder / "done").is_file():
            folder.mkdir(exist_ok=True)
            part = self.part("train", system)
            # Both sides of long pairs cost much and say little.
            kept = [
                n for n, (a, b) in enumerate(zip(part.source, part.target, strict=True)) if max(len(a), len(b)) <= 60
            ]
            source = part.source if system in (NONE, ALIGNMENTS) else part.reordered()
            pairs = [(source[n], part.target[n]) for n in kept]
            orders = [part.orders[n] for n in kept] if system == ALIGNMENTS else None
            started = time.process_time()
            train_translation_model(folder / "tm", pairs, orders)
            write(folder / "done", f"{time.process_time() - started:.1f}\n")
        return folder / "tm"

    def runs(self, system: str, seeds: int, limits: Sequence[int], test: str = TEST) -> list[dict[str, Any]]:
        """Return the runs of a system, each with its translations; those that are missing are made."""
        wanted = [(seed, limit) for seed in range(seeds) for limit in limits]
        ending = "" if test == TEST else f"-{test}"
        paths = {one: self.work / FOLDERS[system] / f"run-{one[0]}-{one[1]}{ending}.json" for one in wanted}
        if any(not path.is_file() for path in paths.values()):
            machine = _Machine(self, system)
            for (seed, limit), path in paths.items():
                if not path.is_file():
                    say(f"{self.language}: {system}, {test}, seed {seed}, limit {limit}")
                    write(path, json.dumps(machine.run(seed, limit, test), ensure_ascii=False))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths.values()]


class _Machine:
    """A system that is loaded, with the lists that the seeds of a limit share."""

    def __init__(self, study: Study, system: str) -> None:
        self.study, self.system = study, system
        self._lists: dict[int, list[list[Output]]] = {}
        self._parts: dict[str, Part] = {}
        self.decoder = Decoder(study._translation_model(system), study._language_model())

    def part(self, name: str) -> Part:
        if name not in self._parts:
            self._parts[name] = self.study.part(name, self.system)
        return self._parts[name]

    def sources(self, name: str) -> Sequence[Sequence[str]]:
        part = self.part(name)
        return part.source if self.system in (NONE, ALIGNMENTS) else part.reordered()

    def run(self, seed: int, limit: int, test: str) -> dict[str, Any]:
        started = time.process_time()
        weights = self._weights(seed, TUNED_AT.get(limit, WIDEST))
        outputs = self.decoder.translate(self.sources(test), weights, limit)
        return {
            "language": self.study.language,
            "system": self.system,
            "seed": seed,
            "limit": limit,
            "weights": weights,
            "not_monotone": sum(not one.is_monotone for one in outputs) / len(outputs),
            "cpu_seconds": time.process_time() - started,
            "outputs": [" ".join(one.words) for one in outputs],
        }

    def _weights(self, seed: int, limit: int) -> Sequence[float]:
        path = self.study.work / FOLDERS[self.system] / f"weights-{seed}-{limit}.json"
        if not path.is_file():
            sources, targets = self.sources("dev"), self.part("dev").target

            def units(words: Sequence[str]) -> Sequence[str]:
                return list("".join(words)) if self.study.language == "ja" else words

            found = tune(
                lambda weights: self.decoder.n_best(sources, weights, limit, N_BEST),
                lambda number, output: bleu_counts(units(output.words), units(targets[number])),
                self._first(limit),
                seed=seed,
            )
            write(path, json.dumps(found))
        return tuple(json.loads(path.read_text()))

    def _first(self, limit: int) -> list[list[Output]]:
        if limit not in self._lists:
            self._lists[limit] = self.decoder.n_best(self.sources("dev"), START, limit, N_BEST)
        return self._lists[limit]


def table_rows() -> dict[str, Any]:
    """Return the settings of the rows of the table of word orders."""
    from experiments import table

    return {row.name: row.config for row in table.load(TABLE).rows}


def is_possible(system: str, language: str) -> bool:
    """Whether a system can be made: parsers are trained for reordering where the table has the language."""
    return system not in ROWS or ROWS[TRAINED].format(language=NAMES[language]) in table_rows()


def command(*arguments: object) -> None:
    """Run a command of treetune in this process."""
    from treetune.cli import main

    if main([str(argument) for argument in arguments]):
        raise SystemExit(f"treetune {' '.join(map(str, arguments))} failed")


def write(path: Path, text: str) -> None:
    """Write a file that is there only when it is complete."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


class Scorer:
    """BLEU of the outputs of one language, by sacrebleu: of words, of Japanese of characters."""

    def __init__(self, study: Study, test: str = TEST) -> None:
        from sacrebleu.metrics import BLEU

        part = study.part(test, NONE)
        self.is_by_character = study.language == "ja"
        self._joint = "" if self.is_by_character else " "
        self.references = [self._joint.join(words) for words in part.target]
        self.sources = [" ".join(words) for words in part.source]
        self.lengths = [len(words) for words in part.source]
        self.metric = BLEU(tokenize="char" if self.is_by_character else "none", force=True)

    def texts(self, run: Mapping[str, Any]) -> list[str]:
        """Return the outputs of a run as they are scored."""
        return [output.replace(" ", self._joint) for output in run["outputs"]]

    def bleu(self, run: Mapping[str, Any], lengths: tuple[int, int] = (0, 10_000)) -> float:
        """Return the BLEU of the sentences with source lengths in a range; 0 if there are none."""
        low, high = lengths
        kept = [n for n, length in enumerate(self.lengths) if low <= length <= high]
        if not kept:
            return 0.0
        texts = self.texts(run)
        score = self.metric.corpus_score([texts[n] for n in kept], [[self.references[n] for n in kept]])
        return float(score.score)

    def p_value(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
        """Return the p-value of sacrebleu's paired bootstrap."""
        from sacrebleu.significance import PairedTest

        named = [("one", self.texts(one)), ("other", self.texts(other))]
        test = PairedTest(named, {"BLEU": self.metric}, [self.references], test_type="bs", n_samples=SAMPLES)
        (result,) = [result for name, results in test()[1].items() if name != "System" for result in results[1:]]
        return float(result.p_value)


Runs = Mapping[str, Sequence[Mapping[str, Any]]]


def results(study: Study, done: Runs, news: Runs) -> dict[str, Any]:
    """Return what the runs of a language say; `news` are those on the second test set."""
    scorer = Scorer(study)
    scores = _scores(scorer, done, LENGTHS)
    return {
        "pairs": {name: len(study.part(name, NONE).source) for name in SIZES},
        "rules": RULES[study.language],
        "signature": str(scorer.metric.get_signature()),
        **scores,
        **({"news": _scores(Scorer(study, NEWS), news, NEWS_LENGTHS)} if news else {}),
    }


def _scores(scorer: Scorer, done: Runs, lengths: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return BLEU of the systems on a test set, by distortion limit and length, and their comparisons."""
    systems: dict[str, Any] = {}
    for system, runs in done.items():
        rows = systems[system] = {}
        for limit in sorted({run["limit"] for run in runs}):
            chosen = [run for run in runs if run["limit"] == limit]
            rows[str(limit)] = {
                **spread([scorer.bleu(run) for run in chosen]),
                "not_monotone": float(np.mean([run["not_monotone"] for run in chosen])),
                "lengths": [float(np.mean([scorer.bleu(run, one) for run in chosen])) for one in lengths],
                "cpu_seconds": float(np.mean([run["cpu_seconds"] for run in chosen])),
                "weights": [run["weights"] for run in chosen],
            }
    return {
        "lengths": lengths,
        "sentences_by_length": [sum(a <= length <= b for length in scorer.lengths) for a, b in lengths],
        "systems": systems,
        "comparisons": [
            _compared(scorer, systems, done, better, worse) for better, worse in PAIRS if {better, worse} <= done.keys()
        ],
    }


def examples(scorer: Scorer, done: Runs) -> list[dict[str, Any]]:
    """Return the sentences that gained and lost most by the rules, by BLEU of the sentence, at limit 10 and seed 0."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="char" if scorer.is_by_character else "none", effective_order=True)
    found = {
        system: next(run for run in done[system] if (run["seed"], run["limit"]) == (0, WIDEST))
        for system in (NONE, HAND)
    }
    texts = {system: scorer.texts(run) for system, run in found.items()}
    gains = {
        n: metric.sentence_score(texts[HAND][n], [reference]).score
        - metric.sentence_score(texts[NONE][n], [reference]).score
        for n, reference in enumerate(scorer.references)
        if EXAMPLE_WORDS[0] <= scorer.lengths[n] <= EXAMPLE_WORDS[1]
    }
    best = sorted(gains, key=lambda n: gains[n])
    return [
        {"english": scorer.sources[n], "reference": scorer.references[n], **{one: texts[one][n] for one in texts}}
        for n in (*best[: -EXAMPLES - 1 : -1], *best[:EXAMPLES])
    ]


# The first of each pair at the limit of the paper, the second at its best limit.
PAIRS = (
    (HAND, NONE),
    (LEARNED, NONE),
    (HAND, ALIGNMENTS),
    (ALIGNMENTS, NONE),
    (LEARNED, HAND),
    (WEAK, NONE),
    (WEAK, HAND),
    (TREEBANK, NONE),
    (TRAINED, NONE),
    (TRAINED, TREEBANK),
)
# Sentences that are shown of each kind, and their English words.
EXAMPLES, EXAMPLE_WORDS = 2, (6, 12)


def _compared(scorer: Scorer, systems: Any, done: Any, better: str, worse: str) -> dict[str, Any]:
    limits = (WIDEST, int(max(systems[worse], key=lambda limit: systems[worse][limit]["mean"])))
    chosen = [
        {run["seed"]: run for run in done[system] if run["limit"] == limit}
        for system, limit in zip((better, worse), limits, strict=True)
    ]
    seeds = sorted(chosen[0].keys() & chosen[1].keys())
    means = [systems[system][str(limit)]["mean"] for system, limit in zip((better, worse), limits, strict=True)]
    return {
        "better": better,
        "worse": worse,
        "limits": limits,
        "difference": means[0] - means[1],
        "p_values": [scorer.p_value(chosen[1][seed], chosen[0][seed]) for seed in seeds],
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, standard deviation and the values themselves."""
    return {
        "mean": float(np.mean(values)),
        "sd": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        "raw": list(values),
    }


def run(
    languages: Sequence[str],
    systems: Sequence[str],
    data: Path,
    work: Path,
    *,
    seeds: int,
    limits: Sequence[int],
    with_news: bool,
    out: Path,
) -> None:
    """Make the runs that are missing and write what they say, language by language."""
    for language in languages:
        study = Study(language, data, work, SIZES)
        done, news = {}, {}
        for system in (one for one in systems if is_possible(one, language)):
            own = LIMITS if system in (NONE, HAND) else MAIN_LIMITS
            done[system] = study.runs(system, seeds, [limit for limit in own if limit in limits])
            if with_news and (data / "parallel" / f"ntrex-en-{language}.tsv").is_file():
                news[system] = study.runs(system, seeds, [WIDEST], NEWS)
        found = json.loads(out.read_text()) if out.is_file() else {"languages": {}}
        found |= provenance(["sil-thot", "sacrebleu", "numpy"]) | {"sizes": SIZES}
        found["languages"][language] = {"seeds": seeds, **results(study, done, news)}
        write(out, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        say(f"wrote {out}")
        if {NONE, HAND} <= done.keys() and WIDEST in limits:
            # Sentences of the corpus have no place in the repository.
            path = work / f"examples-{language}.json"
            write(path, json.dumps(examples(Scorer(study), done), indent=1, ensure_ascii=False) + "\n")
            say(f"wrote {path}")


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--languages", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--limits", type=int, nargs="+", default=list(LIMITS), choices=LIMITS, help="distortion limits")
    parser.add_argument("--no-news", action="store_true", help="without the second test set, NTREX")
    parser.add_argument("--data", type=Path, default=os.environ.get("TREETUNE_DATA"))
    parser.add_argument("--work", type=Path, default=KEPT / "translation")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.what == "report":
        from experiments import translation_report

        translation_report.write(options.out)
        return
    if options.data is None:
        parser.error("--data or TREETUNE_DATA must name the folder with parallel/")
    run(
        options.languages,
        options.systems,
        options.data,
        options.work,
        seeds=options.seeds,
        limits=options.limits,
        with_news=not options.no_news,
        out=options.out,
    )


if __name__ == "__main__":
    main()
