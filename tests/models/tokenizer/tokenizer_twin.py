"""The tokenizer once more, in plain Python over strings: slow and obvious."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.features.templates import TemplateSet, seed_of
from treetune.models.tokenizer.characters import KIND, kind_of, lowered
from treetune.models.tokenizer.tokenizer import TokenizerWeights
from treetune.weights.flat import FlatFrozenWeights

MASK = 2**64 - 1
LETTERS = ("lower", "upper", "letter", "mark")
LONGEST = 24


def mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def fnv(numbers: list[int]) -> int:
    value = 0xCBF29CE484222325
    for number in numbers:
        value = ((value ^ number) * 0x100000001B3) & MASK
    return value


def word_hash(word: str) -> int:
    codes = [ord(lowered(character)) for character in word]
    return fnv(codes if len(codes) <= LONGEST else [*codes[:LONGEST], len(codes)])


def shape_hash(word: str) -> int:
    kinds = [KIND[kind_of(character)] for character in word[:LONGEST]]
    return fnv([kind for i, kind in enumerate(kinds) if kinds[max(0, i - 2) : i] != [kind, kind]])


def kind_number(character: str) -> int:
    return KIND[kind_of(character)]


def is_letter(character: str) -> bool:
    return kind_of(character) in LETTERS


def same_group(left: str, right: str) -> bool:
    return kind_of(left) == kind_of(right) or (is_letter(left) and is_letter(right))


def repeats(text: str) -> int:
    """How often the first character stands in a row, 4 at most."""
    lower = [lowered(character) for character in text]
    return next((i for i, character in enumerate(lower[:4]) if character != lower[0]), min(4, len(text)))


class Scorer:
    """Sums of weights of the templates whose atoms are given by name."""

    def __init__(self, templates: TemplateSet, weights: FlatFrozenWeights) -> None:
        self.templates = [template for group in templates.groups for template in group]
        keys, values = weights._keys.tolist(), weights._weights.tolist()
        self.weights = dict(zip(keys, values, strict=True))

    def __call__(self, atoms: dict[str, int], flip: int = 0) -> int:
        total = 0
        for template in self.templates:
            value = seed_of(" ".join(template))
            for atom in template:
                value += mix((atoms[atom] + seed_of(atom)) & MASK)
            feature = mix(value & MASK) ^ flip
            total += self.weights.get((feature >> 24) | 1, 0)
        return total


def signs(chunk: str) -> int:
    kinds = [kind_of(character) for character in chunk[: 3 * LONGEST]]
    found = 0
    for i, kind in enumerate(kinds):
        if kind == "at":
            found |= 1
        elif kind == "slash" and i and kinds[i - 1] == "slash":
            found |= 2
        elif kind == "digit":
            found |= 8
        elif kind == "stop" and 0 < i < len(chunk) - 1 and is_letter(chunk[i - 1]) and is_letter(chunk[i + 1]):
            found |= 16
        elif kind == "hyphen":
            found |= 32
    if len(chunk) > 4 and chunk[:3].lower() == "www":
        found |= 4
    return found


def is_known(weights: TokenizerWeights, word: str) -> int:
    """Whether a word passes the filter: three bits, of a table of the size of the filter."""
    bits = weights.runs.known.tolist()
    value = word_hash(word)
    found = 1
    for _ in range(3):
        value = mix(value)
        place = (value >> 32) * 64 * len(bits) >> 32
        found &= bits[place // 64] >> place % 64
    return found


def boundary_atoms(
    chunk: str, begin: int, at: int, before: str, after: str, weights: TokenizerWeights
) -> dict[str, int]:
    atoms: dict[str, int] = {}
    for place, name in enumerate(("L3", "L2", "L1", "R1", "R2", "R3"), start=at - 3):
        inside = 0 <= place < len(chunk)
        atoms[f"{name}.char"] = ord(lowered(chunk[place])) if inside else 0
        atoms[f"{name}.kind"] = kind_number(chunk[place]) if inside else 0
    piece, rest = chunk[max(begin, at - LONGEST) : at], chunk[at:]
    back = at - 1
    while back > begin and back > at - LONGEST and same_group(chunk[back - 1], chunk[back]):
        back -= 1
    run = 1
    while run < min(len(rest), LONGEST) and same_group(rest[run - 1], rest[run]):
        run += 1
    return atoms | {
        "L1.repeat": repeats(chunk[:at][::-1]),
        "R1.repeat": repeats(rest),
        "piece.word": word_hash(piece),
        "piece.shape": shape_hash(piece),
        "piece.length": min(at - begin, 7),
        "piece.suffix": word_hash(chunk[max(begin, at - 3) : at]),
        "back.word": word_hash(chunk[back:at]),
        "run.word": word_hash(rest[:run]),
        "rest.word": word_hash(rest),
        "rest.shape": shape_hash(rest),
        "rest.length": min(len(rest), 7),
        "rest.prefix": word_hash(rest[:3]),
        "chunk.word": word_hash(chunk),
        "chunk.shape": shape_hash(chunk),
        "chunk.length": min(len(chunk), LONGEST),
        "chunk.at": min(at, LONGEST),
        "chunk.signs": signs(chunk),
        "before.word": word_hash(before) if before else 0,
        "before.kind": kind_number(before[-1]) if before else 0,
        "after.word": word_hash(after) if after else 0,
        "after.kind": kind_number(after[0]) if after else 0,
        "after.shape": shape_hash(after) if after else 0,
        "back.known": is_known(weights, chunk[back:at]),
        "run.known": is_known(weights, rest[:run]),
    }


def is_open(chunk: str, at: int, weights: TokenizerWeights) -> bool:
    left, right = kind_of(chunk[at - 1]), kind_of(chunk[at])
    if right in ("mark", "joiner") or left == "joiner":
        return False
    if any(chunk[colon : colon + 3] == "://" and 1 <= colon < len(chunk) - 3 for colon in range(at - 3, at + 1)):
        return False
    if left in LETTERS and right in LETTERS:
        first = at - 1
        while first > 0 and is_letter(chunk[first - 1]):
            first -= 1
        last = at
        while last < len(chunk) and is_letter(chunk[last]):
            last += 1
        # Longer runs than any word are looked at in pieces.
        first += (at - 1 - first) // LONGEST * LONGEST
        last = min(last, first + LONGEST)
        runs = weights.runs
        return (
            runs.dense
            or word_hash(chunk[first:last]) in runs.runs.tolist()
            or word_hash(chunk[at:last]) in runs.suffixes.tolist()
            or word_hash(chunk[first:at]) in runs.prefixes.tolist()
        )
    if left == right == "digit":
        return False
    units = weights.runs.units.tolist()
    if units and not weights.runs.dense and left == "digit" and right in LETTERS:
        last = at
        while last < min(len(chunk), at + LONGEST) and is_letter(chunk[last]):
            last += 1
        return word_hash(chunk[at:last]) in units
    if units and not weights.runs.dense and right == "digit" and left in LETTERS:
        first = at - 1
        while first > 0 and is_letter(chunk[first - 1]):
            first -= 1
        first += (at - 1 - first) // LONGEST * LONGEST
        return word_hash(chunk[first:at]) ^ 1 in units
    return True


def split_chunk(
    chunk: str, before: str, after: str, scorer: Scorer, weights: TokenizerWeights
) -> list[tuple[str, list[int]]]:
    """Return the tokens of a chunk, each with the places inside it where its words meet."""
    tokens: list[tuple[str, list[int]]] = []
    begin = 0
    splits: list[int] = []
    for at in range(1, len(chunk)):
        if not is_open(chunk, at, weights):
            continue
        atoms = boundary_atoms(chunk, begin, at, before, after, weights)
        ending = scorer(atoms)
        splitting = scorer(atoms, 0x9E3779B97F4A7C15) if may_be(weights.runs.splits, chunk[at - 1], chunk[at]) else 0
        if ending > 0 and ending >= splitting:
            tokens.append((chunk[begin:at], splits))
            begin, splits = at, []
        elif splitting > 0:
            splits.append(at - begin)
    return [*tokens, (chunk[begin:], splits)]


def bucket(length: int) -> int:
    return (
        length if length <= 4 else 5 if length <= 6 else 6 if length <= 9 else 7 if length <= 14 else 8 + (length > 24)
    )


def gap_atoms(tokens: list[str], spaced: list[bool], place: int, first: int, is_first_sentence: bool) -> dict[str, int]:
    atoms: dict[str, int] = {}
    for index, name in enumerate(("T3", "T2", "T1", "N1", "N2", "N3"), start=place - 2):
        token = tokens[index] if 0 <= index < len(tokens) else ""
        atoms[f"{name}.word"] = word_hash(token) if token else 0
        atoms[f"{name}.shape"] = shape_hash(token) if token else 0
        atoms[f"{name}.kind"] = kind_number(token[0]) if token else 0
        atoms[f"{name}.end"] = kind_number(token[-1]) if token else 0
        atoms[f"{name}.length"] = min(len(token), 8)
    brackets = quotes = small = 0
    for token in tokens[first : place + 1]:
        kind = kind_of(token[0])
        brackets = max(0, brackets + (kind == "open") - (kind == "close"))
        quotes ^= kind == "quote"
        small += kind == "lower"
    return atoms | {
        "gap.space": int(spaced[place + 1]),
        "sentence.length": bucket(place + 1 - first),
        "sentence.first": word_hash(tokens[first]),
        "sentence.shape": shape_hash(tokens[first]),
        "sentence.open": min(brackets, 1) + 2 * quotes,
        "sentence.small": min(small, 3),
        "paragraph.left": bucket(len(tokens) - place - 1),
        "paragraph.first": int(is_first_sentence),
    }


def may_be(pairs: NDArray[np.uint8], left: str, right: str) -> bool:
    """Whether what an array is about may be between two characters."""
    return bool(pairs[kind_number(left) * len(KIND) + kind_number(right)])


def sentence_ends(tokens: list[str], spaced: list[bool], scorer: Scorer, weights: TokenizerWeights) -> list[int]:
    """Return the numbers of the tokens of a paragraph that end a sentence."""
    ends: list[int] = []
    first = 0
    for place in range(len(tokens)):
        if place + 1 == len(tokens) or (
            may_be(weights.runs.ends, tokens[place][-1], tokens[place + 1][0])
            and scorer(gap_atoms(tokens, spaced, place, first, not ends)) > 0
        ):
            ends.append(place)
            first = place + 1
    return ends


def word_atoms(forms: list[str], place: int) -> dict[str, int]:
    """Return the atoms of a token of a paragraph whose words are to be chosen."""
    atoms: dict[str, int] = {}
    for index, name in enumerate(("P2", "P1", "T0", "N1", "N2"), start=place - 2):
        form = forms[index] if 0 <= index < len(forms) else ""
        atoms[f"{name}.word"] = word_hash(form) if form else 0
        atoms[f"{name}.shape"] = shape_hash(form) if form else 0
        atoms[f"{name}.suffix"] = word_hash(form[-3:]) if form else 0
    return atoms | {"T0.ending": word_hash(forms[place][-5:]), "T0.length": min(len(forms[place]), 12)}
