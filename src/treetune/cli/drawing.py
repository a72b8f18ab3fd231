"""A sentence and its tree to text: one word a line, below its head and indented."""

from __future__ import annotations

from treetune.corpus.sentence import Sentence, Tree


def draw_tree(sentence: Sentence, tree: Tree, *, marked: frozenset[int] = frozenset()) -> str:
    """Return the tree as lines, children in the order of the text; words in `marked` get a star."""
    children: list[list[int]] = [[] for _ in tree.heads]
    for head, word, _ in tree.arcs():
        children[head].append(word)
    lines = []
    # What is still to be drawn, the next one last: (word, what its line begins with, what those below it begin with).
    # Not by recursion: a tree may be deeper than Python's stack.
    left = [(root, "", "") for root in reversed(children[0])]
    while left:
        word, start, indent = left.pop()
        star = " *" if word in marked else ""
        lines.append(f"{start}{sentence.forms[word]}  {tree.labels[word] or '_'}{star}")
        for child in reversed(children[word]):
            is_last = child == children[word][-1]
            left.append((child, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  ")))
    return "\n".join(lines)
