"""Feature templates of arcs, labels, words between, siblings and grandparents, compiled for the kernels.

The first word of a group's name says what its templates are of: ``[arc …]``, ``[label …]``, ``[between …]``,
``[sibling …]`` or ``[grandparent …]``. Addresses: ``H`` the head, ``D`` the dependent, both with neighbours such as
``H+1`` or ``D-2``; ``D<`` and ``D>`` (of the others too) the nearest word to the left or right that is not
transparent: whatever is no part of a noun phrase, so that ``D<.w`` is often the preposition or conjunction that
marks D; ``D^`` the head that the base parser gave to D; ``B`` a word between; ``S`` the nearest sibling towards the
head; ``G`` the head's head, also for labels given in a second stage, which may look at ``Dl`` and ``Dr`` the
dependent's first and last child. ``A`` is the arc itself: ``A.dir``, ``A.dist`` (signed, in buckets) and ``A.base``
(whether the base tree has it, has its reverse, or neither). With grandparents ``A.dir`` also says on which side of
the head its own head is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from treetune.errors import ConfigError, unknown_name
from treetune.features.encoding import FIRST_ID
from treetune.features.templates import Template, TemplateSet, reads_base_tree, seed_of
from treetune.models.graph import _arc_kernels as kernels

ARC, LABEL, BETWEEN, SIBLING, GRANDPARENT = "arc", "label", "between", "sibling", "grandparent"
ADDRESSES_OF_GROUP = {
    ARC: ("H", "D", "A"),
    LABEL: ("H", "D", "A", "S", "G", "Dl", "Dr"),
    BETWEEN: ("H", "D", "B", "A"),
    SIBLING: ("H", "D", "S", "A"),
    GRANDPARENT: ("H", "D", "G", "A"),
}
TRIPLES = {BETWEEN: kernels.BETWEEN, SIBLING: kernels.SIBLING, GRANDPARENT: kernels.GRANDPARENT}
ADDRESSES = {
    "H": kernels.HEAD,
    "D": kernels.DEPENDENT,
    "B": kernels.THIRD,
    "S": kernels.THIRD,
    "G": kernels.GRAND,
    "Dl": kernels.FIRST_CHILD,
    "Dr": kernels.LAST_CHILD,
}
ARC_VALUES = ("dist", "dir", "base")
TRIPLE_VALUES = ("dir",)
# Coarse tags that a search for the word that marks another sees through.
TRANSPARENT = ("ADJ", "ADV", "AUX", "DET", "INTJ", "NOUN", "NUM", "PRON", "PROPN", "SYM", "X")
COARSE = "u"
_ATOM = re.compile(r"(?P<address>[A-Z][lr]?)(?P<shift>[+-]\d|[<>^])?\.(?P<value>\w+)")
_MARKS = {"<": kernels.LEFT_MARK, ">": kernels.RIGHT_MARK}
_BOTH, _HEAD, _DEPENDENT = range(3)
_SPECIAL = {**_MARKS, "^": kernels.BASE_HEAD}


def kind_of_group(name: str) -> str:
    """Return what the templates of a group are of."""
    kind = name.split()[0] if name.split() else name
    if kind not in ADDRESSES_OF_GROUP:
        raise unknown_name("kind of feature group", kind, ADDRESSES_OF_GROUP)
    return kind


def needed(templates: TemplateSet, *, order: int, joint: bool) -> TemplateSet:
    """Return the templates that a parser of that order uses; joint labels cannot look at the rest of the tree."""
    groups, names = [], []
    for group, name in zip(templates.groups, templates.names, strict=True):
        kind = kind_of_group(name)
        if (kind == SIBLING and order < 2) or (kind == GRANDPARENT and order < 3):
            continue
        kept = group
        if kind == LABEL and joint:
            kept = tuple(template for template in group if all(_place(atom) in ("H", "D", "A") for atom in template))
        if kept:
            groups.append(kept)
            names.append(name)
    return TemplateSet(tuple(groups), tuple(names))


def columns_of(templates: TemplateSet) -> list[str]:
    """Return the columns of words that templates look at."""
    atoms = {atom for group in templates.groups for template in group for atom in template}
    marked = {COARSE} if any(_is_mark(atom) for atom in atoms) else set()
    return sorted(({atom.partition(".")[2] for atom in atoms} | marked) - set(ARC_VALUES))


def adapted(templates: TemplateSet, columns: Sequence[str], *, stacked: bool) -> TemplateSet:
    """Return the templates for a treebank that has only `columns`, with or without base trees.

    Templates that look at base trees or marks are dropped whole where there are none (marks need coarse tags);
    of the others, atoms of absent columns are dropped, kind by kind.
    """

    def is_absent(atom: str) -> bool:
        return (not stacked and reads_base_tree(atom)) or (COARSE not in columns and _is_mark(atom))

    fitting = templates.without(is_absent)
    groups: list[tuple[Template, ...]] = []
    names: list[str] = []
    for kind in ADDRESSES_OF_GROUP:
        of_kind = [
            (group, name)
            for group, name in zip(fitting.groups, fitting.names, strict=True)
            if kind_of_group(name) == kind
        ]
        kept = TemplateSet(tuple(group for group, _ in of_kind), tuple(name for _, name in of_kind))
        kept = kept.adapt(columns, ARC_VALUES)
        groups += kept.groups
        names += kept.names
    return TemplateSet(tuple(groups), tuple(names))


def _is_mark(atom: str) -> bool:
    return atom.partition(".")[0][-1:] in _MARKS


def compile_templates(
    templates: TemplateSet, columns: Sequence[str], coarse_tags: Sequence[str] = ()
) -> kernels.Templates:
    """Turn templates into the arrays that the kernels read: arcs first, then labels, then groups of triples.

    Seeds come from the names of atoms and templates, so a feature has the same number in every model.
    `coarse_tags` are the values of the column of coarse tags, in the order of their numbers.
    """
    by_kind: dict[str, list[tuple[Template, ...]]] = {kind: [] for kind in ADDRESSES_OF_GROUP}
    for group, name in zip(templates.groups, templates.names, strict=True):
        by_kind[kind_of_group(name)].append(group)
    ordered: list[tuple[str, Template]] = []
    bounds, triples = [], []
    of_arcs = [template for group in by_kind[ARC] for template in group]
    by_kind[ARC] = [tuple(sorted(of_arcs, key=_looks_at))]
    alone = [sum(_looks_at(template) <= words for template in of_arcs) for words in (_BOTH, _HEAD)]
    for kind in (ARC, LABEL):
        ordered += [(kind, template) for group in by_kind[kind] for template in group]
        bounds.append(len(ordered))
    for kind, number in TRIPLES.items():
        for group in by_kind[kind]:
            triples.append((len(ordered), len(ordered) + len(group), number))
            ordered += [(kind, template) for template in group]
    starts, atoms = [0], []
    extra = np.zeros((kernels.KINDS + kernels.DIRECTIONS, len(ordered)), np.uint64)
    for number, (kind, template) in enumerate(ordered):
        extra[:, number] = seed_of(f"{kind} {' '.join(template)}")
        for atom in template:
            address, shift, value = _checked(atom, kind, columns)
            if address == "A":
                extra[:, number] += _of_arc(value, seed_of(atom))
            else:
                place = kernels.THIRD if kind == GRANDPARENT and address == "G" else ADDRESSES[address]
                atoms.append((place, shift, list(columns).index(value), seed_of(atom)))
        starts.append(len(atoms))
    addresses, shifts, numbers, seeds = zip(*atoms, strict=True) if atoms else ((), (), (), ())
    firsts, lasts, kinds = zip(*triples, strict=True) if triples else ((), (), ())
    return kernels.Templates(
        starts=np.array(starts, np.int32),
        atom_address=np.array(addresses, np.int32),
        atom_shift=np.array(shifts, np.int32),
        atom_column=np.array(numbers, np.int32),
        atom_seed=np.array(seeds, np.uint64),
        extra=extra,
        bounds=np.array(bounds, np.int64),
        alone=np.array(alone, np.int64),
        group_first=np.array(firsts, np.int64),
        group_last=np.array(lasts, np.int64),
        group_kind=np.array(kinds, np.int64),
        coarse_column=np.array([list(columns).index(COARSE) if COARSE in columns else -1], np.int64),
        transparent=np.array([False] * FIRST_ID + [tag in TRANSPARENT for tag in coarse_tags], np.bool_),
    )


def _looks_at(template: Template) -> int:
    """Say which words of an arc a template looks at; one that looks at neither goes with the head."""
    addresses = {_place(atom) for atom in template}
    return _BOTH if {"H", "D"} <= addresses else _DEPENDENT if "D" in addresses else _HEAD


def _place(atom: str) -> str:
    match = _ATOM.fullmatch(atom)
    return match["address"] if match else atom


def _checked(atom: str, kind: str, columns: Sequence[str]) -> tuple[str, int, str]:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise ConfigError(f"feature template atom {atom!r}: expected PLACE.VALUE such as H.w, D-1.t or A.dist")
    address, value = match["address"], match["value"]
    shift = _SPECIAL[match["shift"]] if match["shift"] in _SPECIAL else int(match["shift"] or 0)
    if address not in ADDRESSES_OF_GROUP[kind]:
        raise unknown_name(f"address in a template of [{kind}]", address, ADDRESSES_OF_GROUP[kind])
    if address == "A":
        known: Sequence[str] = ARC_VALUES if kind in (ARC, LABEL) else TRIPLE_VALUES
        if value not in known or shift:
            raise unknown_name(f"value of the arc in a template of [{kind}]", f"{value}{shift or ''}", known)
    elif value not in columns:
        raise unknown_name("value in a feature template", value, columns)
    return address, shift, value


def _of_arc(value: str, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return what an atom of the arc adds to features, for every kind of arc."""
    numbers = []
    for kind in range(kernels.KINDS):
        distance, relation = divmod(kind, kernels.BASE_RELATIONS)
        middle = kernels.DISTANCES // 2
        direction = 2 if distance == middle else int(distance > middle)
        numbers.append({"dist": distance, "dir": direction, "base": relation}[value])
    numbers += range(kernels.DIRECTIONS)
    return np.array([_mix(number + seed) for number in numbers], np.uint64)


def _mix(value: int) -> int:
    """The hash of `features._kernels.mix`, for plain numbers."""
    bits = 2**64 - 1
    value &= bits
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & bits
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & bits
    return value ^ (value >> 31)
