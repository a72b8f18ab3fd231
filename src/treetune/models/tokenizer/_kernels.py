"""Kernels of the tokenizer: characters to chunks, chunks to tokens, tokens to sentences; and how both are learned.

A chunk is a run of characters without white space. At each position where a token may end (`is_open`) the atoms are
filled, templates of atoms become features (as in the parsers: an atom is hashed with its seed, a feature is the
mixed sum of its atoms), and the sums of their weights decide. Between two tokens the same is done with other atoms, to
tell whether a sentence ends. Both go from left to right, and their atoms look at what was decided before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, mix, part
from treetune.models.tokenizer.characters import KIND
from treetune.weights._flat_kernels import STEPS, add_weight, flat_is_short, mark, may_have, sum_weights

# What is after a character: more of the same word, another word of the same token, a token, a sentence.
INSIDE, SPLIT, TOKEN, SENTENCE = 0, 1, 2, 3
# What is before a chunk or a token; CLOSED is the end of a line that is a sentence of its own.
NOTHING, BLANK, LINE, PARAGRAPH, CLOSED = 0, 1, 2, 3, 4
# How sentences end: as learned, or with each line.
LEARNED, AT_LINES = 0, 1

# Of a longer word the first characters and the length are looked at, so that time is linear in the text.
LONGEST = 24
# A longer sentence is cut: no parser should meet a million words in one.
MOST_TOKENS = 1000

CHARACTERS = ("L3", "L2", "L1", "R1", "R2", "R3")
BOUNDARY_ATOMS = (
    *(f"{index}.char" for index in CHARACTERS),
    *(f"{index}.kind" for index in CHARACTERS),
    "L1.repeat", "R1.repeat",
    "piece.word", "piece.shape", "piece.length", "piece.suffix",
    "back.word", "run.word",
    "rest.word", "rest.shape", "rest.length", "rest.prefix",
    "chunk.word", "chunk.shape", "chunk.length", "chunk.at", "chunk.signs",
    "before.word", "before.kind", "after.word", "after.kind", "after.shape",
    "back.known", "run.known",
)  # fmt: skip
NEIGHBOURS = ("T3", "T2", "T1", "N1", "N2", "N3")
GAP_ATOMS = (
    *(f"{index}.{value}" for index in NEIGHBOURS for value in ("word", "shape", "kind", "end", "length")),
    "gap.space",
    "sentence.length", "sentence.first", "sentence.shape", "sentence.open", "sentence.small",
    "paragraph.left", "paragraph.first",
)  # fmt: skip

_LOWER, _UPPER, _LETTER, _MARK = (np.uint8(KIND[name]) for name in ("lower", "upper", "letter", "mark"))
_SPACE, _JOINER, _DIGIT, _STOP = (np.uint8(KIND[name]) for name in ("space", "joiner", "digit", "stop"))
_OPEN, _CLOSE, _QUOTE, _AT, _SLASH = (np.uint8(KIND[name]) for name in ("open", "close", "quote", "at", "slash"))
_HYPHEN, _COMMA = np.uint8(KIND["hyphen"]), np.uint8(KIND["comma"])

_KINDS = len(KIND)
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
# Turns the features of "a token ends" into those of "a word of the token ends".
_SPLIT_BITS = np.uint64(0x9E3779B97F4A7C15)
_AS_IT_IS = np.uint64(0)
# Turns the hash of a run after digits into that of one before them.
BEFORE_DIGITS = np.uint64(1)
_SETTLED = 0.01


class Templates(NamedTuple):
    """Templates of atoms: `atoms[starts[i]:starts[i + 1]]` are those of template i, as indices of `used`."""

    used: NDArray[np.int32]
    atom_seeds: NDArray[np.uint64]
    starts: NDArray[np.int32]
    atoms: NDArray[np.int32]
    seeds: NDArray[np.uint64]


class Workspace(NamedTuple):
    """Working memory of one thread."""

    values: NDArray[np.uint64]
    hashed: NDArray[np.uint64]
    features: NDArray[np.uint64]
    asked: NDArray[np.uint64]
    indices: NDArray[np.int64]


class Chunks(NamedTuple):
    """Where the runs without white space are, and what sets each off from the one before."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    gaps: NDArray[np.uint8]


