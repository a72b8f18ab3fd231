"""``treetune annotate``: sentences in, one question about each in the terminal; out, the marks of main verbs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from treetune.cli.console import note, printable
from treetune.cli.input import DEFAULT_MODEL, ReadHelp, input_format, load_pipeline
from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, check_readable, open_output
from treetune.corpus.sentence import Example, Sentence, Tree, comment_value, with_comment
from treetune.errors import ConfigError, unknown_name
from treetune.learning.guideline import GUIDELINE, QUESTION
from treetune.models.file_input import Input

ORDERS = ("margin", "as-given")
# Where a sentence stands that has no mark: not sure, or skipped.
STATE, UNSURE, SKIPPED = "main_verb", "not sure", "skipped"
KEYS = "Enter takes it, NUMBER another, n not sure, s skip, u undo, g guideline, q quit"


def annotate(
    source: Annotated[str, typer.Argument(metavar="IN", help="Text, in which a line end ends a sentence, or CoNLL-U.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Marks, CoNLL-U; continued if it is there.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="Makes the guesses.")] = DEFAULT_MODEL,
    order: Annotated[
        str, typer.Option(metavar="NAME", help="margin: the least certain sentences first; or as-given.")
    ] = "margin",
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No guideline at the start, and no summary.")] = False,
) -> None:
    """Mark the main verb of sentences in the terminal, saved after every answer; then treetune adapt.

    The file is written again after each answer. Started again, the command goes on where it ended.
    """
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if STANDARD_STREAM in (source, output):
        raise ConfigError("expected files as IN and OUT: the answers come from the terminal")
    check_readable(source)
    check_kept(output, (source,), flag="--output")
    pipeline = load_pipeline(model)
    from treetune.learning.questions import questions_about

    found = Input(source, input_format(source, read, pipeline), closed_lines=read is None)
    sentences = [one.sentence for one in found.examples(pipeline, SkipReport()) if len(one.sentence)]
    asked = questions_about(pipeline, sentences, answers=1)
    places = list(range(len(asked)))
    if order == "margin":
        places.sort(key=lambda place: asked[place].questions[0].probability)
    work = _Work([one.sentence for one in asked], [one.questions[0].heads[0] for one in asked], places, output)
    work.resume()
    if not quiet:
        _write(_guideline())
    work.ask()
    count = sum(isinstance(one, int) for one in work.said.values())
    note(
        f"{count} main verbs of {len(asked)} sentences in {output}; next: treetune adapt {model} {output}", quiet=quiet
    )


class _Work:
    """What was said so far, by the place of a sentence in the file: the number of a word, or why there is none."""

    def __init__(self, sentences: Sequence[Sentence], guesses: Sequence[int], places: list[int], output: str) -> None:
        self.sentences, self.guesses, self.places, self.output = sentences, guesses, places, output
        self.said: dict[int, int | str] = {}
        self.done: list[int] = []

    def resume(self) -> None:
        """Take over what a file has that was written before."""
        if not Path(self.output).exists():
            return
        by_forms = {example.sentence.forms: example for example in read_conllu(self.output, partial=True)}
        for place, sentence in enumerate(self.sentences):
            if (example := by_forms.get(sentence.forms)) is not None:
                state = comment_value(example.sentence, STATE)
                if example.gold.roots or state in (UNSURE, SKIPPED):
                    self.said[place] = example.gold.roots[0] if example.gold.roots else str(state)
                    self.done.append(place)

    def ask(self) -> None:
        """Ask until all is said, or the user has had enough."""
        while (place := next((one for one in self.places if one not in self.said), None)) is not None:
            sentence, guess = self.sentences[place], self.guesses[place]
            _write(f"\n{len(self.said) + 1} of {len(self.sentences)}. {QUESTION}\n  {_numbered(sentence, guess)}")
            _write(f"{guess} {sentence.forms[guess]}? ", end="")
            line = sys.stdin.readline()
            answer = line.strip().lower()
            if not line or answer == "q":
                return
            if answer == "" or (answer.isdecimal() and 1 <= int(answer) <= len(sentence)):
                self._say(place, int(answer or guess))
            elif answer in ("n", "s"):
                self._say(place, UNSURE if answer == "n" else SKIPPED)
            elif answer == "u":
                if self.done:
                    del self.said[self.done.pop()]
                    self._save()
            elif answer == "g":
                _write(_guideline())
            else:
                _write(f"expected a number from 1 to {len(sentence)}, n, s, u, g or q, found {answer!r}: {KEYS}")

    def _say(self, place: int, value: int | str) -> None:
        self.said[place] = value
        self.done.append(place)
        self._save()

    def _save(self) -> None:
        with open_output(self.output) as out:
            for place in sorted(self.said):
                sentence, value = self.sentences[place], self.said[place]
                if isinstance(value, str):
                    sentence = with_comment(sentence, STATE, value)
                heads = [0 if value == word else -1 for word in range(1, len(sentence) + 1)]
                example = Example(sentence, Tree.of(heads))
                out.write(format_conllu(example.sentence, example.gold))


def _numbered(sentence: Sentence, guess: int) -> str:
    words = (f"{word} {sentence.forms[word]}" for word in range(1, len(sentence) + 1))
    return "  ".join(f"[{text}]" if word == guess else text for word, text in enumerate(words, start=1))


def _guideline() -> str:
    lines = [f"{QUESTION} {KEYS}."]
    for case in GUIDELINE:
        words = " ".join(word.upper() if place == case.marked else word for place, word in enumerate(case.example, 1))
        lines.append(f"  {case.title + ':':<18} {words}. {case.rule}")
    return "\n".join(lines)


def _write(text: str, end: str = "\n") -> None:
    sys.stdout.write(printable(text) + end)
    sys.stdout.flush()
