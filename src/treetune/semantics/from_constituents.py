"""Constituency trees of the Penn Treebank to natural logical forms, bottom-up (Alshawi et al. 2011, section 5.1).

Every phrase has a head child; each other child gets a relation from its category, its function tags and the category
of the phrase (`_Phrases`), or ``dep``, which is not covered. The relations are those of Universal Dependencies, so that
the meaning of a relation has its rules in one place: `from_ud`.
"""

from __future__ import annotations

from collections.abc import Sequence

from treetune.corpus.penn import EMPTY, Constituent
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.semantics.expression import Expression
from treetune.semantics.from_ud import from_ud

_PUNCTUATION = frozenset((",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"))
_NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS", "PRP", "CD", "$", "EX", "WP", "NX", "FW", "SYM", "VBG", "QP"))
_VERBS = frozenset(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "TO"))
_CLAUSES = frozenset(("S", "SINV", "SQ", "SBARQ", "SBAR"))
_BE = frozenset(
    ("be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "get", "got", "gets", "getting")
)
_AUXILIARIES = _BE | frozenset(["have", "has", "had", "having", "'ve", "'d", "do", "does", "did"])
_UPOS = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "RB": "ADV",
    "MD": "AUX", "IN": "ADP", "TO": "PART", "DT": "DET", "CD": "NUM", "PRP": "PRON", "CC": "CCONJ", "EX": "PRON",
}  # fmt: skip
# Relations by the category of a child, for all phrases; a phrase may have its own.
_RELATIONS = {
    "DT": "det", "PDT": "det", "WDT": "det", "CD": "nummod", "QP": "nummod", "PRP$": "nmod:poss", "WP$": "nmod:poss",
    "JJ": "amod", "JJR": "amod", "JJS": "amod", "ADJP": "amod", "NN": "compound", "NNS": "compound", "NNP": "compound",
    "NNPS": "compound", "NX": "compound", "NAC": "compound", "FW": "compound", "VBN": "amod", "VBG": "amod",
    "RB": "advmod", "RBR": "advmod", "RBS": "advmod", "ADVP": "advmod", "WRB": "advmod", "WHADVP": "advmod",
    "RP": "compound:prt", "PRT": "compound:prt", "UH": "discourse", "INTJ": "discourse", "IN": "case", "POS": "case",
    "PRN": "parataxis", "MD": "aux", "CC": "cc", "CONJP": "cc", "$": "compound", "#": "compound", "LST": "discourse",
    "LS": "discourse",
}  # fmt: skip


def from_constituents(tree: Constituent) -> tuple[Sentence, Expression]:
    """Return the sentence of a constituency tree, traces left out, and its natural logical form.

    Raises:
        DataError: the tree has no words.
    """
    sentence, heads = to_dependencies(tree)
    return sentence, from_ud(sentence, heads)


def to_dependencies(tree: Constituent) -> tuple[Sentence, Tree]:
    """Return the words of a constituency tree with tags, and their heads with relations; ``dep`` is not covered."""
    leaves = [leaf for leaf in tree.leaves() if leaf.label != EMPTY]
    if not leaves:
        raise DataError("expected a tree with words, found only traces")
    phrases = _Phrases(leaves)
    root = phrases.head(tree)
    phrases.heads[root], phrases.labels[root] = 0, "root"
    for word in range(1, len(leaves) + 1):
        if phrases.heads[word] < 0:
            phrases.heads[word], phrases.labels[word] = root, "punct" if phrases.is_punctuation(word) else "dep"
    sentence = Sentence.of(
        [leaf.word for leaf in leaves],
        upos=["VERB" if leaf.label in _VERBS - {"MD", "TO"} else _UPOS.get(leaf.label, "X") for leaf in leaves],
        xpos=[leaf.label for leaf in leaves],
        feats=[_feats(leaf.label) for leaf in leaves],
        lemmas=[leaf.word.lower().removesuffix("s" if leaf.label == "NNS" else "\0") for leaf in leaves],
    )
    return sentence, Tree(tuple(phrases.heads), tuple(phrases.labels))


def _feats(tag: str) -> str:
    if tag == "VBN":
        return "Tense=Past|VerbForm=Part"
    return "PronType=Rel" if tag.startswith("W") else "_"


