"""Templates of the tokenizer as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treetune.errors import unknown_name
from treetune.features.templates import TemplateSet, seed_of
from treetune.models.tokenizer._kernels import Templates, Workspace


def compile_templates(templates: TemplateSet, known: Sequence[str]) -> Templates:
    """Turn templates into arrays; an atom that is not in `known` is a ConfigError.

    Seeds come from the names of atoms and templates, so a feature has the same number in every model.
    """
    atoms: dict[str, int] = {}
    starts, indices, seeds = [0], [], []
    for template in (template for group in templates.groups for template in group):
        for atom in template:
            if atom not in known:
                raise unknown_name("atom in a feature template", atom, known)
            indices.append(atoms.setdefault(atom, len(atoms)))
        starts.append(len(indices))
        seeds.append(seed_of(" ".join(template)))
    return Templates(
        used=np.array([known.index(atom) for atom in atoms], np.int32),
        atom_seeds=np.array([seed_of(atom) for atom in atoms], np.uint64),
        starts=np.array(starts, np.int32),
        atoms=np.array(indices, np.int32),
        seeds=np.array(seeds, np.uint64),
    )


def make_workspace(templates: Templates, known: Sequence[str]) -> Workspace:
    """Return working memory for one thread."""
    return Workspace(
        values=np.zeros(len(known), np.uint64),
        hashed=np.zeros(len(templates.used), np.uint64),
        features=np.zeros(len(templates.seeds), np.uint64),
        asked=np.zeros(len(templates.seeds), np.uint64),
        indices=np.zeros(len(templates.seeds), np.int64),
    )
