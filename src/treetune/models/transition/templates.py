"""Feature templates and label tables of the arc-eager system, compiled for the kernels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from treetune.errors import ConfigError, unknown_name
from treetune.features.encoding import Encoder
from treetune.features.templates import TemplateSet, seed_of
from treetune.models.labels import LabelTable
from treetune.models.transition import _kernels as kernels

STATE_VALUES = {
    "label": kernels.A_LABEL,
    "vl": kernels.A_LEFT_COUNT,
    "vr": kernels.A_RIGHT_COUNT,
    "sl": kernels.A_LEFT_SET,
    "sr": kernels.A_RIGHT_SET,
    "dist": kernels.A_DISTANCE,
    "base": kernels.A_BASE,
}
# Values that only some addresses have.
ADDRESSES_OF_VALUE = {
    "vl": ("S0", "N0"),
    "sl": ("S0", "N0"),
    "vr": ("S0",),
    "sr": ("S0",),
    "dist": ("S0",),
    "base": ("S0",),
}

PARTS_OF_TOP = {
    kernels.A_LEFT_COUNT: kernels.PART_LEFT_COUNT,
    kernels.A_RIGHT_COUNT: kernels.PART_RIGHT_COUNT,
    kernels.A_LEFT_SET: kernels.PART_LEFT_SET,
    kernels.A_RIGHT_SET: kernels.PART_RIGHT_SET,
}
PARTS_OF_FRONT = {
    kernels.A_LEFT_COUNT: kernels.PART_FRONT_COUNT,
    kernels.A_LEFT_SET: kernels.PART_FRONT_SET,
}


def outputs(labels: LabelTable) -> int:
    """Return the number of transitions: SHIFT, REDUCE, and LEFT and RIGHT for each label."""
    return 2 + 2 * len(labels)


def label_masks(labels: LabelTable, encoder: Encoder) -> kernels.Labels:
    """Return the table of labels as the kernels read it."""
    masks = labels.masks(encoder)
    rows = np.concatenate([masks[0, :1], masks[1]])
    # What is allowed comes first, in order.
    lists = np.argsort(~rows, axis=1, kind="stable").astype(np.int32)
    return kernels.Labels(masks[0, 0], masks[1], lists, rows.sum(axis=1).astype(np.int32))


def compile_templates(templates: TemplateSet, columns: Sequence[str]) -> kernels.Templates:
    """Turn templates into the arrays that the kernels read.

    Seeds come from the names of atoms and templates, so a feature has the same number in every model.
    """
    atoms: dict[str, int] = {}
    starts, template_atoms, seeds = [0], [], []
    group_starts, group_atom_starts, group_atoms = [0], [0], []
    for group in templates.groups:
        used: list[int] = []
        for template in group:
            for atom in template:
                number = atoms.setdefault(atom, len(atoms))
                template_atoms.append(number)
                if number not in used:
                    used.append(number)
            starts.append(len(template_atoms))
            seeds.append(seed_of(" ".join(template)))
        group_starts.append(len(seeds))
        group_atoms.extend(used)
        group_atom_starts.append(len(group_atoms))
    addresses = [_address_and_value(atom, columns) for atom in atoms]
    group_parts, group_part_starts = [], [0]
    for first, last in itertools.pairwise(group_atom_starts):
        group_parts.extend(sorted({part for atom in group_atoms[first:last] for part in _parts(*addresses[atom])}))
        group_part_starts.append(len(group_parts))
    return kernels.Templates(
        atom_address=np.array([address for address, _ in addresses], np.int32),
        atom_column=np.array([value for _, value in addresses], np.int32),
        atom_seed=np.array([seed_of(atom) for atom in atoms], np.uint64),
        starts=np.array(starts, np.int32),
        atoms=np.array(template_atoms, np.int32),
        seeds=np.array(seeds, np.uint64),
        group_first=np.array([*group_starts[:-1], 0], np.int32),
        group_last=np.array([*group_starts[1:], len(seeds)], np.int32),
        group_atom_starts=np.array([*group_atom_starts, len(group_atoms) + len(atoms)], np.int32),
        group_atoms=np.array([*group_atoms, *range(len(atoms))], np.int32),
        group_part_starts=np.array(group_part_starts, np.int32),
        group_parts=np.array(group_parts, np.int32),
        part_seed=np.array([seed_of(f"part {number}") | 1 for number in range(kernels.PARTS)], np.uint64),
    )


def _parts(address: int, value: int) -> list[int]:
    """Return the parts of a state that an atom depends on."""
    top, front = kernels.ADDRESSES.index("S0"), kernels.ADDRESSES.index("N0")
    if value == kernels.A_LABEL:
        return [kernels.PART_LABELS + address]
    if value in (kernels.A_DISTANCE, kernels.A_BASE):
        return [top, front]
    if address == front and value in PARTS_OF_FRONT:
        return [PARTS_OF_FRONT[value]]
    if value in PARTS_OF_TOP:
        return [PARTS_OF_TOP[value]]
    # The words further ahead follow from the first.
    return [
        front if kernels.ADDRESSES[address].startswith("N") and kernels.ADDRESSES[address][1:].isdigit() else address
    ]


def _address_and_value(atom: str, columns: Sequence[str]) -> tuple[int, int]:
    address, _, value = atom.partition(".")
    if address not in kernels.ADDRESSES:
        raise unknown_name("address in a feature template", address, kernels.ADDRESSES)
    if value in columns:
        return kernels.ADDRESSES.index(address), list(columns).index(value)
    if value not in STATE_VALUES:
        raise unknown_name("value in a feature template", value, [*columns, *STATE_VALUES])
    if address not in ADDRESSES_OF_VALUE.get(value, (address,)):
        raise ConfigError(
            f"feature template atom {atom!r}: {value!r} is known of {' and '.join(ADDRESSES_OF_VALUE[value])} only"
        )
    return kernels.ADDRESSES.index(address), STATE_VALUES[value]
