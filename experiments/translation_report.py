"""The page and the figure of the translation experiment, from its result file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import markdown, origin

DOCS = Path(__file__).resolve().parents[1] / "docs" / "experiments"
FIGURE = "translation.svg"
NAMES = {"tr": "Turkish", "hi": "Hindi", "mr": "Marathi", "ja": "Japanese"}
# The systems of Figure 5, with a mark each.
DRAWN = {"baseline": "o", "hand-written rules": "s"}
COLOURS = {"tr": "#1b6ca8", "hi": "#c8553d", "mr": "#5a9e3d", "ja": "#8a5ea8"}
MADE = "<!-- Made by `python -m experiments.translation report` from its result file; do not edit. -->"
PAPER = "10"
HEAD = """\
# Does reordering help translation?

**Question** (Xu et al. 2009, Tables 3 and 4, Figure 5). Is a phrase-based system better if the English side of its
training data is put into the order of the other language first, and does the distortion limit still matter then?

**Setup.** Tatoeba pairs, short sentences; parts and numbers of sentences below. English tokens, tags and trees by the
model of the package, lower case after parsing. Alignments by hidden Markov models in both directions, phrases of up
to five words, a trigram model of the translations, all by thot; distance-based jumps, no lexicalised reordering,
which the engine does not have (the paper's rows without LR). Weights are tuned for BLEU on the dev part by a random
search over n-best lists, once for each seed and system at limit 0 and once at limit 10, which serves for the limits
from 1 on. BLEU by sacrebleu: of words, of Japanese of characters; ± is the standard deviation over seeds. "Alignments
of the reordered text" is the control: the system does not reorder, but its phrases come from alignments that were
made in the new order. "Weak parser": greedy, 1,000 trees of EWT. "Parser of the treebank alone", "trained for
reordering": beam 8, all of EWT and GUM, the second with 10,000 word orders of aligned pairs at rate 2 beside it. Not
measured: hierarchical systems (Table 4; no engine that can be installed was found)."""
RUN = "`python -m experiments.translation run --data DIR`; `pip install -e '.[translation]'`."


def page(record: Mapping[str, Any]) -> str:
    """Return the page of a result file."""
    parts = [MADE, HEAD, f"![BLEU by distortion limit]({FIGURE})", _summary(record), f"{RUN} {origin(record)}"]
    for language, found in record["languages"].items():
        parts += [f"## {NAMES[language]}", _about(found), _systems(found), _comparisons(found), _lengths(found)]
        if "news" in found:
            news = found["news"]
            parts += [
                f"News (NTREX), {sum(news['sentences_by_length'])} sentences:",
                _lengths(news),
                _comparisons(news),
            ]
    return "\n\n".join(parts) + "\n"


def _summary(record: Mapping[str, Any]) -> str:
    """Return BLEU at limit 10 of all systems and languages, as Table 3 has it."""
    languages = record["languages"]
    systems = list(dict.fromkeys(system for found in languages.values() for system in found["systems"]))
    rows = [
        (system, *(_bleu(found["systems"].get(system, {}).get(PAPER)) for found in languages.values()))
        for system in systems
    ]
    return markdown(("BLEU, distortion limit 10", *(NAMES[language] for language in languages)), rows)


def _bleu(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ""
    return f"{cell['mean']:.1f} ± {cell['sd']:.1f}" if len(cell["raw"]) > 1 else f"{cell['mean']:.1f}"


def _about(found: Mapping[str, Any]) -> str:
    pairs = ", ".join(f"{name} {count:,}" for name, count in found["pairs"].items())
    # Otherwise ± shows that there were several.
    seeds = " One tuning seed." if found.get("seeds") == 1 else ""
    return f"Pairs: {pairs}.{seeds} Hand-written rules: `{found['rules']}`. `{found['signature']}`"


def _systems(found: Mapping[str, Any]) -> str:
    limits = sorted({int(limit) for rows in found["systems"].values() for limit in rows})
    rows = []
    for system, cells in found["systems"].items():
        here = [cells.get(str(limit)) for limit in limits]
        shown = (f"{_bleu(cell)} ({100 * cell['not_monotone']:.0f} %)" if cell else "" for cell in here)
        rows.append((system, *shown))
    return markdown(("BLEU (outputs that are not monotone), by limit", *map(str, limits)), rows)


def _comparisons(found: Mapping[str, Any]) -> str:
    rows = [
        (
            f"{one['better']}, limit {one['limits'][0]}",
            f"{one['worse']}, limit {one['limits'][1]}",
            f"{one['difference']:+.1f}",
            ", ".join(f"{value:.3f}" for value in one["p_values"]),
        )
        for one in found["comparisons"]
    ]
    head = ("system", "against, at its best limit on test", "BLEU", "p of each seed (paired bootstrap)")
    return markdown(head, rows)


def _lengths(found: Mapping[str, Any]) -> str:
    """Return BLEU at limit 10 by the length of English sentences."""
    heads = [f"{low}–{high}" if high < 1000 else f"{low} and more" for low, high in found["lengths"]]
    rows = [("sentences", *(f"{count:,}" for count in found["sentences_by_length"]))]
    rows += [
        (system, *(f"{value:.1f}" for value in cells[PAPER]["lengths"]))
        for system, cells in found["systems"].items()
        if PAPER in cells
    ]
    return markdown(("BLEU by English words", *heads), rows)


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw BLEU by distortion limit (Figure 5); the same bytes for the same results."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "treetune", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(6.5, 3.6), layout="constrained")
        axes = figure.subplots()
        shown = [found["systems"].get(system, {}) for found in record["languages"].values() for system in DRAWN]
        ticks = sorted({int(limit) for cells in shown for limit in cells})
        for language, found in record["languages"].items():
            for system, mark in DRAWN.items():
                cells = found["systems"].get(system, {})
                limits = sorted(map(int, cells))
                axes.plot(
                    [ticks.index(limit) for limit in limits],
                    [cells[str(limit)]["mean"] for limit in limits],
                    marker=mark,
                    markersize=4,
                    color=COLOURS[language],
                    linestyle="-" if system != "baseline" else "--",
                    label=f"{NAMES[language]}, {system}",
                )
        axes.set_xticks(range(len(ticks)), list(map(str, ticks)))
        axes.set_xlabel("distortion limit")
        axes.set_ylabel("BLEU")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})


def write(results: Path) -> None:
    """Write the page and the figure of a result file."""
    record = json.loads(results.read_text(encoding="utf-8"))
    (DOCS / "translation.md").write_text(page(record), encoding="utf-8")
    draw(record, DOCS / FIGURE)
