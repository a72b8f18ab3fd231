"""Small CoNLL-U texts made for the tests of this room."""

from __future__ import annotations


def word(number: int | str, form: str, head: int | str, label: str = "dep", **cells: str) -> str:
    """Return one line; cells that are not named are ``_``."""
    named = {"lemma": "_", "upos": "_", "xpos": "_", "feats": "_", "deps": "_", "misc": "_"} | cells
    columns = (
        str(number),
        form,
        named["lemma"],
        named["upos"],
        named["xpos"],
        named["feats"],
        str(head),
        label,
        named["deps"],
        named["misc"],
    )
    return "\t".join(columns)


def block(*lines: str) -> str:
    """Return lines as a sentence with its empty line."""
    return "".join(line + "\n" for line in lines) + "\n"


DOGS = block(word(1, "dogs", 2, "nsubj", upos="NOUN"), word(2, "bark", 0, "root", upos="VERB"))
"""Two good words."""

FULL = block(
    "# sent_id = 1",
    "# text = Du sang, 25 000",
    "1-2\tDu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
    word(1, "De", 3, "case", lemma="de", upos="ADP", xpos="P", deps="3:case"),
    word(2, "le", 3, "det", lemma="le", upos="DET", feats="Definite=Def|Number=Sing", deps="3:det"),
    word(3, "sang", 0, "root", lemma="sang", upos="NOUN", deps="0:root", misc="SpaceAfter=No"),
    "3.1\tfut\têtre\tAUX\t_\t_\t_\t_\t3:cop\tCopyOf=0",
    word(4, "25 000", 3, "nummod", lemma="25 000", upos="NUM", deps="3:nummod", misc="Note=two words"),
)
"""One sentence with everything CoNLL-U has."""