class Runs(NamedTuple):
    """Where words may end within letters: in these runs, before these suffixes, after these prefixes; or everywhere.

    `units` are runs that were cut off from digits, before or after them; no others are, unless there are none. All four
    are sorted hashes. `known` is a filter of the runs that are words. `splits` and `ends` say whether words of a token
    may meet, and sentences end, between characters of two kinds.
    """

    runs: NDArray[np.uint64]
    suffixes: NDArray[np.uint64]
    prefixes: NDArray[np.uint64]
    units: NDArray[np.uint64]
    known: NDArray[np.uint64]
    splits: NDArray[np.uint8]
    ends: NDArray[np.uint8]
    dense: bool


class Tokens(NamedTuple):
    """Where tokens are, and how each is set off from the one before; `words` and `shapes` are their hashes."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    gaps: NDArray[np.uint8]
    words: NDArray[np.uint64]
    shapes: NDArray[np.uint64]


@entry
def find_chunks(text, chunks):  # type: ignore[no-untyped-def]
    """Find the runs of characters without white space; return their number.

    What sets a chunk off is NOTHING only for the first one of a text. Two line ends make a paragraph.
    """
    count = 0
    lines = 0
    inside = False
    size = text.kinds.shape[0]
    for i in range(size):
        if text.kinds[i] == _SPACE:
            if inside:
                chunks.ends[count] = i
                count += 1
                inside = False
                lines = 0
            code = text.lower[i]
            if code == 10 or (code == 13 and not (i + 1 < size and text.lower[i + 1] == 10)) or code == 0x2028:
                lines += 1
            elif code == 12 or code == 0x2029:
                lines += 2
        elif not inside:
            chunks.starts[count] = i
            chunks.gaps[count] = NOTHING if count == 0 else PARAGRAPH if lines > 1 else LINE if lines == 1 else BLANK
            inside = True
    if inside:
        chunks.ends[count] = size
        count += 1
    return count


@inner
def hash_word(lower, first, last):  # type: ignore[no-untyped-def]
    """Return the hash of characters; FNV-1a."""
    value = _FNV_START
    end = min(last, first + LONGEST)
    for i in range(first, end):
        value = (value ^ np.uint64(lower[i])) * _FNV_PRIME
    if last > end:
        value = (value ^ np.uint64(last - first)) * _FNV_PRIME
    return value


@inner
def hash_shape(kinds, first, last):  # type: ignore[no-untyped-def]
    """Return the hash of the kinds of characters, of a run of one kind two at most."""
    value = _FNV_START
    end = min(last, first + LONGEST)
    for i in range(first, end):
        if i >= first + 2 and kinds[i] == kinds[i - 1] and kinds[i] == kinds[i - 2]:
            continue
        value = (value ^ np.uint64(kinds[i])) * _FNV_PRIME
    return value


@inner
def is_letter(kind):  # type: ignore[no-untyped-def]
    """Whether a character continues a word."""
    return kind == _LOWER or kind == _UPPER or kind == _LETTER or kind == _MARK


@inner
def same_group(left, right):  # type: ignore[no-untyped-def]
    """Whether two kinds make one run: letters, digits, or the same kind twice."""
    return left == right or (is_letter(left) and is_letter(right))


@inner
def run_end(kinds, first, last):  # type: ignore[no-untyped-def]
    """Return where the run that begins at `first` ends."""
    i = first + 1
    end = min(last, first + LONGEST)
    while i < end and same_group(kinds[i - 1], kinds[i]):
        i += 1
    return i


@inner
def letters_end(kinds, first, last):  # type: ignore[no-untyped-def]
    """Return where the letters that begin at `first` end, or LONGEST after it."""
    i = first
    end = min(last, first + LONGEST)
    while i < end and is_letter(kinds[i]):
        i += 1
    return i


@inner
def is_listed(hashes, value):  # type: ignore[no-untyped-def]
    """Whether a sorted array has a value."""
    low, high = 0, hashes.shape[0]
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < hashes.shape[0] and hashes[low] == value


@inner
def has_split(lower, runs, begin, at, end):  # type: ignore[no-untyped-def]
    """Whether the letters [begin, end) have a suffix or a prefix at `at` at which words meet."""
    if runs.suffixes.shape[0] > 0 and is_listed(runs.suffixes, hash_word(lower, at, end)):
        return True
    return runs.prefixes.shape[0] > 0 and is_listed(runs.prefixes, hash_word(lower, begin, at))


@inner
def is_scheme(lower, first, last, at):  # type: ignore[no-untyped-def]
    """Whether the position before `at` is beside or within the ``://`` of an address."""
    for colon in range(max(first + 1, at - 3), min(at, last - 4) + 1):
        if lower[colon] == 58 and lower[colon + 1] == 47 and lower[colon + 2] == 47:
            return True
    return False


