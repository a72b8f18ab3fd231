"""Batches of columns to batches with parses, for ``map_batches`` of Ray Data and of whatever else has columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treetune.cluster.documents import DocumentParser
from treetune.corpus.formats import FORMATS
from treetune.errors import ConfigError, ModelError
from treetune.models.file_parsing import FileParsing
from treetune.models.pipeline import Pipeline


class Parse:
    """Parses the texts of a column: ``dataset.map_batches(Parse, fn_constructor_args=["en"], concurrency=4)``.

    The model is loaded once a worker. Each row gets two columns: `output`, its document in CoNLL-U, and `error`, why it
    could not be parsed; one of them is None.

    Args:
        model: A file, the name of a model, or a pipeline with a tokenizer.
        column: The column with the text, a document a row.
        id_column: A column to write to ``# newdoc id`` of each document.
        output: The column for CoNLL-U.
        error: The column for what is wrong with a document.
        threads: For tagging and parsing; the result is the same for any number.
    """

    def __init__(
        self,
        model: str | Path | Pipeline,
        *,
        column: str = "text",
        id_column: str | None = None,
        output: str = "conllu",
        error: str = "error",
        threads: int = 1,
    ) -> None:
        from treetune.storage import load

        pipeline = model if isinstance(model, Pipeline) else Pipeline.of(load(model))
        if pipeline.tokenizer is None:
            raise ModelError("this model has no tokenizer, and the documents are text; load a pipeline with one")
        self._documents = DocumentParser(FileParsing(pipeline, "the document", FORMATS["conllu"], threads=threads))
        self._column, self._id_column = column, id_column
        self._output, self._error = output, error

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return a batch of columns, arrays or lists, with the two columns more."""
        import numpy as np

        for name in filter(None, (self._column, self._id_column)):
            if name not in batch:
                raise ConfigError(f"expected a column {name!r}, found {', '.join(map(repr, batch)) or 'none'}")
        ids = None if self._id_column is None else list(batch[self._id_column])
        found = self._documents.parse(list(batch[self._column]), ids)
        errors = [str(one) if isinstance(one, Exception) else None for one in found]
        parses = [None if isinstance(one, Exception) else one.conllu for one in found]
        return {**batch, self._output: np.array(parses, object), self._error: np.array(errors, object)}
