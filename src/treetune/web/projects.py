"""Projects in the database: their questions in turn, answers, undo, agreement and adjudication, and what was said."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from treetune.corpus.conllu import format_conllu
from treetune.errors import DataError
from treetune.evaluation.agreement import cohen_kappa
from treetune.learning.answers import Answers
from treetune.web.database import Answer, Item, Project, Sessions
from treetune.web.questions import NewItem, check_value, decisions, joined, meaning, sentence_of

# A question that is shown to one annotator is not shown to others for so many seconds.
SHOWN = 600
ANSWER, UNSURE, SKIP, OPEN = "answer", "unsure", "skip", "open"
KINDS = (ANSWER, UNSURE, SKIP)
LONGEST = 3600.0


class NotFound(Exception):  # noqa: N818 - an answer to a client, not a fault
    """There is no such thing among the projects of this token."""


class Projects:
    """The projects of a server; each belongs to the token under which it was made."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        # One process serves a database: two annotators do not get the same question.
        self._turn = threading.Lock()

    def create(self, owner: str, items: Sequence[NewItem], **fields: Any) -> int:
        """Store a project with its questions; return its number."""
        with self._sessions.begin() as session:
            project = Project(owner=owner, **fields)
            session.add(project)
            session.flush()
            share = project.double_share
            for place, item in enumerate(items):
                # Evenly over the project: every second, every fifth, …
                is_double = int((place + 1) * share + 1e-9) > int(place * share + 1e-9)
                session.add(Item(project_id=project.id, place=place, wanted=2 if is_double else 1, **item._asdict()))
            return project.id

    def count(self, owner: str) -> int:
        """Return how many projects a token has."""
        with self._sessions() as session:
            return session.scalar(select(func.count()).select_from(Project).where(Project.owner == owner)) or 0

    def listed(self, owner: str) -> list[dict[str, Any]]:
        """Return the projects of a token, the newest first."""
        with self._sessions() as session:
            projects = session.scalars(select(Project).where(Project.owner == owner).order_by(Project.id.desc())).all()
            return [self._progress(session, project) for project in projects]

    def delete(self, owner: str, number: int) -> None:
        """Remove a project with all that was said in it."""
        with self._sessions.begin() as session:
            session.delete(self._project(session, owner, number))

    def get(self, owner: str, number: int) -> Project:
        """Return a project; NotFound if there is none of this number."""
        with self._sessions() as session:
            return self._project(session, owner, number)

    def _project(self, session: Session, owner: str, number: int) -> Project:
        found = session.get(Project, number)
        if found is None or found.owner != owner:
            raise NotFound(f"there is no project {number}; see the list of projects")
        return found

    def _progress(self, session: Session, project: Project) -> dict[str, Any]:
        items = select(func.count()).select_from(Item).where(Item.project_id == project.id)
        settled = (
            select(func.count(Answer.item_id.distinct()))
            .join(Item, Item.id == Answer.item_id)
            .where(Item.project_id == project.id, Answer.kind == ANSWER)
        )
        return {
            "id": project.id, "name": project.name, "question": project.question, "order": project.order,
            "model": project.model, "double_share": project.double_share, "questions": session.scalar(items) or 0,
            "answered": session.scalar(settled) or 0,
        }  # fmt: skip

    def next_item(self, owner: str, number: int, annotator: str) -> dict[str, Any]:
        """Return the next question for an annotator, None as its item if there is none left."""
        with self._turn, self._sessions.begin() as session:
            project = self._project(session, owner, number)
            mine = select(Answer.item_id).where(Answer.annotator == annotator, Answer.kind != OPEN)
            taken = (
                select(Answer.item_id, func.count().label("count"))
                .where(
                    Answer.annotator != annotator,
                    or_(Answer.kind == ANSWER, and_(Answer.kind == OPEN, Answer.created > time.time() - SHOWN)),
                )
                .group_by(Answer.item_id)
                .subquery()
            )
            item = session.scalars(
                select(Item)
                .outerjoin(taken, taken.c.item_id == Item.id)
                .where(
                    Item.project_id == project.id,
                    Item.id.not_in(mine),
                    func.coalesce(taken.c.count, 0) < Item.wanted,
                )
                .order_by(Item.place)
                .limit(1)
            ).first()
            done = self._own(session, project.id, annotator)
            if item is not None:
                self._put(session, item.id, annotator, kind=OPEN, value=None, seconds=0.0)
            return self._shown(session, project, item, done)

    def _own(self, session: Session, project: int, annotator: str) -> list[Answer]:
        """Return what an annotator has said in a project, in order."""
        return list(
            session.scalars(
                select(Answer)
                .join(Item, Item.id == Answer.item_id)
                .where(
                    Item.project_id == project,
                    Answer.annotator == annotator,
                    Answer.kind != OPEN,
                    Answer.is_adjudication.is_(False),
                )
                .order_by(Answer.created, Answer.id)
            )
        )

    def _shown(
        self, session: Session, project: Project, item: Item | None, done: Sequence[Answer], value: Any = None
    ) -> dict[str, Any]:
        seconds = [one.seconds for one in done if one.seconds > 0]
        times = {
            "answers": len(done),
            "last": round(done[-1].seconds, 1) if done else None,
            "median": round(statistics.median(seconds), 1) if seconds else None,
        }
        content: dict[str, Any] = {"project": self._progress(session, project), "times": times, "item": None}
        if item is not None:
            sentence = sentence_of(item.conllu)
            content["item"] = {
                "id": item.id, "number": item.number, "words": sentence.forms[1:], "tags": sentence.upos[1:],
                "content": item.content, "certainty": round(item.certainty, 4), "previous": value,
            }  # fmt: skip
        return content

    def _put(self, session: Session, item: int, annotator: str, *, adjudication: bool = False, **fields: Any) -> None:
        found = session.scalars(
            select(Answer).where(
                Answer.item_id == item, Answer.annotator == annotator, Answer.is_adjudication.is_(adjudication)
            )
        ).first()
        if found is None:
            found = Answer(item_id=item, annotator=annotator, is_adjudication=adjudication)
            session.add(found)
        for name, value in {**fields, "created": time.time()}.items():
            setattr(found, name, value)

    def answer(
        self, owner: str, number: int, annotator: str, item_id: int, *, kind: str, value: Any, seconds: float,
        adjudication: bool = False,
    ) -> None:  # fmt: skip
        """Store what an annotator says about a question, in place of what was said before."""
        with self._sessions.begin() as session:
            project = self._project(session, owner, number)
            item = session.get(Item, item_id)
            if item is None or item.project_id != project.id:
                raise NotFound(f"there is no question {item_id} in project {number}; load the page again")
            if kind == ANSWER:
                value = check_value(project.question, item.content, len(sentence_of(item.conllu)), value)
            else:
                value = None
            kept = min(max(seconds, 0.0), LONGEST)
            self._put(session, item.id, annotator, adjudication=adjudication, kind=kind, value=value, seconds=kept)

    def undo(self, owner: str, number: int, annotator: str) -> dict[str, Any]:
        """Take the last answer of an annotator back, and return its question."""
        with self._turn, self._sessions.begin() as session:
            project = self._project(session, owner, number)
            done = self._own(session, project.id, annotator)
            if not done:
                raise DataError("there is no answer to take back")
            last = done.pop()
            item, value = session.get(Item, last.item_id), last.value
            self._put(session, last.item_id, annotator, kind=OPEN, value=None, seconds=0.0)
            return self._shown(session, project, item, done, value)

    def _said(self, session: Session, project: Project) -> list[tuple[Item, list[Answer]]]:
        """Return the questions with what was said about each."""
        items = session.scalars(select(Item).where(Item.project_id == project.id).order_by(Item.number, Item.id)).all()
        answers = session.scalars(
            select(Answer)
            .join(Item, Item.id == Answer.item_id)
            .where(Item.project_id == project.id, Answer.kind != OPEN)
            .order_by(Answer.created)
        ).all()
        by_item: dict[int, list[Answer]] = {}
        for one in answers:
            by_item.setdefault(one.item_id, []).append(one)
        return [(item, by_item.get(item.id, [])) for item in items]

    def summary(self, owner: str, number: int) -> dict[str, Any]:
        """Return the progress of a project: annotators with their times, agreement by pairs, open disagreements."""
        with self._sessions() as session:
            project = self._project(session, owner, number)
            said = self._said(session, project)
            content = self._progress(session, project)
        by_annotator: dict[str, list[Answer]] = {}
        pairs: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
        both: dict[tuple[str, str], int] = {}
        for item, answers in said:
            given = sorted((one for one in answers if not one.is_adjudication), key=lambda one: one.annotator)
            for one in given:
                by_annotator.setdefault(one.annotator, []).append(one)
            length = item.conllu.count("\n") if len(given) > 1 else 0
            for first, second in itertools.combinations([one for one in given if one.kind == ANSWER], 2):
                key = (first.annotator, second.annotator)
                length = len(sentence_of(item.conllu))
                made = [decisions(project.question, item.content, length, one.value) for one in (first, second)]
                pairs.setdefault(key, []).extend(zip(*made, strict=True))
                both[key] = both.get(key, 0) + 1
        return content | {
            "settled": sum(settled(answers) is not None for _, answers in said),
            "disagreements": sum(disagree(answers) for _, answers in said),
            "annotators": [
                {
                    "name": name,
                    **{kind: sum(one.kind == kind for one in own) for kind in KINDS},
                    "median_seconds": round(statistics.median(one.seconds for one in own), 1),
                }
                for name, own in sorted(by_annotator.items())
            ],
            "agreement": [
                {"annotators": list(key), "questions": both[key], "kappa": round(cohen_kappa(made) or 0.0, 3)}
                for key, made in sorted(pairs.items())
            ],
        }

    def disagreements(self, owner: str, number: int) -> list[dict[str, Any]]:
        """Return the questions that were answered differently, with who said what; adjudicated ones at the end."""
        with self._sessions() as session:
            project = self._project(session, owner, number)
            found = []
            for item, answers in self._said(session, project):
                given = [one for one in answers if one.kind == ANSWER and not one.is_adjudication]
                if any(one.value != given[0].value for one in given[1:]):
                    sentence = sentence_of(item.conllu)
                    final = next((one.value for one in answers if one.is_adjudication), None)
                    found.append({
                        "id": item.id, "number": item.number, "words": sentence.forms[1:], "content": item.content,
                        "answers": [{"annotator": one.annotator, "value": one.value} for one in given],
                        "adjudicated": final, "is_adjudicated": not disagree(answers),
                    })  # fmt: skip
            return sorted(found, key=lambda one: one["is_adjudicated"])

    def answers(self, owner: str, number: int) -> tuple[list[Answers], list[str]]:
        """Return what was said about each sentence, and why answers about some are left out."""
        with self._sessions() as session:
            project = self._project(session, owner, number)
            said = self._said(session, project)
        found, left_out = [], []
        for sentence_number, group in itertools.groupby(said, key=lambda pair: pair[0].number):
            parts = []
            for item, answers in group:
                if (value := settled(answers)) is not None:
                    parts.append(meaning(project.question, item.content, sentence_of(item.conllu), value))
                elif disagree(answers):
                    left_out.append(f"sentence {sentence_number}: the annotators disagree; adjudicate it")
            try:
                one = joined(parts) if parts else None
            except DataError as error:
                left_out.append(f"sentence {sentence_number}: {error.problem}")
                continue
            if one is not None and len(one):
                found.append(one)
        return found, left_out

    def conllu(self, owner: str, number: int) -> str:
        """Return what was said as an annotation file."""
        examples = [one.to_example() for one in self.answers(owner, number)[0]]
        return "".join(format_conllu(one.sentence, one.gold) for one in examples)


def settled(answers: Sequence[Answer]) -> Any:
    """Return the value that stands: of the adjudication, or the one that all gave; None if there is none."""
    for one in answers:
        if one.is_adjudication:
            return one.value
    values = [one.value for one in answers if one.kind == ANSWER]
    return values[0] if values and all(value == values[0] for value in values) else None


def disagree(answers: Sequence[Answer]) -> bool:
    """Whether annotators gave different answers, and nobody has adjudicated."""
    values = [one.value for one in answers if one.kind == ANSWER]
    return any(value != values[0] for value in values) and not any(one.is_adjudication for one in answers)