@inner
def is_open(text, first, last, at, runs, letters, run, in_split_run):  # type: ignore[no-untyped-def]
    """Whether a word may end between the characters `at - 1` and `at` of the chunk [first, last).

    Never before a mark, beside a joiner or at the ``://`` of an address; within letters (the run [letters, run)) only
    where letters like these were split in training, and beside digits where they were cut off, or anywhere in a script
    without spaces; never within digits.
    """
    left, right = text.kinds[at - 1], text.kinds[at]
    if right == _MARK or right == _JOINER or left == _JOINER:
        return False
    if (right == _SLASH or right == _COMMA or left == _SLASH) and is_scheme(text.lower, first, last, at):
        return False
    if is_letter(left) and is_letter(right):
        return in_split_run or runs.dense or has_split(text.lower, runs, letters, at, run)
    if left == _DIGIT and right == _DIGIT:
        return False
    if runs.units.shape[0] > 0 and not runs.dense:
        if left == _DIGIT and is_letter(right):
            return is_listed(runs.units, hash_word(text.lower, at, letters_end(text.kinds, at, last)))
        if right == _DIGIT and is_letter(left):
            return is_listed(runs.units, hash_word(text.lower, letters, at) ^ BEFORE_DIGITS)
    return True


@inner
def repeats(lower, at, step, limit):  # type: ignore[no-untyped-def]
    """Return how often the character at a position stands in a row from there, 4 at most."""
    count = 1
    i = at + step
    while count < 4 and i != limit and lower[i] == lower[at]:
        count += 1
        i += step
    return np.uint64(count)


@inner
def signs_of(text, first, last):  # type: ignore[no-untyped-def]
    """Return what a chunk has of what addresses and numbers have, as bits."""
    signs = np.uint64(0)
    kinds, lower = text.kinds, text.lower
    end = min(last, first + 3 * LONGEST)
    for i in range(first, end):
        kind = kinds[i]
        if kind == _AT:
            signs |= np.uint64(1)
        elif kind == _SLASH and i > first and kinds[i - 1] == _SLASH:
            signs |= np.uint64(2)
        elif kind == _DIGIT:
            signs |= np.uint64(8)
        elif kind == _STOP and i > first and i + 1 < last and is_letter(kinds[i - 1]) and is_letter(kinds[i + 1]):
            signs |= np.uint64(16)
        elif kind == _HYPHEN:
            signs |= np.uint64(32)
    if last - first > 4 and lower[first] == 119 and lower[first + 1] == 119 and lower[first + 2] == 119:
        signs |= np.uint64(4)
    return signs


@part
def fill_chunk(values, text, chunks, chunk):  # type: ignore[no-untyped-def]
    """Fill the atoms that are the same for all positions of a chunk."""
    starts, ends, gaps = chunks.starts, chunks.ends, chunks.gaps
    first, last = starts[chunk], ends[chunk]
    values[24] = hash_word(text.lower, first, last)
    values[25] = hash_shape(text.kinds, first, last)
    values[26] = np.uint64(min(last - first, LONGEST))
    values[28] = signs_of(text, first, last)
    values[29] = values[30] = values[31] = values[32] = values[33] = np.uint64(0)
    if chunk > 0 and gaps[chunk] != PARAGRAPH and gaps[chunk] != NOTHING:
        values[29] = hash_word(text.lower, starts[chunk - 1], ends[chunk - 1])
        values[30] = np.uint64(text.kinds[ends[chunk - 1] - 1])
    if chunk + 1 < starts.shape[0] and gaps[chunk + 1] != PARAGRAPH and gaps[chunk + 1] != NOTHING:
        values[31] = hash_word(text.lower, starts[chunk + 1], ends[chunk + 1])
        values[32] = np.uint64(text.kinds[starts[chunk + 1]])
        values[33] = hash_shape(text.kinds, starts[chunk + 1], ends[chunk + 1])


