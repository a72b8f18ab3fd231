"""What requests hold, checked before anything is done; a field that is not known is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from treetune.corpus.constraints import Arc
from treetune.errors import DataError

Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
ModelName = Annotated[str | None, Field(description="One of /api/v1/models; without it the one in use.")]
Text = Annotated[str, Field(min_length=1, description="Plain text; sentences and words are found in it.")]


class Request(BaseModel):
    """The base of all requests."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TextRequest(Request):
    """A text for a model."""

    text: Text
    model: ModelName = None


class FixedArc(Request):
    """An arc that trees must contain: a head (0 makes the word the root), a deprel, or both."""

    sentence: int = Field(ge=0, description="From 0.")
    word: int = Field(ge=1, description="From 1.")
    head: int | None = Field(None, ge=0)
    deprel: str | None = Field(None, max_length=60)


class ParseRequest(TextRequest):
    """A text to parse."""

    constraints: list[FixedArc] = Field(default=[], max_length=2000)
    draw: bool = Field(False, description="Whether to add svg and conllu to each sentence.")
    nlf: bool = Field(False, description="Whether to add the natural logical form of each sentence, also drawn.")

    def fixed(self) -> dict[tuple[int, int], Arc]:
        """Return the constraints as pipelines take them."""
        found: dict[tuple[int, int], Arc] = {}
        for one in self.constraints:
            arc: Arc | None = one.deprel if one.head is None else one.head
            if one.head is not None and one.deprel is not None:
                arc = (one.head, one.deprel)
            if arc is None:
                raise DataError("constraints: expected a head or a deprel for each word, found neither")
            found[one.sentence, one.word] = arc
        return found


class KBestRequest(TextRequest):
    """A text whose k-best trees are wanted."""

    k: int = Field(5, ge=1)
    draw: bool = False


class CompareRequest(Request):
    """A text for two models."""

    text: Text
    models: tuple[str, str] = Field(strict=False)


class OrderRequest(TextRequest):
    """A text to be put into the order of another language."""

    to: str = Field(description="One of /api/v1/rule-sets.")


class DrawRequest(Request):
    """A tree to draw."""

    words: list[str] = Field(min_length=1)
    tags: list[str] | None = None
    heads: list[int] = Field(description="One a word; -1 is unknown.")
    labels: list[str] | None = None
    marked: list[int] = []


class ProjectRequest(Request):
    """A new project."""

    name: str = Field(min_length=1, max_length=100)
    text: Text
    format: Literal["text", "lines", "conllu"] = Field("lines", description="lines: one sentence a line.")
    question: Literal["main-verb", "trees", "arc", "fix-arcs"] = "main-verb"
    order: Literal["margin", "as-given"] = "margin"
    model: ModelName = None
    double_share: float = Field(0.0, ge=0, le=1, strict=False, description="The share that two annotators answer.")


class AnswerRequest(Request):
    """What an annotator says about a question."""

    annotator: Name
    item: int
    kind: Literal["answer", "unsure", "skip"] = "answer"
    value: Any = Field(None, description="Depends on the type of question; see the documentation.")
    seconds: float = Field(0.0, ge=0, strict=False)


class AnnotatorRequest(Request):
    """Who asks."""

    annotator: Name


class AdaptRequest(Request):
    """How to adapt the model of a project to its answers."""

    convention: Literal["auto", "ud", "verb"] = "auto"
    folds: int = Field(4, ge=2, le=10)
    seed: int = Field(1, ge=0)
    home: bool = Field(True, description="Whether to learn along the treebank that the server was started with.")


class UseRequest(Request):
    """The model that pages begin with."""

    model: str
