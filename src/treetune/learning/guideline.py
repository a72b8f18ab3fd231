"""What annotators are told about main verbs, on one screen."""

from __future__ import annotations

from typing import NamedTuple

QUESTION = "Which word is the main verb?"


class Case(NamedTuple):
    """A case of the guideline: what it is about, an example with the word to mark, and the rule."""

    title: str
    example: tuple[str, ...]
    marked: int
    rule: str


GUIDELINE = (
    Case("A plain verb", ("which", "airlines", "fly", "to", "Oslo"), 3, "Mark the verb that says what happens."),
    Case(
        "Auxiliaries",
        ("do", "you", "want", "to", "leave"),
        3,
        "Not do, can, will, have, be before another verb: mark that verb, the first that stands by itself.",
    ),
    Case(
        "Copulas",
        ("the", "fare", "is", "low"),
        4,
        "After be, mark what is said of the subject. If you mark is, and always do, that is understood as well.",
    ),
    Case("Questions with be", ("what", "is", "the", "fare"), 1, "What is said of the fare is what: mark what."),
    Case("Coordination", ("go", "home", "and", "sleep"), 1, "Of several verbs joined by and, or, but: the first."),
    Case("Fragments", ("two", "tickets", "to", "Rome"), 2, "Without a verb: the word on which all others depend."),
)
