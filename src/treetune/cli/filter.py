"""``treetune filter``: arc filters for graph parsers, trained on a treebank and evaluated on trees."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from treetune.cli.console import EXIT_CODES, note, write, write_json
from treetune.cli.options import given
from treetune.config.reading import fingerprint, read_data
from treetune.corpus.files import check_kept
from treetune.errors import ConfigError, DataError
from treetune.storage import check_target, load, save

# As in `treetune.filters.arc_filter`, which loads numba.
KINDS = ("joint", "independent")
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")]


def train(
    treebank: Annotated[str, typer.Argument(metavar="TRAIN", help="Trees to train on, CoNLL-U or CoNLL-X.")],
    model: Annotated[str, typer.Option("--model", metavar="OUT", help="File to write the filter to.")],
    dev: Annotated[
        str | None,
        typer.Option("--dev", metavar="DEV", help="Trees to tune on; without them, every tenth tree of TRAIN."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help=f"How to train: {', '.join(KINDS)}; joint by default.")
    ] = None,
    keep_cost: Annotated[
        float | None, typer.Option("--keep-cost", metavar="C0", help="Joint: the cost of a tree's arc that is removed.")
    ] = None,
    remove_cost: Annotated[
        float | None, typer.Option("--remove-cost", metavar="C1", help="Joint: the cost of another arc that is kept.")
    ] = None,
    vine: Annotated[bool | None, typer.Option("--vine/--no-vine", help="Remove arcs by their length, or not.")] = None,
    threshold: Annotated[
        bool | None,
        typer.Option("--threshold/--no-threshold", help="Joint: a threshold by tags and length of an arc, or 0."),
    ] = None,
    rules: Annotated[bool | None, typer.Option("--rules", help="Also roles that all words of a tag have.")] = None,
    quadratic: Annotated[bool | None, typer.Option("--quadratic", help="Also a classifier of single arcs.")] = None,
    features: Annotated[
        str | None, typer.Option("--features", metavar="SET", help="Feature set: a name, or a file (.txt).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the order of examples.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Train an arc filter, for 'treetune train --filter OUT' or to be attached to a trained parser."""
    check_target(model)
    check_kept(model, (treebank, dev), flag="--model")
    joint = {"--keep-cost": keep_cost, "--remove-cost": remove_cost, "--threshold": threshold}
    of_joint = [flag for flag, value in joint.items() if value is not None]
    if kind == "independent" and of_joint:
        raise ConfigError(f"{of_joint[0]} is for joint filters, and --kind is independent; leave one of the two out")
    from treetune.filters.arc_filter import ArcFilter

    arc_filter = ArcFilter(
        **given(
            kind=kind, keep_cost=keep_cost, remove_cost=remove_cost, vine=vine, threshold=threshold, rules=rules,
            quadratic=quadratic, features=features,
        )
    )  # fmt: skip
    say = partial(note, quiet=quiet)
    examples = read_data(treebank, lenient=False, say=say)
    held_out = [] if dev is None else read_data(dev, lenient=False, say=say)
    arc_filter.fit(examples, held_out, seed=seed)
    info = {"train": fingerprint(treebank), **({} if dev is None else {"dev": fingerprint(dev)})}
    if held_out:
        scores = arc_filter.evaluate(held_out)
        info["scores"] = {"coverage": scores.coverage, "reduction": scores.reduction}
        say(f"{dev}: coverage {100 * scores.coverage:.2f}, reduction {100 * scores.reduction:.1f}")
    save(arc_filter, model, info)
    say(f"wrote {model}")


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="An arc filter, or a graph parser with one.")],
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Gold trees.")],
    json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say which part of the arcs of gold trees a filter keeps (coverage), and of all arcs removes (reduction)."""
    found = load(model)
    parser = getattr(found, "parser", None) or found
    arc_filter = found if found.kind == "filter" else getattr(parser, "filter", None)
    if arc_filter is None:
        raise ConfigError(f"{model} has no arc filter; name a filter, or a graph parser that was trained with one")
    examples = read_data(gold, lenient=False, say=note)
    if not examples:
        raise DataError(f"{gold}: expected at least one tree to score, found none")
    scores = arc_filter.evaluate(examples)
    results = {"coverage": 100 * scores.coverage, "reduction": 100 * scores.reduction, "seconds": scores.seconds}
    if json:
        write_json({**results, "counts": asdict(scores)})
        return
    for name, value in results.items():
        write(f"{name:<9} {value:6.2f}")
    note(f"{scores.gold:,} words, {scores.sentences:,} sentences; {scores.kept:,} of {scores.arcs:,} arcs are kept")


filter = typer.Typer(  # noqa: A001 - the name of the command
    name="filter",
    help="Arc filters: which arcs of a sentence a graph parser considers.",
    epilog=EXIT_CODES,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
for command in (train, evaluate):
    filter.command(epilog=EXIT_CODES)(command)
