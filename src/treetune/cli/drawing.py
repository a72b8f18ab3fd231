"""A sentence and its tree to text: one word a line, below its head and indented."""

from __future__ import annotations

from collections.abc import Iterator

from treetune.corpus.sentence import Sentence, Tree


def draw_tree(sentence: Sentence, tree: Tree, *, marked: frozenset[int] = frozenset()) -> str:
    """Return the tree as lines, children in the order of the text; words in `marked` get a star."""
    children: list[list[int]] = [[] for _ in tree.heads]
    for head, word, _ in tree.arcs():
        children[head].append(word)

    def line(word: int) -> str:
        star = " *" if word in marked else ""
        return f"{sentence.forms[word]}  {tree.labels[word] or '_'}{star}"

    def below(head: int, indent: str) -> Iterator[str]:
        for word in children[head]:
            last = word == children[head][-1]
            yield f"{indent}{'└─ ' if last else '├─ '}{line(word)}"
            yield from below(word, indent + ("   " if last else "│  "))

    return "\n".join(text for root in children[0] for text in (line(root), *below(root, "")))