@inner
def is_known(known, word):  # type: ignore[no-untyped-def]
    """Return 1 if a word passes a filter of three bits a word, else 0."""
    first = mix(word)
    second = mix(first)
    return may_have(known, first) & may_have(known, second) & may_have(known, mix(second))


@entry
def add_known(known, words):  # type: ignore[no-untyped-def]
    """Let words pass a filter."""
    for i in range(words.shape[0]):
        bits = words[i]
        for _ in range(3):
            bits = mix(bits)
            mark(known, bits)


@part
def fill_boundary(values, text, known, first, last, begin, at):  # type: ignore[no-untyped-def]
    """Fill the atoms of the position before character `at` of the chunk [first, last), with a piece from `begin` on.

    `known` is a filter of words.
    """
    lower, kinds = text.lower, text.kinds
    for i in range(6):
        index = at - 3 + i
        inside = first <= index < last
        values[i] = np.uint64(lower[index]) if inside else np.uint64(0)
        values[6 + i] = np.uint64(kinds[index]) if inside else np.uint64(0)
    values[12] = repeats(lower, at - 1, -1, first - 1)
    values[13] = repeats(lower, at, 1, last)
    values[14] = hash_word(lower, max(begin, at - LONGEST), at)
    values[15] = hash_shape(kinds, max(begin, at - LONGEST), at)
    values[16] = np.uint64(min(at - begin, 7))
    values[17] = hash_word(lower, max(begin, at - 3), at)
    back = at - 1
    while back > begin and back > at - LONGEST and same_group(kinds[back - 1], kinds[back]):
        back -= 1
    values[18] = hash_word(lower, back, at)
    values[19] = hash_word(lower, at, run_end(kinds, at, last))
    values[20] = hash_word(lower, at, last)
    values[21] = hash_shape(kinds, at, last)
    values[22] = np.uint64(min(last - at, 7))
    values[23] = hash_word(lower, at, min(last, at + 3))
    values[27] = np.uint64(min(at - first, LONGEST))
    values[34] = is_known(known, values[18])
    values[35] = is_known(known, values[19])


@inner
def fill_features(templates, work):  # type: ignore[no-untyped-def]
    """Turn the atoms in `work.values` into features; return their number."""
    for i in range(templates.used.shape[0]):
        work.hashed[i] = mix(work.values[templates.used[i]] + templates.atom_seeds[i])
    count = templates.seeds.shape[0]
    for i in range(count):
        total = templates.seeds[i]
        for j in range(templates.starts[i], templates.starts[i + 1]):
            total += work.hashed[templates.atoms[j]]
        work.features[i] = mix(total)
    return count


@inner
def weigh(store, work, count, bits):  # type: ignore[no-untyped-def]
    """Return the summed weights of the features, with some bits turned; the sum needs a copy that it may change."""
    for i in range(count):
        work.asked[i] = work.features[i] ^ bits
    return sum_weights(store, work.asked, work.indices, count)


@inner
def kind_pair(text, end, start):  # type: ignore[no-untyped-def]
    """Return the number of the kinds of the character before `end` and of that at `start`."""
    return np.int64(text.kinds[end - 1]) * _KINDS + np.int64(text.kinds[start])


@entry
def split_chunks(text, chunks, runs, templates, store, work, tokens, marks):  # type: ignore[no-untyped-def]
    """Find the tokens of all chunks; return their number. SPLIT in `marks` is where words of one token meet."""
    count = 0
    for chunk in range(chunks.starts.shape[0]):
        first, last = chunks.starts[chunk], chunks.ends[chunk]
        begin = first
        gap = chunks.gaps[chunk]
        filled = False
        run = letters = first
        in_split_run = False
        for at in range(first + 1, last):
            if at > run:
                letters = at - 1
                run = letters_end(text.kinds, letters, last)
                in_split_run = run > at and is_listed(runs.runs, hash_word(text.lower, letters, run))
                run = max(run, at)
            if not is_open(text, first, last, at, runs, letters, run, in_split_run):
                continue
            if not filled:
                fill_chunk(work.values, text, chunks, chunk)
                filled = True
            fill_boundary(work.values, text, runs.known, first, last, begin, at)
            features = fill_features(templates, work)
            ending = weigh(store, work, features, _AS_IT_IS)
            splitting = -np.inf
            if runs.splits[kind_pair(text, at, at)]:
                splitting = weigh(store, work, features, _SPLIT_BITS)
            if ending > 0 and ending >= splitting:
                tokens.starts[count], tokens.ends[count], tokens.gaps[count] = begin, at, gap
                count += 1
                begin = at
                gap = np.uint8(NOTHING)
            elif splitting > 0:
                marks[at - 1] = SPLIT
        tokens.starts[count], tokens.ends[count], tokens.gaps[count] = begin, last, gap
        count += 1
    return count


