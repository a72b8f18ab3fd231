"""Projects: questions of four types in turn, answers, undo, several annotators, agreement, adjudication."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'web'")
pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")

from web_samples import QUERIES
from web_server import client_of

import treetune
from treetune.corpus.conllu import read_conllu
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.learning.answers import Answers, read_answers
from treetune.web.questions import check_value, decisions, joined, meaning

TEXT = "\n".join(QUERIES)


# An empty database of PostgreSQL, such as postgresql+psycopg://user:password@host/name.
POSTGRESQL = os.environ.get("TREETUNE_TEST_POSTGRESQL")


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param(
            "postgresql",
            marks=pytest.mark.skipif(
                not POSTGRESQL, reason="needs PostgreSQL: set TREETUNE_TEST_POSTGRESQL to its URL"
            ),
        ),
    ],
)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    database = POSTGRESQL if request.param == "postgresql" else None
    with client_of(tmp_path_factory.mktemp("web"), database=database) as found:
        yield found


class Project:
    """A project over the interface."""

    def __init__(self, client: Any, **content: Any) -> None:
        answer = client.post("/api/v1/projects", json={"name": "test", "text": TEXT, **content})
        assert answer.status_code == 201, answer.text
        self.client, self.number = client, answer.json()["id"]

    def post(self, path: str, status: int = 200, **content: Any) -> Any:
        answer = self.client.post(f"/api/v1/projects/{self.number}/{path}", json=content)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def get(self, path: str = "") -> Any:
        return self.client.get(f"/api/v1/projects/{self.number}{path}").json()

    def answers(self) -> list[Answers]:
        text = self.client.get(f"/api/v1/projects/{self.number}/annotations.conllu").text
        return read_answers(read_conllu(text.split("\n"), partial=True))


def verb_of(item: Any) -> int:
    return QUERIES[" ".join(item["words"])]


def test_main_verbs_are_asked_by_margin_saved_and_written(client: Any) -> None:
    project = Project(client)
    found, certainties = project.post("next", annotator="Ada"), []
    while (item := found["item"]) is not None:
        certainties.append(item["certainty"])
        found = project.post("answers", annotator="Ada", item=item["id"], value=verb_of(item), seconds=2.5)
    assert certainties == sorted(certainties)
    assert found["times"] == {"answers": 20, "last": 2.5, "median": 2.5}
    written = {" ".join(one.sentence.forms[1:]): one.main_verb for one in project.answers()}
    assert written == QUERIES
    summary = project.get()
    assert summary["annotators"] == [{"name": "Ada", "answer": 20, "unsure": 0, "skip": 0, "median_seconds": 2.5}]
    assert (summary["answered"], summary["settled"], summary["agreement"]) == (20, 20, [])


def test_questions_come_as_given(client: Any) -> None:
    project, numbers = Project(client, order="as-given"), []
    for _ in range(3):
        item = project.post("next", annotator="Ada")["item"]
        numbers.append(item["number"])
        project.post("answers", annotator="Ada", item=item["id"], kind="skip")
    assert numbers == [1, 2, 3]


def test_undo_gives_the_question_back_with_its_answer(client: Any) -> None:
    project = Project(client)
    first = project.post("next", annotator="Ada")["item"]
    second = project.post("answers", annotator="Ada", item=first["id"], value=2)["item"]
    assert second["id"] != first["id"]
    back = project.post("undo", annotator="Ada")
    assert (back["item"]["id"], back["item"]["previous"], back["times"]["answers"]) == (first["id"], 2, 0)
    assert project.get()["answered"] == 0
    assert project.post("undo", 422, annotator="Ada") == {"error": "there is no answer to take back"}


def test_not_sure_and_skip_are_no_answers_and_are_asked_of_others(client: Any) -> None:
    project = Project(client, order="as-given")
    one = project.post("next", annotator="Ada")["item"]
    two = project.post("answers", annotator="Ada", item=one["id"], kind="unsure")["item"]
    project.post("answers", annotator="Ada", item=two["id"], kind="skip")
    assert project.get()["answered"] == 0
    assert project.post("next", annotator="Bob")["item"]["id"] == one["id"]


def test_two_annotators_get_different_questions_but_for_the_doubled_share(client: Any) -> None:
    project = Project(client, order="as-given", double_share=0.25)
    seen: dict[str, list[int]] = {"Ada": [], "Bob": []}
    left = dict.fromkeys(seen, True)
    while any(left.values()):
        for name in seen:
            item = project.post("next", annotator=name)["item"]
            left[name] = item is not None
            if item is not None:
                seen[name].append(item["number"])
                project.post("answers", annotator=name, item=item["id"], value=1 if name == "Ada" else verb_of(item))
    both = set(seen["Ada"]) & set(seen["Bob"])
    assert sorted(both) == [4, 8, 12, 16, 20]
    assert sorted({*seen["Ada"], *seen["Bob"]}) == list(range(1, 21))
    (agreement,) = project.get()["agreement"]
    assert (agreement["annotators"], agreement["questions"]) == (["Ada", "Bob"], 5)
    # By hand: of 26 words Ada marks 5 and Bob 5, both the same 3.
    lengths = [len(list(QUERIES)[number - 1].split()) for number in (4, 8, 12, 16, 20)]
    words, same = sum(lengths), 3
    observed = (words - 2 * (5 - same)) / words
    expected = (5 * 5 + (words - 5) ** 2) / words**2
    assert agreement["kappa"] == round((observed - expected) / (1 - expected), 3)


def test_disagreements_are_adjudicated_before_they_count(client: Any) -> None:
    project = Project(client, text="list hotels in Cairo", double_share=1)
    for name, value in (("Ada", 1), ("Bob", 2)):
        item = project.post("next", annotator=name)["item"]
        project.post("answers", annotator=name, item=item["id"], value=value)
    summary = project.get()
    assert (summary["disagreements"], summary["settled"]) == (1, 0)
    assert project.post("adaptations", 422) == {
        "error": "expected answers about 2 sentences or more, to learn from and test on, found 0"
    }
    (one,) = project.get("/disagreements")
    assert [answer["value"] for answer in one["answers"]] == [1, 2]
    project.post("adjudications", 204, annotator="Eve", item=one["id"], value=1)
    assert project.get()["disagreements"] == 0
    assert project.get("/disagreements")[0]["is_adjudicated"]
    assert [one.main_verb for one in project.answers()] == [1]


def test_an_arc_is_confirmed_or_excluded(client: Any) -> None:
    project = Project(client, question="arc", order="as-given", text="list hotels in Cairo")
    first = project.post("next", annotator="Ada")["item"]
    second = project.post("answers", annotator="Ada", item=first["id"], value="yes")["item"]
    project.post("answers", annotator="Ada", item=second["id"], value="no")
    (said,) = project.answers()
    assert said.known.heads[first["content"]["word"]] == first["content"]["head"]
    assert said.excluded == {second["content"]["word"]: frozenset((second["content"]["head"],))}


def test_the_chosen_tree_says_something_about_what_differs_alone(client: Any) -> None:
    project = Project(client, question="trees", text="I saw the man with the telescope.")
    item = project.post("next", annotator="Ada")["item"]
    trees = item["content"]["candidates"]
    assert 2 <= len(trees) <= 3
    assert len({tuple(one["heads"]) for one in trees}) == len(trees)
    project.post("answers", annotator="Ada", item=item["id"], value=1)
    (said,) = project.answers()
    for word in range(1, 9):
        arcs = {(one["heads"][word], one["labels"][word]) for one in trees}
        assert (word in said.words) == (len(arcs) > 1)
        assert said.known.heads[word] in (-1, trees[1]["heads"][word])
    none = Project(client, question="trees", text="I saw the man with the telescope.")
    item = none.post("next", annotator="Ada")["item"]
    none.post("answers", annotator="Ada", item=item["id"], value="none")
    assert none.client.get(f"/api/v1/projects/{none.number}/annotations.conllu").text == ""


def test_arcs_are_fixed(client: Any) -> None:
    project = Project(client, question="fix-arcs", text="list hotels in Cairo")
    item = project.post("next", annotator="Ada")["item"]
    heads = item["content"]["heads"]
    assert heads[1:] == [2, 0, 4, 2]
    error = project.post("answers", 422, annotator="Ada", item=item["id"], value={"heads": {"2": 1}})
    assert error["error"].startswith("expected one word without a head, the root, found none or several")
    error = project.post("answers", 422, annotator="Ada", item=item["id"], value={"heads": {"1": 0, "2": 4}})
    assert error["error"].startswith("expected a tree, found a cycle of the words")
    project.post("answers", annotator="Ada", item=item["id"], value={"heads": {"1": 0, "2": 1}})
    (said,) = project.answers()
    assert said.known.heads[1:] == (0, 1, -1, -1)


def test_sentences_of_a_file_keep_their_words(client: Any) -> None:
    conllu = "1\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tgo-away\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    project = Project(client, text=conllu, format="conllu")
    assert project.post("next", annotator="Ada")["item"]["words"] == ["don't", "go-away"]


@pytest.mark.parametrize(
    ("question", "value", "message"),
    [
        ("main-verb", 9, "expected the number of a word from 1 to 2 as the answer, found 9"),
        ("main-verb", True, "expected the number of a word from 1 to 2 as the answer, found True"),
        ("arc", "perhaps", "expected yes or no as the answer, found 'perhaps'"),
        ("trees", 2, "expected the number of a tree, or none as the answer, found 2"),
        ("fix-arcs", {"heads": {"1": 1}}, "expected heads by words as the answer"),
    ],
)
def test_impossible_answers_are_refused(question: str, value: Any, message: str) -> None:
    content = {"candidates": [{}, {}], "heads": [-1, 0, 1]}
    with pytest.raises(DataError) as caught:
        check_value(question, content, 2, value)
    assert str(caught.value).startswith(message)


def test_answers_about_a_sentence_are_joined_unless_they_contradict() -> None:
    sentence = Sentence.of(["a", "b", "c"])
    parts = [Answers(sentence, Tree.of(heads)) for heads in ((0, -1, -1), (-1, 1, -1), (-1, 3, 2))]
    assert joined(parts[:2]).known.heads[1:] == (0, 1, -1)
    with pytest.raises(DataError, match="form a cycle"):
        joined([parts[0], parts[2]])


def test_decisions_of_an_answer_are_what_agreement_counts() -> None:
    assert decisions("main-verb", {}, 3, 2) == [False, True, False]
    assert decisions("arc", {}, 3, "yes") == ["yes"]
    assert decisions("fix-arcs", {"heads": [-1, 2, 0, 2]}, 3, {"heads": {"3": 1}}) == [2, 0, 1]


def test_all_right_gives_the_whole_tree() -> None:
    sentence = Sentence.of(["a", "b"])
    content = {"heads": [-1, 2, 0], "labels": ["", "x", "root"]}
    said = meaning("fix-arcs", content, sentence, {"heads": {}, "all_right": True})
    assert said.known.heads[1:] == (2, 0)
    assert len(meaning("fix-arcs", content, sentence, {"heads": {}, "all_right": False})) == 0


def test_a_project_is_deleted_with_its_answers(client: Any) -> None:
    project = Project(client)
    assert client.delete(f"/api/v1/projects/{project.number}").status_code == 204
    assert client.get(f"/api/v1/projects/{project.number}").status_code == 404


def test_the_model_guesses_these_wrong() -> None:
    nlp = treetune.load("en")
    wrong = [text for text, verb in QUERIES.items() if nlp(text)[0].root.id != verb]
    assert len(wrong) >= 12
