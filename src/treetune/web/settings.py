"""What the operator of a server gives: models, a database, a folder, tokens, and the limits of requests."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """The limits of requests.

    Attributes:
        body: Bytes of a request.
        batch_body: Bytes of a batch, and of the text of a project.
        words: Words of a sentence.
        sentences: Sentences of a text, and the lists of candidates that are drawn.
        k: Candidates of a sentence.
        queue: Requests that wait for a model.
        seconds: From the arrival of a request to its answer.
        projects: Projects of a token.
        project_sentences: Sentences of a project.
        adaptations: Adaptations of a token that run or wait.
    """

    body: int = 1_000_000
    batch_body: int = 20_000_000
    words: int = 500
    sentences: int = 200
    k: int = 50
    queue: int = 4000
    seconds: float = 60.0
    projects: int = 100
    project_sentences: int = 5000
    adaptations: int = 4


@dataclass(frozen=True)
class Settings:
    """What a server is started with.

    Attributes:
        models: Files of models by name, as the operator gave them; no other file is ever loaded. The first is the
            default.
        folder: For the files of adaptations.
        database: An address of SQLAlchemy; None is a SQLite file in the folder.
        tokens: Who may use the server; projects belong to a token. None are needed on loopback.
        treebank: The home domain of adaptations: a treebank, or text.
        limits: Of requests.
    """

    models: Mapping[str, str]
    folder: Path
    database: str | None = None
    tokens: tuple[str, ...] = ()
    treebank: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def database_url(self) -> str:
        """The address of the database."""
        return self.database or f"sqlite:///{self.folder / 'treetune.db'}"

    @property
    def jobs(self) -> Path:
        """Where the adaptations are, a folder for each."""
        return self.folder / "treetune-adaptations"


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server at this address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