class _Phrases:
    """Heads and relations of the words of one tree, found from the leaves upwards."""

    def __init__(self, leaves: Sequence[Constituent]) -> None:
        self.leaves = leaves
        self.heads = [-1] * (len(leaves) + 1)
        self.labels = [""] * (len(leaves) + 1)
        self.positions = {id(leaf): position for position, leaf in enumerate(leaves, start=1)}

    def is_punctuation(self, word: int) -> bool:
        return self.leaves[word - 1].label in _PUNCTUATION

    def head(self, node: Constituent) -> int:
        """Return the head word of a phrase, after all others below it have theirs."""
        if not node.children:
            return self.positions[id(node)]
        return self.join(node, [child for child in node.children if _has_words(child)])

    def join(self, node: Constituent, children: list[Constituent]) -> int:
        """Return the head word of some children of a phrase, which are a phrase by themselves."""
        kept = [child for child in children if child.category not in _PUNCTUATION]
        if not kept:
            return self.head(children[0])
        segments = _segments(node, children)
        if segments:
            return self.coordinate(node, segments)
        top = _head_child(node, kept)
        head = self.head(top)
        for child in kept:
            if child is not top:
                self.attach(self.head(child), head, self.relation(node, child, top, kept))
        return head

    def coordinate(self, node: Constituent, segments: list[tuple[list[Constituent], list[Constituent]]]) -> int:
        """Return the head of the first conjunct; each other has its conjunctions and is a dependent of the first."""
        first = self.join(node, segments[0][1])
        for conjunctions, conjunct in segments[1:]:
            head = self.join(node, conjunct)
            self.attach(head, first, "conj")
            for one in conjunctions:
                self.attach(self.head(one), head, "cc")
        return first

    def attach(self, word: int, head: int, relation: str) -> None:
        if self.heads[word] < 0 and word != head:
            self.heads[word], self.labels[word] = head, relation

    def relation(self, node: Constituent, child: Constituent, top: Constituent, kept: list[Constituent]) -> str:
        category, is_before = child.category, kept.index(child) < kept.index(top)
        if node.category in ("NP", "NX", "WHNP", "NAC", "QP"):
            return self._in_nominal(node, child, top, is_before)
        if node.category in ("S", "SINV", "SQ", "SBARQ", "SBAR", "VP", "RRC"):
            return self._in_clause(node, child, top, is_before)
        if node.category in ("PP", "WHPP"):
            relation = "mark" if top.category in _CLAUSES or top.category == "VP" else "case"
            return (
                relation
                if category in ("IN", "TO", "VBG", "VBN", "JJ", "PP", "RP", "FW", "CC") and is_before
                else ("advmod" if category in ("RB", "ADVP", "JJ") else "obl:unmarked" if category == "NP" else "dep")
            )
        if node.category in ("ADJP", "ADVP", "WHADVP", "WHADJP", "UCP", "FRAG", "PRN", "INTJ", "X", "CONJP", "PRT"):
            return self._in_modifier(child, is_before)
        return "dep"

    def _in_nominal(self, node: Constituent, child: Constituent, top: Constituent, is_before: bool) -> str:
        category = child.category
        if category == "NP":
            if _last_tag(child) == "POS":
                return "nmod:poss"
            return "obl:unmarked" if child.functions & {"TMP", "ADV"} else "compound" if is_before else "appos"
        if category in ("PP", "WHPP"):
            return "acl" if _has_clause(child) else "nmod"
        if category == "SBAR":
            return "acl:relcl" if _begins_with_wh(child) else "acl"
        if category in ("VP", "S", "SINV", "RRC"):
            return "acl"
        if category == "UCP":
            return "amod" if is_before else "appos"
        if category in ("IN", "TO", "JJR", "RB", "RBR") and node.category == "QP":
            return "advmod"
        if category == "CD" and node.category == "QP" and top.category != "$":
            return "compound"
        if category == "CD" and not is_before and top.category != "$":
            return "nmod:unmarked"
        return _RELATIONS.get(category, "dep")

    def _in_clause(self, node: Constituent, child: Constituent, top: Constituent, is_before: bool) -> str:
        category, functions = child.category, child.functions
        if category in ("NP", "EX", "PRP"):
            return self._nominal_in_clause(node, child, top)
        if category in ("WHNP", "WP", "WDT"):
            return "det" if category == "WDT" else _gap(node, child, top)
        if category in ("PP", "WHPP"):
            if "PRD" in functions:
                return "xcomp"
            if "LGS" in functions:
                return "obl:agent"
            return "advcl" if _has_clause(child) else "obl"
        if category in _CLAUSES or category == "VP":
            return self._clause_in_clause(child)
        if category in _VERBS:
            return "mark" if category == "TO" else "aux:pass" if _is_passive(child, top) else "aux"
        if category in ("IN", "DT"):
            return "mark"
        if category in ("ADJP", "JJ", "UCP"):
            return "xcomp" if not is_before or "PRD" in functions else "advcl"
        return _RELATIONS.get(category, "dep")

    def _nominal_in_clause(self, node: Constituent, child: Constituent, top: Constituent) -> str:
        functions = child.functions
        if "SBJ" in functions or child.category == "EX":
            return "nsubj:pass" if _predicate_is_passive(top) else "nsubj"
        if functions & {"TMP", "ADV", "EXT", "LOC", "MNR", "DIR", "CLR"} and "PRD" not in functions:
            return "obl:unmarked"
        if "VOC" in functions:
            return "vocative"
        if "PRD" in functions:
            return "xcomp"
        return "obj" if node.category == "VP" or "TPC" in functions else "dep"

    def _clause_in_clause(self, child: Constituent) -> str:
        functions = child.functions
        if "SBJ" in functions:
            return "csubj"
        if functions & {"ADV", "TMP", "PRP", "MNR", "LOC"} or (child.category == "SBAR" and _begins_with_in(child)):
            return "advcl"
        return "ccomp" if child.category in ("SBAR", "SINV") or _has_subject(child) else "xcomp"

    def _in_modifier(self, child: Constituent, is_before: bool) -> str:
        category = child.category
        if category in ("PP", "WHPP"):
            return "advcl" if _has_clause(child) else "obl"
        if category == "NP":
            return "obl:unmarked"
        if category in _CLAUSES or category == "VP":
            return "ccomp" if category == "SBAR" else "xcomp"
        if category in ("ADVP", "RB", "RBR", "RBS", "WRB", "JJ", "DT", "IN") and is_before:
            return "advmod"
        return {"DT": "fixed", "FRAG": "list"}.get(category, _RELATIONS.get(category, "dep"))


