"""``treetune ask``: a model and text in; out, the sentences and questions that annotators should answer next."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treetune.cli.console import note, write_json
from treetune.cli.input import ReadHelp, input_format, load_pipeline
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, check_readable, open_output
from treetune.corpus.formats import FORMATS
from treetune.corpus.sentence import Tree
from treetune.models.file_input import Input


def ask(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Trained model with a parser, such as en.")],
    source: Annotated[str, typer.Argument(metavar="IN", help="Text, in which a line end ends a sentence, or CoNLL-U.")],
    count: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many sentences to ask about.")] = 50,
    answers: Annotated[int, typer.Option(min=1, help="Questions a sentence: the main verb, then single words.")] = 4,
    questions: Annotated[
        str, typer.Option(metavar="KIND", help="What to ask about words: head, yes-no, or trees, a choice of two.")
    ] = "head",
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="File to annotate, CoNLL-U.")] = "-",
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Write the questions as JSON instead.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
) -> None:
    """Choose what to ask annotators: the sentences and words from whose answers the parser would learn most.

    Fill in HEAD and DEPREL of the words with Ask= in MISC, and HEAD 0 for the main verb; then treetune adapt.
    """
    check_readable(source)
    if output != STANDARD_STREAM:
        check_kept(output, (source,), flag="--output")
    pipeline = load_pipeline(model)
    from treetune.learning.questions import ask as chosen

    given = Input(source, input_format(source, read, pipeline), closed_lines=read is None)
    examples = given.examples(pipeline, SkipReport())
    sentences = [example.sentence for example in examples]
    kind: Any = questions
    found = chosen(pipeline, sentences, count=count, answers=answers, kind=kind, threads=threads)
    if json:
        write_json([
            {
                "text": " ".join(one.sentence.forms[1:]),
                "value": round(one.value, 4),
                "questions": [vars(question) for question in one.questions],
            }
            for one in found
        ])  # fmt: skip
    else:
        with open_output(output) as out:
            for one in found:
                out.write(FORMATS["conllu"].form(one.to_annotate(), Tree.unknown(len(one.sentence)), None))
    seconds = sum(one.seconds for one in found)
    total = sum(len(one.questions) for one in found)
    note(
        f"{total} questions about {len(found)} sentences, about {max(1, round(seconds / 60))} min of work", quiet=quiet
    )
