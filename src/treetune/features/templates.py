"""Feature templates as data: text files of atoms, adapted to the columns a treebank has.

A template is a line of atoms such as ``S0.w N0.t``: a position in the search state and one of its values. A line
``[name]`` starts a group: templates of a group read the same few positions, so their summed scores can be cached
together. A line ``@also A.dist`` adds to every template after it, to the end of its group, its conjunction with these
atoms. A line ``@conjoin 2 S0.t N0.t …`` stands for all conjunctions of one or two of its atoms. A line ``@include
default t=c6`` stands for all groups of another set of the package, here with ``c6`` in place of ``t``.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from treetune.checked_state import Fields, expected, texts
from treetune.errors import ConfigError, unknown_name
from treetune.features.clusters import CLUSTER_COLUMNS
from treetune.features.encoding import BASE_LABEL_COLUMN

Template = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Groups of templates and their names; the order is part of a model."""

    groups: tuple[tuple[Template, ...], ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of templates."""
        return sum(len(group) for group in self.groups)

    def adapt(self, columns: Collection[str], state_values: Collection[str]) -> TemplateSet:
        """Return the set for a treebank that has only `columns` of its words.

        Atoms of absent columns are dropped from their templates; of templates that have become empty or
        equal to an earlier one nothing is left. `state_values` are what a model reads beside columns.
        """
        known = set(columns) | set(state_values)
        seen: set[frozenset[str]] = set()
        groups, names = [], []
        for group, name in zip(self.groups, self.names, strict=True):
            kept = []
            for template in group:
                atoms = tuple(atom for atom in template if atom.partition(".")[2] in known)
                if atoms and frozenset(atoms) not in seen:
                    seen.add(frozenset(atoms))
                    kept.append(atoms)
            if kept:
                groups.append(tuple(kept))
                names.append(name)
        return TemplateSet(tuple(groups), tuple(names))

    def without(self, is_absent: Callable[[str], bool]) -> TemplateSet:
        """Return the templates none of whose atoms is absent."""
        groups = tuple(
            tuple(template for template in group if not any(map(is_absent, template))) for group in self.groups
        )
        return TemplateSet(groups, self.names)

    @property
    def looks_at_clusters(self) -> bool:
        """Whether some template looks at the clusters of words."""
        return bool(self.values & set(CLUSTER_COLUMNS))

    @property
    def values(self) -> set[str]:
        """What the templates look at, without the positions: columns, and other values of the search state."""
        return {atom.partition(".")[2] for group in self.groups for template in group for atom in template}

    @property
    def looks_at_base_trees(self) -> bool:
        """Whether some template looks at the output of another parser."""
        return any(reads_base_tree(atom) for group in self.groups for template in group for atom in template)

    def state(self) -> dict[str, Any]:
        """Return the set as plain JSON values."""
        groups = [[list(template) for template in group] for group in self.groups]
        return {"templates": groups, "template_groups": list(self.names)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TemplateSet:
        """Rebuild a set from `state()`."""
        fields = Fields(state)
        names, groups = fields.texts("template_groups"), fields.entries("templates")
        if not groups or len(groups) != len(names):
            raise expected("templates", f"as many groups as names, {len(names):,}", groups)
        for group in groups:
            if not isinstance(group, list | tuple) or not group or not all(group):
                raise expected("templates", "groups of templates, each of one atom or more", group)
        checked = tuple(tuple(tuple(texts(template, "templates")) for template in group) for group in groups)
        return cls(checked, tuple(names))


def seed_of(name: str) -> int:
    """Return the hash seed of a template or an atom, the same in every model."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def reads_base_tree(atom: str) -> bool:
    """Whether an atom looks at the output of another parser: its arcs, its labels or the heads it gave."""
    position, _, value = atom.partition(".")
    return value in ("base", BASE_LABEL_COLUMN) or position.endswith("^")


def check_clusters(path: str | None, templates: TemplateSet, name: str) -> None:
    """Raise ConfigError if there are clusters that no template looks at, or templates that look for absent ones."""
    if path is None and templates.looks_at_clusters:
        raise ConfigError(
            f"the feature set {name!r} looks at word clusters; name their file (--clusters FILE, in Python clusters=)"
        )
    if path is not None and not templates.looks_at_clusters:
        raise ConfigError(
            f"no template of the feature set {name!r} looks at the word clusters of {path}; "
            "leave --clusters out, or take another set (--features clusters or clusters-only)"
        )


def check_stacked(templates: TemplateSet, name: str) -> None:
    """Raise ConfigError unless some template of a set looks at base trees."""
    if not templates.looks_at_base_trees:
        raise ConfigError(
            f"the treebank has base trees, but no template of the feature set {name!r} looks at them; "
            "leave out --base or take another set"
        )


def known_sets(family: str) -> list[str]:
    """Return the names of the sets in the package for a family of models."""
    folder = resources.files("treetune.features").joinpath("sets", family)
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".txt"))