def _has_words(node: Constituent) -> bool:
    return any(leaf.label != EMPTY for leaf in node.leaves())


def _segments(
    node: Constituent, children: list[Constituent]
) -> list[tuple[list[Constituent], list[Constituent]]]:  # fmt: skip
    """Return the conjuncts of a coordination, each with the conjunctions before it; nothing if it is none."""
    kept = [child for child in children if child.category not in _PUNCTUATION]
    places = [index for index, child in enumerate(kept) if child.category in ("CC", "CONJP")]
    if not places or places[-1] == len(kept) - 1 or all(place == 0 for place in places):
        return []
    commas = [child.category in (",", ":") for child in children]
    found: list[tuple[list[Constituent], list[Constituent]]] = [([], [])]
    splits_at_commas = len({child.category for child in kept if child.category not in ("CC", "CONJP")}) == 1
    for child, is_comma in zip(children, commas, strict=True):
        if child.category in ("CC", "CONJP"):
            if found[-1][1]:
                found.append(([], []))
            found[-1][0].append(child)
        elif is_comma and splits_at_commas and found[-1][1]:
            found.append(([], []))
        elif child.category not in _PUNCTUATION:
            found[-1][1].append(child)
    found = [segment for segment in found if segment[1]]
    return found if len(found) > 1 else []


