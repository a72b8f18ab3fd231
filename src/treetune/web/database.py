"""The tables of projects, questions, answers and adaptations, and where they are kept."""

from __future__ import annotations

import secrets
import time
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Engine,
    Float,
    ForeignKey,
    Integer,
    String,
    Text,
    UniqueConstraint,
    create_engine,
    event,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from treetune.errors import ConfigError


class Base(DeclarativeBase):
    """All tables."""


class Setting(Base):
    """What is kept over restarts: the secret of the server, the model that a token uses."""

    __tablename__ = "settings"
    key: Mapped[str] = mapped_column(String(80), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Project(Base):
    """Sentences, a type of question and a model."""

    __tablename__ = "projects"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(String(16), index=True)
    name: Mapped[str] = mapped_column(String(100))
    question: Mapped[str] = mapped_column(String(20))
    order: Mapped[str] = mapped_column(String(20))
    model: Mapped[str] = mapped_column(String(100))
    double_share: Mapped[float] = mapped_column(Float)
    created: Mapped[float] = mapped_column(Float, default=time.time)


class Item(Base):
    """One question of a project.

    `number` is that of the sentence in the text, from 1; `place` is the turn of the question. `content` is what is
    asked; see `questions.py`.
    """

    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    number: Mapped[int] = mapped_column(Integer)
    place: Mapped[int] = mapped_column(Integer)
    wanted: Mapped[int] = mapped_column(Integer)
    certainty: Mapped[float] = mapped_column(Float)
    conllu: Mapped[str] = mapped_column(Text)
    content: Mapped[dict[str, Any]] = mapped_column(JSON)


class Answer(Base):
    """What an annotator said.

    `kind` is "answer", "unsure" or "skip"; "open" for a question that is shown and not answered yet. `seconds` is how
    long it took. An adjudication is an answer that settles the question.
    """

    __tablename__ = "answers"
    __table_args__ = (UniqueConstraint("item_id", "annotator", "is_adjudication"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), index=True)
    annotator: Mapped[str] = mapped_column(String(40), index=True)
    is_adjudication: Mapped[bool] = mapped_column(Boolean, default=False)
    kind: Mapped[str] = mapped_column(String(10))
    value: Mapped[Any] = mapped_column(JSON, nullable=True)
    seconds: Mapped[float] = mapped_column(Float, default=0.0)
    created: Mapped[float] = mapped_column(Float, default=time.time)


class AdaptationJob(Base):
    """A training in a process of its own; its files are in the folder of its number."""

    __tablename__ = "adaptations"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(String(16), index=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    is_cancelled: Mapped[bool] = mapped_column(Boolean, default=False)
    created: Mapped[float] = mapped_column(Float, default=time.time)


Sessions = sessionmaker[Session]


def connect(url: str) -> Sessions:
    """Return sessions of a database, whose tables are made if they are not there; ConfigError if that is impossible."""
    try:
        engine = create_engine(url)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
        Base.metadata.create_all(engine)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, SQLAlchemyError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"--database: expected an address like sqlite:///file.db or postgresql+psycopg://user@host/name that can "
            f"be opened, found {_without_password(url)!r} ({reason})"
        ) from None
    return sessionmaker(engine, expire_on_commit=False)


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA busy_timeout=10000")


def _without_password(url: str) -> str:
    before, at, after = url.rpartition("@")
    return f"{before.partition(':')[0]}://…@{after}" if at else url


def server_secret(sessions: Sessions) -> bytes:
    """Return the secret of a server, made at its first start."""
    with sessions.begin() as session:
        found = session.get(Setting, "secret")
        if found is None:
            found = Setting(key="secret", value=secrets.token_hex(32))
            session.add(found)
        return bytes.fromhex(found.value)


def engine_of(sessions: Sessions) -> Engine:
    """Return the engine behind sessions."""
    engine: Engine = sessions.kw["bind"]
    return engine
