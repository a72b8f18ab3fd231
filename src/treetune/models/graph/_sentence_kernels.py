"""Kernels that parse sentences: all scores of one, then the search; the features and scores of given trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, part
from treetune.filters._kernels import Filter, filter_sentence
from treetune.models.graph import _kernels as search
from treetune.models.graph._arc_kernels import (
    ARC_OUTPUT,
    GRANDPARENT,
    NO_LABEL,
    SIBLING,
    Templates,
    add_between,
    add_labels,
    arc_kind,
    collect_arc,
    collect_grandparent,
    collect_siblings,
    fill_parts,
    find_family,
    label_tree,
    pair_features,
    score_arcs,
    sum_labels,
    tree_label_features,
    write_pairs,
)
from treetune.models.graph._sibling_kernels import Siblings, open_triples
from treetune.models.graph._third_order_kernels import ArcLists, Grandparents
from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as rows


class ProjectiveLists(NamedTuple):
    """Working memory for several projective trees; see `_kernels`."""

    chart: search.Chart
    lists: search.Lists


class SpanningLists(NamedTuple):
    """Working memory for several trees with crossing arcs; see `_kernels`."""

    contraction: search.Contraction
    partition: search.Partition


class Options(NamedTuple):
    """What a parser does: its order, whether arcs may cross, whether labels are scored with arcs.

    `second_order` is for siblings, so it holds for the third order too.
    """

    second_order: bool
    third_order: bool
    crossing: bool
    joint: bool


class Weights(NamedTuple):
    """Weights of arcs and of labels, and what one unit of each is worth."""

    arcs: flat.FlatStore
    labels: rows.Store
    units: NDArray[np.float64]


class SearchSetup(NamedTuple):
    """Everything a search needs that is the same for all sentences; `masks` say which labels an arc may bear.

    A `filter` without rows lets all arcs pass.
    """

    templates: Templates
    weights: Weights
    options: Options
    masks: NDArray[np.bool_]
    filter: Filter


class Charts(NamedTuple):
    """Working memory of the search that the options ask for; None for what it does not need.

    `chart` is for the best projective tree, `lists` for several, `arcs` for either of third order, `contraction` and
    `partition` for trees with crossing arcs, `climb` for changing projective trees into such.
    """

    chart: search.Chart | None
    lists: ProjectiveLists | None
    arcs: ArcLists | None
    contraction: search.Contraction | None
    partition: SpanningLists | None
    climb: search.Contraction | None


class SearchResult(NamedTuple):
    """The best trees of each sentence: heads and labels rank by token, scores and numbers of trees by sentence."""

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    scores: NDArray[np.float64]
    counts: NDArray[np.int64]


@inner
def allow_arcs(setup, sentences, base, n, is_filtered, work):  # type: ignore[no-untyped-def]
    """Write which arcs of a sentence may be considered: those that the filter keeps, or all."""
    size = np.uint64(n + 1)
    if is_filtered:
        filter_sentence(setup.filter, sentences.filter_columns, base, n, work.filtering, work.allowed)
        return
    for i in range(size * size):
        work.allowed[i] = np.uint8(1)
    for token in range(size):
        work.allowed[token * size] = np.uint8(0)
        work.allowed[token * size + token] = np.uint8(0)


@inner
def allow_fixed(n, masks, fixed_heads, fixed_labels, work):  # type: ignore[no-untyped-def]
    """Let the arcs pass that are fixed, or that a fixed label of the root asks for."""
    size = np.uint64(n + 1)
    for dependent in range(np.uint64(1), size):
        head, label = np.int64(fixed_heads[dependent]), np.int64(fixed_labels[dependent])
        if head >= 0:
            work.allowed[np.uint64(head) * size + dependent] = np.uint8(1)
        elif label >= 0 and not masks[np.uint64(1), np.uint64(0), np.uint64(label)]:
            work.allowed[dependent] = np.uint8(1)


@inner
def score_sentence(setup, sentences, base, n, base_heads, fixed_labels, has_gold, cost, work):  # type: ignore[no-untyped-def]
    """Write the scores of all allowed arcs and labels of a sentence, and get ready for those of siblings."""
    templates, weights, options = setup.templates, setup.weights, setup.options
    fill_parts(templates, sentences.columns, base, n, base_heads, work)
    score_arcs(templates, weights.arcs, base_heads, n, work)
    add_between(templates, weights.arcs, n, work)
    size = np.uint64(n + 1)
    unit = weights.units[0]
    if unit != 1.0:
        for i in range(size * size):
            work.scores[i] *= unit
    open_triples(templates, n, work, SIBLING, work.sibling_layout, work.sibling_classes, work.memo)
    if options.joint:
        tags = sentences.tags[base : base + n + 1]
        add_labels(setup, base_heads, n, tags, fixed_labels, has_gold, cost, work)


@inner
def forbid_arcs(n, masks, fixed_heads, fixed_labels, work):  # type: ignore[no-untyped-def]
    """Forbid whatever goes against what is fixed; a fixed label without a head may say where its arc comes from."""
    size = np.uint64(n + 1)
    for dependent in range(np.uint64(1), size):
        head, label = np.int64(fixed_heads[dependent]), np.int64(fixed_labels[dependent])
        for other in range(size):
            allowed = np.uint64(other != np.uint64(0))
            if head >= 0:
                forbidden = np.int64(other) != head
            else:
                forbidden = label >= 0 and not masks[allowed, np.uint64(0), np.uint64(label)]
            if forbidden:
                work.scores[other * size + dependent] = -np.inf


@part
def siblings_of(setup, n, work):  # type: ignore[no-untyped-def]
    """Return the scores of the siblings of a sentence whose other scores are made."""
    return Siblings(
        work.sibling_layout, work.sibling_classes, work.memo, work.sibling_rows, work.thirds, n + 1, work.parts,
        setup.templates.extra, work.batch_features, work.batch_targets, work.batch_indices, setup.weights.arcs,
        setup.weights.units[0],
    )  # fmt: skip


@part
def grandparents_of(setup, n, work, arcs):  # type: ignore[no-untyped-def]
    """Return the scores of the grandparents of such a sentence, and room for its arcs; None if there is none."""
    if arcs is None:
        return None
    half = work.grand_memo.shape[0] // 2
    left, right = work.grand_memo[:half], work.grand_memo[half:]
    # Either side has scores of its own, by the same classes of words.
    open_triples(setup.templates, n, work, GRANDPARENT, work.grand_layout, work.grand_classes, left)
    open_triples(setup.templates, n, work, GRANDPARENT, work.grand_layout, work.grand_classes, right)
    return Grandparents(
        arcs,
        Siblings(
            work.grand_layout, work.grand_classes, left, work.sibling_rows, work.thirds, n + 1, work.parts,
            setup.templates.extra, work.batch_features, work.batch_targets, work.batch_indices, setup.weights.arcs,
            setup.weights.units[0],
        ),
        Siblings(
            work.grand_layout, work.grand_classes, right, work.sibling_rows, work.thirds, n + 1, work.parts,
            setup.templates.extra[2:], work.batch_features, work.batch_targets, work.batch_indices, setup.weights.arcs,
            setup.weights.units[0],
        ),
    )  # fmt: skip


@part
def search_trees(siblings, third, n, k, work, chart, lists, contraction, partition, climb, heads, out):  # type: ignore[no-untyped-def]
    """Write up to k different trees, best first, to `heads` (k rows of n + 1) and their scores; return how many.

    The working memory that a kind of search does not need is None, so that it is not even compiled: `chart` for
    the best projective tree, `lists` for several, `contraction` and `partition` for trees with crossing arcs,
    `climb` for changing projective trees into such.
    """
    size = n + 1
    scores = work.scores[: size * size].reshape(size, size)
    count = 0
    if chart is not None:
        count = search.best_projective(scores, siblings, third, chart, heads, out)
    if lists is not None:
        count = search.k_best_projective(scores, siblings, third, lists.chart, lists.lists, heads, out)
    if contraction is not None:
        count = search.best_spanning(scores, contraction, heads, out)
    if partition is not None:
        count = search.k_best_spanning(scores, partition.contraction, partition.partition, heads, out)
    if climb is not None:
        count = rearrange_all(scores, siblings, work, climb, count, heads, out)
    return count


@part
def rearrange_all(scores, siblings, work, contraction, count, heads, out):  # type: ignore[no-untyped-def]
    """Improve `count` projective trees by letting arcs cross; return how many different ones come out."""
    size = scores.shape[0]
    if count == 0:
        # What is fixed may cross: climb from the best tree by arcs alone.
        count = search.best_spanning(scores, contraction, heads, out)
    kept = 0
    for rank in range(count):
        for token in range(size):
            heads[kept, token] = heads[rank, token]
        if (
            search.rearrange(scores, siblings, contraction, work.marks, heads[kept : kept + 1], out[kept : kept + 1])
            == 0
        ):
            continue
        is_new = True
        for other in range(kept):
            differing = 0
            for token in range(size):
                differing += heads[other, token] != heads[kept, token]
            is_new &= differing > 0
        kept += is_new
    search.sort_trees(heads, out, kept)
    return kept


@entry
def parse_range(setup, sentences, work, charts, first, last, k, result):  # type: ignore[no-untyped-def]
    """Parse sentences [first, last): up to `k` best trees of each.

    `sentences.fixed` are the constraints: two rows over tokens, heads and labels (-1: free), or empty.
    """
    masks, fixed, all_base_heads = setup.masks, sentences.fixed, sentences.base_heads
    for sentence in range(first, last):
        base, end = sentences.offsets[sentence], sentences.offsets[sentence + 1]
        n = end - base - 1
        if n == 0:
            result.counts[sentence] = 1
            result.scores[sentence, 0] = 0.0
            continue
        base_heads = all_base_heads[base:end] if all_base_heads.shape[0] > 0 else all_base_heads
        is_fixed = fixed.shape[1] > 0
        fixed_labels = fixed[1, base:end] if is_fixed else fixed[1]
        size = n + 1
        heads = work.heads[: k * size].reshape(k, size)
        count = 0
        is_filtered = setup.filter.rows.shape[0] > 0
        # Without a tree of the arcs that are left, all come back.
        for attempt in range(2 if is_filtered else 1):
            if count != 0:
                break
            allow_arcs(setup, sentences, base, n, is_filtered and attempt == 0, work)
            if is_fixed:
                allow_fixed(n, masks, fixed[0, base:end], fixed_labels, work)
            score_sentence(setup, sentences, base, n, base_heads, fixed_labels, False, 0.0, work)
            if is_fixed:
                forbid_arcs(n, masks, fixed[0, base:end], fixed_labels, work)
            count = search_trees(
                siblings_of(setup, n, work), grandparents_of(setup, n, work, charts.arcs), n, k, work, charts.chart,
                charts.lists, charts.contraction, charts.partition, charts.climb, heads, work.out[:k],
            )  # fmt: skip
        result.counts[sentence] = count
        for rank in range(count):
            for token in range(size):
                result.heads[rank, base + token] = heads[rank, token]
            result.scores[sentence, rank] = work.out[rank]
            labels = result.labels[rank, base:end]
            labels[0] = NO_LABEL
            if setup.options.joint:
                for dependent in range(1, size):
                    labels[dependent] = work.best_labels[heads[rank, dependent] * size + dependent]
            else:
                label_tree(
                    setup.templates, setup.weights.labels, base_heads, n, masks, sentences.tags[base:end],
                    fixed_labels, heads[rank], labels, work,
                )  # fmt: skip


@entry
def collect_tree(setup, sentences, n, heads, labels, work, features, outputs):  # type: ignore[no-untyped-def]
    """Write all (feature, output) pairs of a tree of the only sentence; return their number."""
    templates, options, base_heads = setup.templates, setup.options, sentences.base_heads
    fill_parts(templates, sentences.columns, 0, n, base_heads, work)
    find_family(n, heads, work)
    count = np.uint64(0)
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        head, label = np.uint64(heads[dependent]), labels[dependent]
        count = collect_arc(
            templates, options.joint, base_heads, head, dependent, label, work, features, outputs, count
        )  # fmt: skip
        if options.second_order:
            third = np.uint64(work.family[0, dependent])
            count = collect_siblings(templates, head, dependent, third, work, features, outputs, count)
        if options.third_order and heads[dependent] > 0:
            grand = np.uint64(heads[head])
            count = collect_grandparent(templates, head, dependent, grand, work, features, outputs, count)
        if not options.joint:
            many = tree_label_features(templates, base_heads, n, heads, dependent, work)
            count = write_pairs(features, outputs, count, many, np.uint16(label), work.features)
    return np.int64(count)


@entry
def sum_pairs(weights, features, outputs, count):  # type: ignore[no-untyped-def]
    """Return the summed weights of (feature, output) pairs: of arcs, and of labels."""
    arcs, labels = 0.0, 0.0
    for i in range(np.uint64(count)):
        if outputs[i] == ARC_OUTPUT:
            index = flat.find_entry(weights.arcs.keys, weights.arcs.mask[0], features[i])
            if index != flat.NOWHERE:
                arcs += weights.arcs.values[np.uint64(index)]
        else:
            labels += rows.weight_of(weights.labels, features[i], outputs[i])
    return arcs, labels


@entry
def score_labels_of(setup, sentences, n, heads, work, scores):  # type: ignore[no-untyped-def]
    """Write the scores of all labels of each word of the only sentence under its head; -inf for those not allowed."""
    templates, weights, masks = setup.templates, setup.weights, setup.masks
    base_heads, tags = sentences.base_heads, sentences.tags
    fill_parts(templates, sentences.columns, 0, n, base_heads, work)
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        head = np.uint64(heads[dependent])
        kind = arc_kind(base_heads, head, dependent)
        pair_features(templates, work.parts, head, dependent, kind, first, last, work.features)
        sum_labels(weights.labels, work.features, last - first, work.indices, work.sums)
        for label in range(np.uint64(masks.shape[2])):
            may = masks[np.uint64(head != np.uint64(0)), np.uint64(tags[dependent]), label]
            scores[dependent - np.uint64(1), label] = (
                np.float64(work.sums[label]) * weights.units[1] if may else -np.inf
            )
