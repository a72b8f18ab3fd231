"""Templates of token roles, compiled for the kernels: atoms such as ``W-1.t``, a column of a word at a shift."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from treetune.errors import ConfigError, unknown_name
from treetune.features.templates import TemplateSet, seed_of
from treetune.filters._kernels import TokenTemplates

FAMILY = "filter"
_ATOM = re.compile(r"W(?P<shift>[+-]\d)?\.(?P<column>\w+)")


def compile_templates(templates: TemplateSet, columns: Sequence[str]) -> TokenTemplates:
    """Turn templates into arrays; seeds come from names, so a feature has the same number in every filter."""
    every = [template for group in templates.groups for template in group]
    starts, atoms = [0], []
    for template in every:
        atoms += [(*_position(atom, columns), seed_of(atom)) for atom in template]
        starts.append(len(atoms))
    shifts, numbers, seeds = zip(*atoms, strict=True) if atoms else ((), (), ())
    return TokenTemplates(
        starts=np.array(starts, np.int32),
        shift=np.array(shifts, np.int32),
        column=np.array(numbers, np.int32),
        seed=np.array(seeds, np.uint64),
        template_seed=np.array([seed_of(f"role {' '.join(template)}") for template in every], np.uint64),
    )


def _position(atom: str, columns: Sequence[str]) -> tuple[int, int]:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise ConfigError(f"feature template atom {atom!r}: expected W.VALUE with a shift, such as W.w or W-1.t")
    if match["column"] not in columns:
        raise unknown_name("value in a feature template", match["column"], columns)
    return int(match["shift"] or 0), list(columns).index(match["column"])
