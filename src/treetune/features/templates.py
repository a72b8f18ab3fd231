"""Feature templates as data: text files of atoms, adapted to the columns a treebank has.

A template is a line of atoms such as ``S0.w N0.t``: a place in the search state and one of its values. A
line ``[name]`` starts a group: templates of a group look at the same few places, so their summed scores
can be remembered together. A line ``@conjoin 2 S0.t N0.t …`` stands for all sets of one or two of its atoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from treetune.errors import ConfigError, unknown_name

Template = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Groups of templates; the order is part of a model."""

    groups: tuple[tuple[Template, ...], ...]

    def __len__(self) -> int:
        """Return the number of templates."""
        return sum(len(group) for group in self.groups)

    def adapt(self, columns: Collection[str], state_values: Collection[str]) -> TemplateSet:
        """Return the set for a treebank that has only `columns` of its words.

        Atoms of absent columns are dropped from their templates; of templates that have become empty or
        equal to an earlier one nothing is left. `state_values` are what a model knows beside columns.
        """
        known = set(columns) | set(state_values)
        seen: set[frozenset[str]] = set()
        groups = []
        for group in self.groups:
            kept = []
            for template in group:
                atoms = tuple(atom for atom in template if atom.partition(".")[2] in known)
                if atoms and frozenset(atoms) not in seen:
                    seen.add(frozenset(atoms))
                    kept.append(atoms)
            if kept:
                groups.append(tuple(kept))
        return TemplateSet(tuple(groups))


def known_sets() -> list[str]:
    """Return the names of the sets in the package."""
    folder = resources.files("treetune.features").joinpath("sets")
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".txt"))


def load_templates(name: str) -> TemplateSet:
    """Return the named set of the package, or the one in a file if `name` is a path (ends in .txt)."""
    if name.endswith(".txt"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read the feature templates {name}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"cannot read the feature templates {name}: not UTF-8 text") from None
        return parse_templates(text.splitlines(), source=name)
    if name not in known_sets():
        raise unknown_name("feature set", name, known_sets())
    text = resources.files("treetune.features").joinpath("sets", f"{name}.txt").read_text(encoding="utf-8")
    return parse_templates(text.splitlines(), source=name)


def parse_templates(lines: Iterable[str], *, source: str) -> TemplateSet:
    """Read templates from lines of text; `source` is named in errors."""
    groups: list[list[Template]] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            groups.append([])
            continue
        if not groups:
            raise ConfigError(f"{source}:{number}: expected a [group] before the first template, found {line!r}")
        for template in _expand(line.split(), where=f"{source}:{number}"):
            for atom in template:
                if "." not in atom:
                    raise ConfigError(f"{source}:{number}: expected PLACE.VALUE, found {atom!r}")
            groups[-1].append(template)
    if not any(groups):
        raise ConfigError(f"{source}: expected at least one feature template, found none")
    return TemplateSet(tuple(tuple(group) for group in groups if group))


def _expand(words: list[str], *, where: str) -> Iterator[Template]:
    if words[0] != "@conjoin":
        yield tuple(words)
        return
    if len(words) < 3 or not words[1].isdigit():
        raise ConfigError(f"{where}: expected '@conjoin DEGREE ATOM …', found {' '.join(words)!r}")
    for size in range(1, int(words[1]) + 1):
        yield from itertools.combinations(words[2:], size)