@entry
def learn_chunks(text, chunks, firsts, order, done, marks, runs, templates, store, averages, work, rate):  # type: ignore[no-untyped-def]
    """Learn the tokens of paragraphs in an order, from `done` on; return how many are done: fewer if room is short.

    The chunks of paragraph p are those from `firsts[p]` to before `firsts[p + 1]`; `marks` says what follows each
    character.
    """
    starts, ends = chunks.starts, chunks.ends
    needed = 2 * templates.seeds.shape[0]
    for step in range(done, order.shape[0]):
        paragraph = order[step]
        changes = needed * (ends[firsts[paragraph + 1] - 1] - starts[firsts[paragraph]])
        if flat_is_short(store, averages, changes):
            return step
        for chunk in range(firsts[paragraph], firsts[paragraph + 1]):
            averages.counters[STEPS] += 1
            first, last = starts[chunk], ends[chunk]
            begin = first
            filled = False
            run = letters = first
            in_split_run = False
            for at in range(first + 1, last):
                if marks[at - 2] >= TOKEN and at - 2 >= begin:
                    begin = at - 1
                if at > run:
                    letters = at - 1
                    run = letters_end(text.kinds, letters, last)
                    in_split_run = run > at and is_listed(runs.runs, hash_word(text.lower, letters, run))
                    run = max(run, at)
                if not is_open(text, first, last, at, runs, letters, run, in_split_run):
                    continue
                if not filled:
                    fill_chunk(work.values, text, chunks, chunk)
                    filled = True
                fill_boundary(work.values, text, runs.known, first, last, begin, at)
                features = fill_features(templates, work)
                ending = weigh(store, work, features, _AS_IT_IS)
                splitting = -np.inf
                if runs.splits[kind_pair(text, at, at)]:
                    splitting = weigh(store, work, features, _SPLIT_BITS)
                largest = max(0.0, ending, splitting)
                total = np.exp(-largest) + np.exp(ending - largest) + np.exp(splitting - largest)
                wrong = (1.0 if marks[at - 1] == SPLIT else 0.0) - np.exp(splitting - largest) / total
                if abs(wrong) > _SETTLED:
                    for i in range(features):
                        add_weight(store, averages, work.features[i] ^ _SPLIT_BITS, rate * wrong)
                wrong = (1.0 if marks[at - 1] >= TOKEN else 0.0) - np.exp(ending - largest) / total
                if abs(wrong) > _SETTLED:
                    for i in range(features):
                        add_weight(store, averages, work.features[i], rate * wrong)
    return order.shape[0]


@entry
def describe_tokens(text, tokens, count):  # type: ignore[no-untyped-def]
    """Fill in the hashes of tokens."""
    for i in range(count):
        tokens.words[i] = hash_word(text.lower, tokens.starts[i], tokens.ends[i])
        tokens.shapes[i] = hash_shape(text.kinds, tokens.starts[i], tokens.ends[i])


@inner
def bucket(length):  # type: ignore[no-untyped-def]
    """Return a number of tokens as one of few: exact up to 4."""
    if length <= 4:
        return np.uint64(length)
    if length <= 6:
        return np.uint64(5)
    if length <= 9:
        return np.uint64(6)
    if length <= 14:
        return np.uint64(7)
    return np.uint64(8) if length <= 24 else np.uint64(9)


_FIRST, _BRACKETS, _QUOTES, _SMALL, _SENTENCES = 0, 1, 2, 3, 4


@inner
def begin_sentence(numbers, token):  # type: ignore[no-untyped-def]
    """Let a sentence begin with a token."""
    numbers[_FIRST] = token
    numbers[_BRACKETS] = numbers[_QUOTES] = numbers[_SMALL] = 0


@inner
def take_token(numbers, text, tokens, token):  # type: ignore[no-untyped-def]
    """Count what a token adds to the sentence."""
    kind = text.kinds[tokens.starts[token]]
    if kind == _OPEN:
        numbers[_BRACKETS] += 1
    elif kind == _CLOSE and numbers[_BRACKETS] > 0:
        numbers[_BRACKETS] -= 1
    elif kind == _QUOTE:
        numbers[_QUOTES] ^= 1
    elif kind == _LOWER:
        numbers[_SMALL] += 1


