"""A sentence and its tree to text: one word a line, below its head and indented."""

from __future__ import annotations

from treetune.corpus.rawtext import sentence_text
from treetune.corpus.sentence import ABSENT, Enhanced, Sentence, Tree


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


def format_drawing(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return the text of a sentence above its tree, or its words and tags if it has no tree."""
    if not tree.roots:
        rows = zip(sentence.forms[1:], sentence.upos[1:], sentence.xpos[1:], strict=True)
        drawn = "\n".join("  ".join(value for value in row if value != ABSENT) for row in rows)
    else:
        drawn = draw_tree(sentence, tree)
    return f"{sentence_text(sentence)}\n\n{drawn}\n\n"
