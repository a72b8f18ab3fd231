"""A phrase-based translation system (Koehn et al. 2003) of the parts of thot: links, phrases, language model, search.

Words are aligned by hidden Markov models in both directions, symmetrized, and all phrases up to `PHRASE` words that
agree with the links are kept. The search has distance-based jumps alone, up to a distortion limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import thot.alignment as alignment
import thot.common as common
import thot.translation as translation

Words = Sequence[str]
Pairs = Sequence[tuple[Words, Words]]

# As in Xu et al. 2009, section 5: phrases up to length 5.
PHRASE = 5
ITERATIONS = 5
NGRAM = 3
STACK = 20
OPTIONS = 20
# Phrases whose probability is below this share of that of the best one are not considered.
PRUNING = 0.1
# Scores of translations are estimated by phrases, language model and jumps (the engine's LOCAL_TD).
HEURISTIC = 6
# The fourth weight is that of jumps: the jump table is so steep that with a weight of 1 every output is monotone.
START = (1.0, 1.0, 1.0, 0.05, 1.0, 1.0, 1.0, 0.0)


@dataclass(frozen=True)
class Output:
    """A translation with the features that its score is the weighted sum of."""

    words: tuple[str, ...]
    features: tuple[float, ...]
    is_monotone: bool


def clean(text: str) -> list[str]:
    """Return the words of a text with spaces, as the engine can take them: without what is invisible."""
    words = text.replace("\u200b", " ").replace("|||", "|").split()
    return [word for word in words if word.strip("\u200c\u200d\ufeff")]


def train_language_model(prefix: Path, sentences: Sequence[Words], held_out: Sequence[Words]) -> None:
    """Write a language model, whose interpolation weights are chosen by the perplexity of `held_out`."""
    counts: Counter[tuple[str, ...]] = Counter()
    seen: set[str] = set()
    total = 0
    for sentence in sentences:
        # The first occurrence of a word stands for those that will be unknown.
        words = ["<s>", *(word if word in seen else "<unk>" for word in sentence), "</s>"]
        seen.update(sentence)
        total += len(words)
        for size in range(1, NGRAM + 1):
            counts.update(tuple(words[start : start + size]) for start in range(len(words) - size + 1))
    with prefix.open("w", encoding="utf-8") as file:
        for ngram in sorted(counts, key=lambda one: (len(one), one)):
            file.write(f"{' '.join(ngram)} {total if len(ngram) == 1 else counts[ngram[:-1]]} {counts[ngram]}\n")
    with prefix.with_name(f"{prefix.name}.wp").open("w", encoding="utf-8") as file:
        file.writelines(" ".join(sentence) + "\n" for sentence in sentences)
    best = [0.5] * NGRAM
    for order in range(NGRAM):
        tried = [[*best[:order], weight, *best[order + 1 :]] for weight in (0.3, 0.5, 0.7, 0.9)]
        best = min(tried, key=lambda weights: _perplexity(prefix, held_out, weights))
    _write_weights(prefix, best)


def _write_weights(prefix: Path, weights: Sequence[float]) -> None:
    text = " ".join(str(weight) for weight in weights for _ in range(3))
    prefix.with_name(f"{prefix.name}.weights").write_text(f"{NGRAM} 3 10 {text}\n")


def _perplexity(prefix: Path, sentences: Sequence[Words], weights: Sequence[float]) -> float:
    _write_weights(prefix, weights)
    model = common.NGramLanguageModel()
    model.load(str(prefix))
    found = sum(model.get_sentence_log_probability(list(words)) for words in sentences)
    model.clear()
    return float(10 ** (-found / sum(len(words) + 1 for words in sentences)))


def train_translation_model(prefix: Path, pairs: Pairs, orders: Sequence[Sequence[int]] | None = None) -> None:
    """Write a translation model.

    `orders` are permutations, from 0, of source sentences: words are aligned in this order, and links mapped back
    before phrases are extracted. So a system without reordering can have the alignments of one with it.
    """
    seen = pairs
    if orders is not None:
        seen = [
            ([source[word] for word in order], target) for (source, target), order in zip(pairs, orders, strict=True)
        ]
    turned = [(target, source) for source, target in seen]
    for name, data in (("invswm", seen), ("swm", turned)):
        path = prefix.with_name(f"{prefix.name}_{name}")
        model = _alignment_model(data)
        model.print(str(path))
        links = _links(model, data)
        with path.with_name(f"{path.name}.bestal").open("w", encoding="utf-8") as file:
            for number, (found, (source, target)) in enumerate(zip(links, pairs, strict=True)):
                order = range(len(source)) if orders is None else orders[number]
                if name == "invswm":
                    file.write(_giza(source, target, [order[word - 1] + 1 if word else 0 for word in found]))
                else:
                    placed = [0] * len(source)
                    for place, word in enumerate(found):
                        placed[order[place]] = word
                    file.write(_giza(target, source, placed))
    _extract_phrases(prefix)


def _alignment_model(pairs: Pairs) -> Any:
    first = alignment.Ibm1AlignmentModel()
    model = alignment.HmmAlignmentModel(first)
    model.hmm_p0, model.lexical_smoothing_factor, model.hmm_alignment_smoothing_factor = 0.1, 0.1, 0.3
    for source, target in pairs:
        model.add_sentence_pair(source, target, 1)
    for part in (first, model):
        part.start_training()
        for _ in range(ITERATIONS):
            part.train()
        part.end_training()
    return model


def _links(model: Any, pairs: Pairs) -> Iterator[list[int]]:
    """Yield for each pair the source word, from 1, of each target word; 0 is none."""
    for start in range(0, len(pairs), 1000):
        batch = pairs[start : start + 1000]
        for _, matrix in model.get_best_alignments([one for one, _ in batch], [other for _, other in batch]):
            yield matrix.to_list()


def _giza(source: Words, target: Words, links: Sequence[int]) -> str:
    """Return the links of a pair as GIZA writes them: with each source word, the places of its target words."""
    places: list[list[str]] = [[] for _ in range(len(source) + 1)]
    for place, word in enumerate(links, start=1):
        places[word].append(str(place))
    cells = (f"{word} ({{ {' '.join([*found, ''])}}})" for word, found in zip(["NULL", *source], places, strict=True))
    return f"# 1\n{' '.join(target)}\n{' '.join(cells)}\n"


def _extract_phrases(prefix: Path) -> None:
    extractor = translation.AlignmentExtractor()
    extractor.open(f"{prefix}_swm.bestal")
    extractor.symmetrize1(f"{prefix}_invswm.bestal", f"{prefix}.A3.final", transpose=True)
    extractor.close()
    model, parameters = translation.PhraseModel(), translation.PhraseExtractParameters()
    parameters.max_target_phrase_length = PHRASE + 2
    model.build(f"{prefix}.A3.final", parameters, pseudo_ml=False)
    model.print_phrase_table(f"{prefix}.ttable", n=OPTIONS)
    model.clear()
    for name, text in {
        "lambda": "0.7 0.7",
        "srcsegmlentable": "Uniform",
        "trgcutstable": "0.999",
        "trgsegmlentable": "Geometric",
    }.items():
        prefix.with_name(f"{prefix.name}.{name}").write_text(text)


class Decoder:
    """A loaded system; weights and the distortion limit can be changed at any time."""

    def __init__(self, model: Path, language_model: Path) -> None:
        self._model = translation.SmtModel(alignment.AlignmentModelType.HMM)
        if not self._model.load_translation_model(str(model)) or not self._model.load_language_model(
            str(language_model)
        ):
            raise RuntimeError(f"{model} or {language_model} cannot be loaded")
        self._model.a = PHRASE
        self._model.e = OPTIONS
        self._model.w = PRUNING
        self._model.heuristic = HEURISTIC
        self._decoder = translation.SmtDecoder(self._model)
        self._decoder.s = STACK
        self._decoder.is_breadth_first = True

    def translate(self, sentences: Sequence[Words], weights: Sequence[float], limit: int) -> list[Output]:
        """Return the best translation of each sentence."""
        self._set(weights, limit)
        found = self._decoder.translate_batch([" ".join(words) for words in sentences])
        return [_output(one) for one in found]

    def n_best(self, sentences: Sequence[Words], weights: Sequence[float], limit: int, n: int) -> list[list[Output]]:
        """Return up to `n` translations of each sentence."""
        self._set(weights, limit)
        found = self._decoder.translate_n_batch([" ".join(words) for words in sentences], n)
        return [list(map(_output, one)) for one in found]

    def _set(self, weights: Sequence[float], limit: int) -> None:
        self._model.weights = list(weights)
        self._model.non_monotonicity = limit


def _output(found: Any) -> Output:
    starts = [start for start, _ in found.source_segmentation]
    return Output(tuple(found.target), tuple(found.score_components), starts == sorted(starts))
