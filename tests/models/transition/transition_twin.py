"""The arc-eager system in plain Python: lists, dictionaries and exhaustive search instead of kernels."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

SHIFT, REDUCE, LEFT = 0, 1, 2
WORD_BITS = 2**64 - 1

Moves = set[str]


def mix(value: int) -> int:
    """The finaliser of SplitMix64."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD_BITS
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD_BITS
    return value ^ (value >> 31)


def name_hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class State:
    """A stack (its top last), the first word of the buffer, and the arcs so far; the root is word n + 1."""

    n: int
    n_labels: int
    stack: tuple[int, ...] = ()
    front: int = 1
    arcs: tuple[tuple[int, int, int], ...] = ()  # (word, head, label)

    @property
    def is_final(self) -> bool:
        return self.front == self.n + 1 and not self.stack

    @cached_property
    def heads(self) -> dict[int, int]:
        return {word: head for word, head, _ in self.arcs}

    @cached_property
    def labels(self) -> dict[int, int]:
        return {word: label for word, _, label in self.arcs}

    def possible_moves(self) -> Moves:
        """The moves that arc-eager has here when nothing is asked of the tree."""
        moves = set()
        if self.front <= self.n:
            moves.add("shift")
            if self.stack:
                moves.add("right")
        if self.stack:
            moves.add("reduce" if self.stack[-1] in self.heads else "left")
        return moves

    def after(self, action: int) -> State:
        if action == SHIFT:
            return replace(self, stack=(*self.stack, self.front), front=self.front + 1)
        if action == REDUCE:
            return replace(self, stack=self.stack[:-1])
        label = action - LEFT
        if label < self.n_labels:
            arc = (self.stack[-1], self.front, label)
            return replace(self, stack=self.stack[:-1], arcs=(*self.arcs, arc))
        arc = (self.front, self.stack[-1], label - self.n_labels)
        return replace(self, stack=(*self.stack, self.front), front=self.front + 1, arcs=(*self.arcs, arc))

    def after_all(self, actions: Sequence[int]) -> State:
        state = self
        for action in actions:
            state = state.after(action)
        return state

    def tree(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Heads (root = 0) and labels of words 1 to n."""
        words = range(1, self.n + 1)
        heads = tuple(0 if self.heads[word] == self.n + 1 else self.heads[word] for word in words)
        return heads, tuple(self.labels[word] for word in words)

    def children(self, word: int | None) -> tuple[list[int], list[int]]:
        if word is None:
            return [], []
        below = sorted(child for child, head in self.heads.items() if head == word)
        return [child for child in below if child < word], [child for child in below if child > word]


@dataclass
class Rules:
    """Which arcs and labels a tree may have; a move is legal if some completion obeys them all."""

    n: int
    at_root: Sequence[bool]
    at_word: Sequence[bool]
    fixed_heads: Sequence[int] = ()  # of words 1 to n: -1 unknown, 0 root
    fixed_labels: Sequence[int] = ()
    by_word: Sequence[Collection[int]] = ()  # the labels that words 1 to n may bear under other words
    _memo: dict[tuple[tuple[tuple[int, bool], ...], int], bool] = field(default_factory=dict)

    @property
    def n_labels(self) -> int:
        return len(self.at_root)

    def start(self) -> State:
        return State(self.n, self.n_labels)

    def fixed_label(self, word: int) -> int:
        return self.fixed_labels[word - 1] if self.fixed_labels else -1

    def labels_of(self, word: int, head: int) -> list[int]:
        """The labels that the arc may bear; none if the arc itself may not be."""
        fixed_head = self.fixed_heads[word - 1] if self.fixed_heads else -1
        label = self.fixed_label(word)
        is_root = head == self.n + 1
        allowed = self.at_root if is_root else self.at_word
        if fixed_head != -1 and fixed_head != (0 if is_root else head):
            return []
        if label == -1:
            by_word = range(self.n_labels) if is_root or not self.by_word else self.by_word[word - 1]
            return [label for label in range(self.n_labels) if allowed[label] and label in by_word]
        if fixed_head > 0 or allowed[label]:
            return [label]
        return []

    def can_end(self, stack: tuple[tuple[int, bool], ...], front: int) -> bool:
        """Whether some completion has one root and everything fixed; the stack holds (word, has a head)."""
        key = (stack, front)
        if key not in self._memo:
            self._memo[key] = self._can_end(stack, front)
        return self._memo[key]

    def _can_end(self, stack: tuple[tuple[int, bool], ...], front: int) -> bool:
        if front == self.n + 1:
            headless = [word for word, has_head in stack if not has_head]
            return len(headless) == 1 and bool(self.labels_of(headless[0], front))
        ways = [((*stack, (front, False)), front + 1)]
        if stack:
            word, has_head = stack[-1]
            if self.labels_of(front, word):
                ways.append(((*stack, (front, True)), front + 1))
            if has_head or self.labels_of(word, front):
                ways.append((stack[:-1], front))
        return any(self.can_end(*way) for way in ways)

    def legal_actions(self, state: State) -> list[int]:
        def ends(action: int) -> bool:
            after = state.after(action)
            return self.can_end(tuple((word, word in after.heads) for word in after.stack), after.front)

        actions = []
        possible = state.possible_moves()
        if state.front == self.n + 1:  # only emptying is left
            if "left" in possible:
                return [LEFT + label for label in self.labels_of(state.stack[-1], self.n + 1)]
            return [REDUCE]
        if "shift" in possible and ends(SHIFT):
            actions.append(SHIFT)
        if "reduce" in possible and ends(REDUCE):
            actions.append(REDUCE)
        if "left" in possible and ends(LEFT):
            actions += [LEFT + label for label in self.labels_of(state.stack[-1], state.front)]
        if "right" in possible and ends(LEFT + self.n_labels):
            actions += [LEFT + self.n_labels + label for label in self.labels_of(state.front, state.stack[-1])]
        return actions

    def derivations(self, state: State | None = None) -> Iterator[tuple[int, ...]]:
        """Every complete sequence of legal transitions."""
        state = state or self.start()
        if state.is_final:
            yield ()
            return
        for action in self.legal_actions(state):
            for rest in self.derivations(state.after(action)):
                yield (action, *rest)


def places(state: State) -> dict[str, int | None]:
    """The word at each place; the root, n + 1 in a state, is token 0 of the columns."""
    found: dict[str, int | None] = {f"S{i}": word for i, word in enumerate(reversed(state.stack))}
    for ahead in range(4):
        if state.front + ahead <= state.n + 1:
            found[f"N{ahead}"] = state.front + ahead
    top, second = found.get("S0"), found.get("S1")
    if top is not None:
        found["S0h"] = state.heads.get(top)
        found["S0hh"] = state.heads.get(found["S0h"] or 0)
    for place in ("S0", "S1", "N0"):
        left, right = state.children(found.get(place))
        if place == "S1" and second is None:
            continue
        found |= dict(zip((f"{place}l", f"{place}ll"), left, strict=False))
        found |= dict(zip((f"{place}r", f"{place}rr"), reversed(right), strict=False))
    return found


def base_relation(state: State, top: int | None, heads: Sequence[int]) -> int:
    """What the base says of the top of the stack and the front of the buffer; the root is the end of the sentence."""
    front, end = state.front, state.n + 1
    of_top = of_front = 0
    if top is not None:
        head = heads[top] or end
        of_top = 1 if head == front else 2 if head > front else 3 if head < top else 4
    if front != end:
        head = heads[front] or end
        inner = top if top is not None else 0
        of_front = 1 if head == top else 3 if head > front else 2 if head < inner else 4
    return 1 + 5 * of_top + of_front


def atom_value(atom: str, state: State, at: dict[str, int | None], columns: dict[str, Sequence[int]]) -> int:
    place, _, value = atom.partition(".")
    word = at.get(place)
    if value == "base":
        return base_relation(state, word, columns["base heads"])
    if word is None:
        return 0
    left, right = state.children(word)
    if value == "label":
        return state.labels.get(word, -1) + 1
    if value == "dist":
        return min(state.front - word, 10)
    if value in ("vl", "vr"):
        return len(left if value == "vl" else right)
    if value in ("sl", "sr"):
        bits = 0
        for child in left if value == "sl" else right:
            bits |= 1 << (state.labels[child] % 63)
        return bits
    return columns[value][0 if word == state.n + 1 else word]


def state_features(state: State, templates: Sequence[tuple[str, ...]], columns: dict[str, Sequence[int]]) -> list[int]:
    """The feature numbers of a state, template by template."""
    at = places(state)
    hashes: dict[str, int] = {}
    features = []
    for template in templates:
        total = name_hash(" ".join(template))
        for atom in template:
            if atom not in hashes:
                value = atom_value(atom, state, at, columns)
                hashes[atom] = mix((value + name_hash(atom)) & WORD_BITS)
            total += hashes[atom]
        features.append(mix(total & WORD_BITS))
    return features


Scorer = Callable[[State], dict[int, float]]


@dataclass(frozen=True)
class Item:
    score: float
    state: State
    actions: tuple[int, ...]


def next_beam(items: Sequence[Item], rules: Rules, scorer: Scorer, beam: int) -> list[Item]:
    """All legal successors, the best `beam` of them; of equals the one offered first."""
    offered = []
    for item in items:
        scores = scorer(item.state)
        for action in rules.legal_actions(item.state):
            score = item.score + scores.get(action, 0)
            offered.append(Item(score, item.state.after(action), (*item.actions, action)))
    return sorted(offered, key=lambda item: -item.score)[:beam]


def beam_search(rules: Rules, scorer: Scorer, beam: int, margin: float = math.inf) -> list[Item]:
    items = [Item(0, rules.start(), ())]
    for _ in range(2 * rules.n):
        items = next_beam(items, rules, scorer, beam)
        items = [item for item in items if item.score >= items[0].score - margin]
    return items


@dataclass(frozen=True)
class Violation:
    """Where to update: the length of the prefixes (0: nowhere), gold and the beam there (at the end if nowhere)."""

    length: int
    gold: Item
    beam: Sequence[Item]


def violation(rules: Rules, scorer: Scorer, beam: int, gold: Sequence[int], rule: str) -> Violation:
    items = [Item(0, rules.start(), ())]
    gold_item, in_beam = items[0], True
    worst = float("-inf")
    found = Violation(0, gold_item, items)
    rank = 0
    for step in range(2 * rules.n):
        items = next_beam(items, rules, scorer, beam)
        score = gold_item.score + scorer(gold_item.state).get(gold[step], 0)
        gold_item = Item(score, gold_item.state.after(gold[step]), (*gold_item.actions, gold[step]))
        ranks = [i for i, item in enumerate(items) if item.actions == gold_item.actions]
        in_beam = in_beam and bool(ranks)
        rank = ranks[0] if in_beam else -1
        here = Violation(step + 1, gold_item, items)
        if not in_beam and rule == "early":
            return here
        if rank != 0 and items[0].score - gold_item.score >= worst:
            worst = items[0].score - gold_item.score
            found = here
    if rank == 0:
        return replace(here, length=0)
    return here if rule == "early" else found


class GoldArcs:
    """Costs of moves by exhaustive search: how many gold arcs can still be had, before and after."""

    def __init__(self, heads: Sequence[int], labels: Sequence[int]) -> None:
        n = len(heads)
        self.n = n
        self.heads = {i: head or n + 1 for i, head in enumerate(heads, start=1)}
        self.labels = dict(enumerate(labels, start=1))
        self._memo: dict[tuple[tuple[tuple[int, bool], ...], int], int] = {}

    def gain(self, state: State, action: int) -> int:
        """1 if the action makes a gold arc with its gold label."""
        made = state.after(action).arcs[len(state.arcs) :]
        return sum(self.heads[word] == head and self.labels[word] == label for word, head, label in made)

    def reachable(self, stack: tuple[tuple[int, bool], ...], front: int) -> int:
        """The most gold arcs of any completion, whatever the number of roots."""
        key = (stack, front)
        if key not in self._memo:
            best = [0]
            if front <= self.n:
                best.append(self.reachable((*stack, (front, False)), front + 1))
            if stack:
                word, has_head = stack[-1]
                arc = 0 if has_head else int(self.heads[word] == front)
                best.append(arc + self.reachable(stack[:-1], front))
                if front <= self.n:
                    arc = int(self.heads[front] == word)
                    best.append(arc + self.reachable((*stack, (front, True)), front + 1))
            self._memo[key] = max(best)
        return self._memo[key]

    def still(self, state: State) -> int:
        return self.reachable(tuple((word, word in state.heads) for word in state.stack), state.front)

    def lost(self, state: State) -> int:
        """The gold arcs that no completion has."""
        right = sum(self.heads[word] == head and self.labels[word] == label for word, head, label in state.arcs)
        return self.n - right - self.still(state)

    def cost(self, state: State, action: int) -> int:
        return self.still(state) - self.gain(state, action) - self.still(state.after(action))