def _head_child(node: Constituent, kept: list[Constituent]) -> Constituent:
    """Return the child that heads a phrase."""
    category = node.category
    if category == "VP":
        verb = next((child for child in kept if child.category in _VERBS), None)
        inner = next((child for child in kept if child.category == "VP"), None)
        is_auxiliary = verb is None or verb.category in ("MD", "TO") or verb.word.lower() in _AUXILIARIES
        return (inner if inner is not None and is_auxiliary else verb) or kept[0]
    if category in ("S", "SINV", "SQ", "SBARQ", "SBAR", "FRAG", "RRC"):
        wanted = ("VP", "S", "SINV", "SQ", "SBARQ") if category in ("SBAR", "SBARQ") else ("VP", *_VERBS, "S", "SINV")
        for one in wanted:
            for child in kept:
                if child.category == one and not child.functions & {"SBJ", "ADV", "TPC", "PRP", "TMP"}:
                    return child
        predicates = [child for child in kept if "PRD" in child.functions]
        return predicates[0] if predicates else next((child for child in kept if child.category != "IN"), kept[0])
    if category in ("NP", "NX", "WHNP", "NAC", "QP"):
        return _nominal_head(category, kept)
    if category in ("PP", "WHPP"):
        return kept[-1] if kept[-1].category not in ("IN", "TO", "RP") else kept[0]
    wanted = {"ADJP": ("JJ", "JJR", "JJS", "VBN", "VBG", "ADJP"), "ADVP": ("RB", "RBR", "IN", "ADVP")}.get(category, ())
    return next((child for child in reversed(kept) if child.category in wanted), kept[-1 if wanted else 0])


def _nominal_head(category: str, kept: list[Constituent]) -> Constituent:
    if category == "QP":
        wanted = [child for child in kept if child.category == "$"] or [c for c in kept if c.category == "CD"][-1:]
        return wanted[0] if wanted else kept[-1]
    first = next((child for child in kept if child.category in ("NP", "WHNP", "NX")), None)
    last = next((child for child in reversed(kept) if child.category in _NOUNS - {"CD", "QP", "$", "VBG"}), None)
    if last is not None and (first is None or _last_tag(first) == "POS" or last.category != "NX"):
        return last
    if first is not None and _last_tag(first) != "POS":
        return first
    numbers = [child for child in kept if child.category in _NOUNS]
    numbers = [child for child in numbers if child.category == "$"] or numbers
    return numbers[-1] if numbers else next((c for c in reversed(kept) if c.category.startswith(("J", "D"))), kept[-1])


def _last_tag(node: Constituent) -> str:
    return list(node.leaves())[-1].label


def _has_clause(node: Constituent) -> bool:
    return any(child.category in _CLAUSES or child.category == "VP" for child in node.children)


def _begins_with_wh(node: Constituent) -> bool:
    return any(child.category.startswith("WH") for child in node.children)


def _begins_with_in(node: Constituent) -> bool:
    """Whether a subordinator other than a complementizer opens a clause, or one that asks when or where."""
    first = node.children[0]
    if first.category == "IN":
        return first.word.lower() not in ("that", "whether", "if")
    return first.category not in ("WHNP", "WHADVP", "WHPP", "DT", "S", EMPTY)


def _has_subject(node: Constituent) -> bool:
    return any("SBJ" in child.functions and _has_words(child) for child in node.children)


def _is_passive(verb: Constituent, top: Constituent) -> bool:
    inner = next((child.category for child in top.children if child.category in _VERBS), "")
    return verb.word.lower() in _BE and inner == "VBN"


def _predicate_is_passive(node: Constituent) -> bool:
    """Whether the verb phrase of a clause is *be* with a past participle."""
    before = ""
    while node.children:
        verb = next((child for child in node.children if child.category in _VERBS), None)
        inner = next((child for child in node.children if child.category == "VP"), None)
        if verb is not None and verb.category == "VBN" and before in _BE:
            return True
        if inner is None:
            return False
        before, node = (verb.word.lower() if verb is not None else before), inner
    return False


def _gap(node: Constituent, child: Constituent, top: Constituent) -> str:
    """Return the relation of a fronted pronoun: that of the trace with its index, else the one that is missing."""
    index = child.label.rpartition("-")[2]
    for one in top.children:
        is_trace = any(leaf.word == f"*T*-{index}" for leaf in one.leaves())
        if is_trace and "SBJ" in one.functions:
            return (
                "nsubj:pass" if any(_predicate_is_passive(c) for c in top.children if c.category == "VP") else "nsubj"
            )
    return "obj"
