"""MaltParser 1.9 as a command: trained with its defaults (nivreeager, LIBLINEAR, no pseudo-projective transformation).

It takes part where `java` is found and the variable MALTPARSER_JAR (or `--maltparser`) names its jar, with `lib/`
beside it as in its distribution; the wheel of estnltk on PyPI has both, version 1.9.0. It reads CoNLL-X: of CoNLL-U it
gets the words alone, without comments and ranges.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import conllu_columns as columns

NAME, VARIABLE, JAVA, WORDS = "MaltParser", "MALTPARSER_JAR", "java", ".conllx"
# One processor, as for all other systems; the compiler and the garbage collector of Java are counted.
_MACHINE = ("-XX:ActiveProcessorCount=1", "-Xmx4g")
TRAINING = {"parsing_algorithm": "nivreeager", "learner": "liblinear", "marking_strategy": "none"}
_FLAGS = {"parsing_algorithm": "-a", "learner": "-l", "marking_strategy": "-pp"}


def missing() -> str | None:
    """Return the sentence that says what MaltParser lacks here, None if it can run."""
    jar = os.environ.get(VARIABLE, "")
    if shutil.which(JAVA) is None:
        return f"{NAME} is left out: there is no 'java' on the path; install a Java runtime"
    if not jar:
        return f"{NAME} is left out: its jar is not named; use --maltparser JAR or set {VARIABLE}"
    return None if Path(jar).is_file() else f"{NAME} is left out: there is no file {jar}; --maltparser names its jar"


def version() -> str:
    """Return the version, which is part of the name of the jar."""
    return Path(os.environ[VARIABLE]).stem.partition("-")[2]


def write_words(target: Path, blocks: Sequence[Sequence[str]]) -> None:
    """Write what MaltParser reads of CoNLL-U: the lines of words, with heads and labels where they have them."""
    kept = {columns.ID, columns.FORM, columns.UPOS, columns.XPOS, columns.HEAD, columns.DEPREL}
    words = [[line.split("\t") for line in lines if columns.is_word(line)] for lines in blocks]
    cut = [["\t".join(cell if at in kept else "_" for at, cell in enumerate(line)) for line in one] for one in words]
    columns.write_sentences(target, cut)


def train(treebank: Path, model: Path) -> None:
    """Train a model, which has the suffix ``.mco``."""
    with tempfile.TemporaryDirectory(dir=model.parent) as folder:
        source = Path(folder, "train.conllx")
        write_words(source, list(columns.sentences(treebank)))
        options = [part for name, value in TRAINING.items() for part in (_FLAGS[name], value)]
        command = _command(Path(folder, model.name), "learn", "-i", str(source), *options)
        subprocess.run(command, check=True, stdout=sys.stderr)
        Path(folder, model.name).replace(model)


def command(model: Path, source: Path, target: Path) -> list[str]:
    """Return the command that parses the words of a file (`write_words`, beside it)."""
    return _command(model, "parse", "-i", str(source.with_suffix(WORDS)), "-o", str(target))


def _command(model: Path, flow: str, *options: str) -> list[str]:
    place = ["-w", str(model.parent.resolve()), "-c", model.stem, "-m", flow, "-v", "warn"]
    return [JAVA, *_MACHINE, "-jar", os.environ[VARIABLE], *place, *options]
