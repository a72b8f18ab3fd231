"""Templates of sequence models: which there are, and the arrays that the kernels read.

An atom is ``W-1.lower``, a column of a word at a shift from the one to be tagged (``W.w`` is that word itself), or a
tag before it: ``T-1.tag``, ``T-2.tag``. A template with ``T-2.tag`` is for models of second order. Beside the columns
of the encoder there is ``class``: the tags that a frequent word has most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from treetune.errors import ConfigError, unknown_name
from treetune.features.templates import Template, TemplateSet, seed_of
from treetune.models.sequence import _kernels as kernels

TAG, CLASS = "tag", "class"
LAST_TAG, TAG_BEFORE = "T-1.tag", "T-2.tag"
TAG_ATOMS = (LAST_TAG, TAG_BEFORE)
_ATOM = re.compile(r"W(?P<shift>[+-]\d+)?\.(?P<column>\w+)")


def needed(templates: TemplateSet, order: int) -> TemplateSet:
    """Return the templates that a model of that order uses."""
    return templates if order == 2 else templates.without(lambda atom: atom == TAG_BEFORE)


def columns_of(templates: TemplateSet) -> list[str]:
    """Return the columns of words that templates look at."""
    atoms = {atom for group in templates.groups for template in group for atom in template}
    return sorted({atom.partition(".")[2] for atom in atoms - set(TAG_ATOMS)} - {CLASS})


def compile_templates(templates: TemplateSet, columns: Sequence[str]) -> kernels.Templates:
    """Turn templates into arrays: those of words alone first, those that look furthest back last.

    Seeds come from the names of atoms and templates, so a feature has the same number in every model.
    """
    every = [template for group in templates.groups for template in group]
    parts: list[list[Template]] = [[], [], []]
    for template in every:
        parts[2 if TAG_BEFORE in template else int(LAST_TAG in template)].append(template)
    # The atoms of templates with tags come first: where a word can have one tag only, no others are looked at.
    atoms: dict[str, int] = {}
    for template in (*parts[1], *parts[2], *parts[0]):
        for atom in template:
            if atom not in TAG_ATOMS:
                atoms.setdefault(atom, len(atoms))
    of_chain = {atom for part in parts[1:] for template in part for atom in template} - set(TAG_ATOMS)
    ordered = [template for part in parts for template in part]
    starts, used = [0], []
    for template in ordered:
        used += [atoms[atom] for atom in template if atom not in TAG_ATOMS]
        starts.append(len(used))
    positions = [_position(atom, columns) for atom in atoms]
    return kernels.Templates(
        atom_column=np.array([column for _, column in positions], np.int32),
        atom_shift=np.array([shift for shift, _ in positions], np.int32),
        atom_seed=np.array([seed_of(atom) for atom in atoms], np.uint64),
        starts=np.array(starts, np.int32),
        atoms=np.array(used, np.int32),
        seeds=np.array([seed_of(" ".join(template)) for template in ordered], np.uint64),
        looks=np.array([[atom in template for atom in TAG_ATOMS] for template in ordered], np.uint64).reshape(-1, 2),
        tag_seeds=np.array([seed_of(atom) for atom in TAG_ATOMS], np.uint64),
        bounds=np.array([*np.cumsum([len(part) for part in parts]), len(of_chain)], np.int64),
    )


def _position(atom: str, columns: Sequence[str]) -> tuple[int, int]:
    """Return the shift and the number of the column of an atom."""
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise ConfigError(
            f"feature template atom {atom!r}: expected a word such as W.w or W-1.lower, or {LAST_TAG} or {TAG_BEFORE}"
        )
    if match["column"] not in columns:
        raise unknown_name("value in a feature template", match["column"], columns)
    return int(match["shift"] or 0), list(columns).index(match["column"])
