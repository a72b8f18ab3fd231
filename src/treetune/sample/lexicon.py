"""The lexicon: `lexicon.toml` as objects, and the rule that decides where a prepositional phrase hangs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from treetune.sample.morphology import with_ed, with_ing


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun; `plural` is empty for a regular one."""

    lemma: str
    plural: str
    kind: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What a class of verbs takes: noun classes for each role, and for each preposition."""

    name: str
    subject: tuple[str, ...]
    object: tuple[str, ...] = ()
    recipient: tuple[str, ...] = ()
    prepositions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs_preposition: bool = False
    strand: str = ""
    passive: bool = False

    def claims(self, preposition: str, kind: str) -> bool:
        """Whether the verb itself asks for this preposition with a noun of this class."""
        return kind in self.prepositions.get(preposition, ())


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its principal parts."""

    lemma: str
    past: str
    participle: str
    ing: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; without a comparative it is compared with "more", unless not `gradable`."""

    lemma: str
    comparative: str = ""
    superlative: str = ""
    gradable: bool = True


@dataclass(frozen=True)
class Lexicon:
    """Everything in `lexicon.toml`, by class."""

    nouns: Mapping[str, tuple[Noun, ...]]
    verbs: tuple[Verb, ...]
    complements: Mapping[str, tuple[Verb, ...]]
    adjectives: Mapping[str, tuple[Adjective, ...]]
    tables: Mapping[str, Mapping[str, tuple[str, ...]]]
    modifiers: Mapping[str, Mapping[str, tuple[str, ...]]]

    @cached_property
    def verbs_by_role(self) -> Mapping[tuple[str, str], tuple[Verb, ...]]:
        """Verbs by (role, noun class); a role is "subject", "object" or a preposition the verb asks for."""
        found: dict[tuple[str, str], list[Verb]] = {}
        for verb in self.verbs:
            roles = {"subject": verb.frame.subject, "object": verb.frame.object, **verb.frame.prepositions}
            for role, kinds in roles.items():
                for kind in kinds:
                    found.setdefault((role, kind), []).append(verb)
        return {key: tuple(verbs) for key, verbs in found.items()}

    def words(self, table: str, row: str) -> tuple[str, ...]:
        """Return a row of one of the plain tables (adverbs, names, times …); empty if there is none."""
        return self.tables[table].get(row, ())

    def licenses(self, noun: str, preposition: str, kind: str) -> bool:
        """Whether a noun of class `noun` may be modified by this preposition with a noun of class `kind`."""
        return kind in self.modifiers.get(noun, {}).get(preposition, ())

    def attaches_to(self, frame: Frame, nouns: Iterable[str], *, preposition: str, kind: str) -> str | None:
        """Return the class of the noun on which a phrase after `nouns` hangs, or None for the verb.

        The verb comes first if it asks for the phrase; then the nearest noun that allows it; then the verb
        again, as an adjunct. `nouns` are the classes between verb and phrase, the nearest first.
        """
        if frame.claims(preposition, kind):
            return None
        return next((noun for noun in nouns if self.licenses(noun, preposition, kind)), None)


_PERSON = Frame("complement", ("person",))
_PLAIN = ("traits", "compounds", "possessed", "adjective_use", "adverbs", "times", "names", "numerals")


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon, read once."""
    raw = tomllib.loads(files("treetune.sample").joinpath("lexicon.toml").read_text(encoding="utf-8"))
    return Lexicon(
        nouns={kind: tuple(_noun(entry, kind) for entry in text.split()) for kind, text in raw["nouns"].items()},
        verbs=tuple(verb for name, row in raw["verbs"].items() for verb in _verbs(row["words"], _frame(name, row))),
        complements={kind: tuple(_verbs(text, _PERSON)) for kind, text in raw["complements"].items()},
        adjectives={kind: tuple(map(_adjective, text.split())) for kind, text in raw["adjectives"].items()},
        tables={name: _split(raw[name]) for name in _PLAIN},
        modifiers={kind: _split(row) for kind, row in raw["modifiers"].items()},
    )


def _split(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {row: tuple(text.split()) for row, text in table.items()}


def _noun(entry: str, kind: str) -> Noun:
    lemma, _, plural = entry.partition("/")
    return Noun(lemma, lemma if plural == "-" else plural, kind)


def _frame(name: str, row: Mapping[str, Any]) -> Frame:
    return Frame(
        name,
        subject=tuple(row["subject"].split()),
        object=tuple(row.get("object", "").split()),
        recipient=tuple(row.get("recipient", "").split()),
        prepositions=_split(row["pp"]),
        needs_preposition=row.get("needs_pp", False),
        strand=row.get("strand", ""),
        passive=row.get("passive", False),
    )


def _verbs(text: str, frame: Frame) -> Iterable[Verb]:
    for entry in text.split():
        lemma, *parts = entry.split(":")
        past, participle = parts[:2] if parts else (with_ed(lemma), with_ed(lemma))
        yield Verb(lemma, past, participle, parts[2] if len(parts) > 2 else with_ing(lemma), frame)


def _adjective(entry: str) -> Adjective:
    if entry.endswith("*"):
        return Adjective(entry[:-1], gradable=False)
    lemma, *parts = entry.split(":")
    return Adjective(lemma, parts[0], parts[1]) if parts else Adjective(lemma)