@part
def fill_gap(values, text, tokens, first, last, token, numbers):  # type: ignore[no-untyped-def]
    """Fill the atoms of the position after a token of the paragraph with the tokens [first, last)."""
    for i in range(6):
        index = token - 2 + i
        base = 5 * i
        if first <= index < last:
            values[base] = tokens.words[index]
            values[base + 1] = tokens.shapes[index]
            values[base + 2] = np.uint64(text.kinds[tokens.starts[index]])
            values[base + 3] = np.uint64(text.kinds[tokens.ends[index] - 1])
            values[base + 4] = np.uint64(min(tokens.ends[index] - tokens.starts[index], 8))
        else:
            values[base : base + 5] = np.uint64(0)
    start = numbers[_FIRST]
    values[30] = np.uint64(tokens.gaps[token + 1] != NOTHING)
    values[31] = bucket(token + 1 - start)
    values[32] = tokens.words[start]
    values[33] = tokens.shapes[start]
    values[34] = np.uint64(min(numbers[_BRACKETS], 1) + 2 * numbers[_QUOTES])
    values[35] = np.uint64(min(numbers[_SMALL], 3))
    values[36] = bucket(last - token - 1)
    values[37] = np.uint64(numbers[_SENTENCES] == 0)


@inner
def paragraph_end(tokens, first, count):  # type: ignore[no-untyped-def]
    """Return the token before which the next paragraph begins."""
    last = first + 1
    while last < count and tokens.gaps[last] != PARAGRAPH:
        last += 1
    return last


@entry
def split_sentences(text, tokens, count, mode, runs, templates, store, work, is_last):  # type: ignore[no-untyped-def]
    """Mark in `is_last` the tokens that end a sentence."""
    numbers = np.zeros(5, np.int64)
    first = np.int64(0)
    while first < count:
        last = paragraph_end(tokens, first, count)
        begin_sentence(numbers, first)
        numbers[_SENTENCES] = 0
        for token in range(first, last):
            take_token(numbers, text, tokens, token)
            if token + 1 == last or token + 1 - numbers[_FIRST] >= MOST_TOKENS:
                ends = True
            elif mode == AT_LINES:
                ends = tokens.gaps[token + 1] == LINE
            elif tokens.gaps[token + 1] == CLOSED:
                ends = True
            elif not runs.ends[kind_pair(text, tokens.ends[token], tokens.starts[token + 1])]:
                ends = False
            else:
                fill_gap(work.values, text, tokens, first, last, token, numbers)
                features = fill_features(templates, work)
                ends = weigh(store, work, features, _AS_IT_IS) > 0
            if ends:
                is_last[token] = True
                numbers[_SENTENCES] += 1
                begin_sentence(numbers, token + 1)
        first = last


@entry
def learn_sentences(text, tokens, firsts, order, done, is_last, runs, templates, store, averages, work, rate):  # type: ignore[no-untyped-def]
    """Learn the ends of sentences of paragraphs in an order; as `learn_chunks`, with tokens instead of chunks."""
    numbers = np.zeros(5, np.int64)
    needed = templates.seeds.shape[0]
    for step in range(done, order.shape[0]):
        first, last = firsts[order[step]], firsts[order[step] + 1]
        if flat_is_short(store, averages, needed * (last - first)):
            return step
        begin_sentence(numbers, first)
        numbers[_SENTENCES] = 0
        for token in range(first, last - 1):
            averages.counters[STEPS] += 1
            take_token(numbers, text, tokens, token)
            if runs.ends[kind_pair(text, tokens.ends[token], tokens.starts[token + 1])]:
                fill_gap(work.values, text, tokens, first, last, token, numbers)
                features = fill_features(templates, work)
                score = weigh(store, work, features, _AS_IT_IS)
                wrong = (1.0 if is_last[token] else 0.0) - 1.0 / (1.0 + np.exp(-score))
                if abs(wrong) > _SETTLED:
                    for i in range(features):
                        add_weight(store, averages, work.features[i], rate * wrong)
            if is_last[token]:
                numbers[_SENTENCES] += 1
                begin_sentence(numbers, token + 1)
    return order.shape[0]