def load_templates(name: str, family: str) -> TemplateSet:
    """Return the named set of the package for a family, or that of a file if `name` is a path (ends in .txt)."""
    if name.endswith(".txt"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read the feature templates {name}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"cannot read the feature templates {name}: not UTF-8 text") from None
        return parse_templates(text.splitlines(), source=name, family=family)
    if name not in known_sets(family):
        raise unknown_name("feature set", name, known_sets(family))
    text = resources.files("treetune.features").joinpath("sets", family, f"{name}.txt").read_text(encoding="utf-8")
    return parse_templates(text.splitlines(), source=name, family=family)


def parse_templates(lines: Iterable[str], *, source: str, family: str | None = None) -> TemplateSet:
    """Read templates from lines of text; `source` is named in errors, `family` has the sets that can be included."""
    groups: list[list[Template]] = []
    names: list[str] = []
    also: Template = ()
    for number, raw in enumerate(lines, start=1):
        line, where = raw.partition("#")[0].strip(), f"{source}:{number}"
        if not line:
            continue
        if line.startswith("@include"):
            for name, group in _included(line.split()[1:], family, where=where):
                names.append(name)
                groups.append(list(group))
            also = ()
            continue
        if line.startswith("["):
            groups.append([])
            names.append(line.strip("[] "))
            also = ()
            continue
        if not groups:
            raise ConfigError(f"{where}: expected a [group] before the first template, found {line!r}")
        words = line.split()
        if words[0] == "@also":
            also = _checked(tuple(words[1:]), where=where)
            continue
        for template in _expand(words, where=where):
            groups[-1].append(_checked(template, where=where))
            if also:
                groups[-1].append(template + also)
    if not any(groups):
        raise ConfigError(f"{source}: expected at least one feature template, found none")
    filled = [(tuple(group), name) for group, name in zip(groups, names, strict=True) if group]
    return TemplateSet(tuple(group for group, _ in filled), tuple(name for _, name in filled))


def _included(words: list[str], family: str | None, *, where: str) -> Iterator[tuple[str, tuple[Template, ...]]]:
    """Yield the groups of another set, with other values in place of some."""
    values = dict(word.split("=", 1) for word in words[1:] if word.count("=") == 1)
    if not words or len(values) != len(words) - 1 or family is None or words[0] not in known_sets(family):
        known = "" if family is None else f", NAME one of {', '.join(known_sets(family))}"
        raise ConfigError(f"{where}: expected '@include NAME VALUE=OTHER …'{known}, found {' '.join(words)!r}")
    found = load_templates(words[0], family)
    for name, group in zip(found.names, found.groups, strict=True):
        yield name, tuple(tuple(_with_value(atom, values) for atom in template) for template in group)


def _with_value(atom: str, values: dict[str, str]) -> str:
    position, _, value = atom.partition(".")
    return f"{position}.{values.get(value, value)}"


def _checked(atoms: Template, *, where: str) -> Template:
    for atom in atoms:
        if "." not in atom:
            raise ConfigError(f"{where}: expected PLACE.VALUE, found {atom!r}")
    return atoms


def _expand(words: list[str], *, where: str) -> Iterator[Template]:
    if words[0] != "@conjoin":
        yield tuple(words)
        return
    if len(words) < 3 or not words[1].isdigit():
        raise ConfigError(f"{where}: expected '@conjoin DEGREE ATOM …', found {' '.join(words)!r}")
    for size in range(1, int(words[1]) + 1):
        yield from itertools.combinations(words[2:], size)
