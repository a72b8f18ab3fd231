"""The pages in a browser: Debian's Chromium, driven by Playwright; skipped aloud where one of them is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'web'")
pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium, or CHROMIUM=FILE"),
]

from web_samples import NEW_QUERY, NEW_ROOT, QUERIES  # noqa: E402
from web_server import Running, server  # noqa: E402

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
HOSTILE = "<script>document.title = 'broken'</script> & <img src=x onerror=\"document.title = 'broken'\"> \x07 \x1b[31m"
# Whether the question about some words is answered.
GONE = """words => document.querySelector('#done:not([hidden])') ||
    [...document.querySelectorAll('.words button')].map(one => one.firstChild.data).join(' ') !== words"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with server(tmp_path_factory.mktemp("web")) as found:
        yield found


class Visitor:
    """A page of a browser of its own; what it asks for elsewhere, and what goes wrong in it, is kept."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        self.address = address
        self.faults: list[str] = []
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "blob:", "data:")):
            self.faults.append(url)

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def new_project(self, text: str, **choices: str) -> int:
        self.open("/projects")
        self.page.fill("#text", text)
        for name, value in choices.items():
            if name == "double":
                self.page.fill("#double", value)
            else:
                self.page.select_option(f"#{name}", value)
        self.page.click("#form button.primary")
        self.page.wait_for_url("**/annotate")
        return int(self.page.url.split("/")[-2])

    def begin(self, project: int, name: str) -> None:
        """Begin to annotate, and close the guideline, by keys."""
        self.open(f"/projects/{project}/annotate")
        self.page.focus("#annotator")
        self.press("Control+A")
        self.page.keyboard.type(name)
        self.press("Enter")
        self.page.wait_for_selector("#work:not([hidden]), #done:not([hidden])")
        if self.page.locator("#guideline[open]").count():
            self.press("Escape")

    def words(self) -> list[str]:
        listed: list[str] = self.page.eval_on_selector_all(
            ".words button", "all => all.map(one => one.firstChild.data)"
        )
        return listed

    def answer_main_verb(self) -> None:
        """Answer by keys, and wait for the next question."""
        words, before = self.words(), self.page.inner_text("#count")
        verb = QUERIES[" ".join(words)]
        self.press(str(verb), "Enter")
        self.page.wait_for_function("before => document.getElementById('count').textContent !== before", arg=before)


def roots_of(visitor: Visitor, text: str) -> list[str]:
    """Return the roots that the parse page shows for a text."""
    visitor.open("/")
    visitor.page.fill("#text", text)
    visitor.press("Control+Enter")
    visitor.page.wait_for_selector("#results svg")
    found = visitor.page.evaluate(
        "() => [...document.querySelectorAll('#results text[data-arc]')].map(one => one.closest('svg')"
        ".querySelector(`.word[data-word='${one.dataset.arc}'] text`).textContent)"
    )
    return list(found)


def test_from_questions_by_keys_to_a_model_that_parses_a_new_one(browser: Any, tmp_path: Path, data_dir: Path) -> None:
    with server(tmp_path, "--treebank", str(data_dir / "ud" / "en_ewt-train.conllu")) as running:
        visitor = Visitor(browser, running.address)
        assert roots_of(visitor, NEW_QUERY) != [NEW_ROOT]
        project = visitor.new_project("\n".join(QUERIES))
        visitor.begin(project, "Ada")
        for _ in range(20):
            visitor.answer_main_verb()
        visitor.page.wait_for_selector("#done:not([hidden])")
        visitor.open(f"/projects/{project}/adapt")
        visitor.page.fill("#folds", "2")
        visitor.page.click("#form button.primary")
        visitor.page.wait_for_url("**/adaptations/*")
        visitor.page.wait_for_selector("#curve circle", timeout=120_000)
        visitor.page.wait_for_function(
            "() => document.getElementById('status').textContent === 'done'", timeout=300_000
        )
        if folder := os.environ.get("SCREENSHOTS"):
            visitor.page.screenshot(path=f"{folder}/adaptation.png", full_page=True)
        assert "p = " in visitor.page.inner_text("#scores")
        visitor.page.click("#use")
        visitor.page.wait_for_url("**/")
        assert roots_of(visitor, NEW_QUERY) == [NEW_ROOT]
        assert visitor.faults == []


def test_two_annotators_at_once(browser: Any, running: Running) -> None:
    ada, bob = (Visitor(browser, running.address) for _ in range(2))
    project = ada.new_project("\n".join(list(QUERIES)[:8]), double="25")
    ada.begin(project, "Ada")
    bob.begin(project, "Bob")
    seen: dict[str, list[str]] = {"Ada": [], "Bob": []}
    for _ in range(5):
        for name, visitor in (("Ada", ada), ("Bob", bob)):
            if visitor.page.is_visible("#work"):
                seen[name].append(" ".join(visitor.words()))
                visitor.press("1", "Enter")
                visitor.page.wait_for_function(GONE, arg=seen[name][-1])
    assert len(seen["Ada"]) + len(seen["Bob"]) == 10
    assert len({*seen["Ada"], *seen["Bob"]}) == 8
    ada.open(f"/projects/{project}")
    assert "Ada, Bob 2 1.00" in " ".join(ada.page.inner_text("main").split())
    assert ada.faults == bob.faults == []


def test_an_answer_is_taken_back_by_a_key(browser: Any, running: Running) -> None:
    visitor = Visitor(browser, running.address)
    visitor.begin(visitor.new_project("\n".join(list(QUERIES)[:3]), order="as-given"), "Ada")
    first = visitor.words()
    visitor.answer_main_verb()
    assert visitor.words() != first
    visitor.press("u")
    visitor.page.wait_for_function("() => document.getElementById('count').textContent === '0 of 3'")
    assert visitor.words() == first
    visitor.press("g")
    assert visitor.page.is_visible("#guideline")
    visitor.press("Escape", "n", "s")


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("arc", ("x", "y")),
        ("trees", ("2", "Enter", "0")),
        ("fix-arcs", ("1", "Enter", "0", "Enter", "2", "Enter", "1", "Enter", "Enter")),
    ],
)
def test_all_questions_are_answered_by_keys(
    browser: Any, running: Running, question: str, keys: tuple[str, ...]
) -> None:
    visitor = Visitor(browser, running.address)
    project = visitor.new_project("list hotels in Cairo\nlist museums in Oslo", question=question, order="as-given")
    visitor.begin(project, "Ada")
    for key in keys:
        visitor.page.wait_for_timeout(300)
        visitor.press(key)
    visitor.page.wait_for_timeout(300)
    assert running.get(f"projects/{project}")["answered"] == (1 if question == "fix-arcs" else 2)
    assert visitor.faults == []


def test_the_arc_of_a_long_sentence_is_in_sight(browser: Any, running: Running) -> None:
    visitor = Visitor(browser, running.address)
    visitor.page.set_viewport_size({"width": 240, "height": 900})
    visitor.begin(visitor.new_project("list hotels in Cairo " * 12, question="arc"), "Ada")
    for number in range(2):
        visitor.page.wait_for_function(
            "count => document.getElementById('count').innerText.startsWith(count)", arg=str(number)
        )
        word = visitor.page.inner_text("#item p").partition("“")[2].partition(" ")[0]
        visitor.page.wait_for_function(
            """word => {
                const box = document.querySelector(`#item .word[data-word="${word}"]`)?.getBoundingClientRect();
                return box && box.left >= 0 && box.right <= window.innerWidth;
            }""",
            arg=word,
        )
        visitor.press("y")
    assert visitor.faults == []


def test_hostile_text_is_shown_and_not_run(browser: Any, running: Running) -> None:
    visitor = Visitor(browser, running.address)
    visitor.open("/")
    visitor.page.fill("#text", HOSTILE)
    visitor.press("Control+Enter")
    visitor.page.wait_for_selector("#results svg")
    assert "<script>" in visitor.page.inner_text("#results").replace(" ", "")
    assert visitor.page.title() == "Parse · treetune"
    project = visitor.new_project(HOSTILE)
    visitor.begin(project, "<b>Eve</b>")
    visitor.press("Enter")
    visitor.page.wait_for_selector("#done:not([hidden])")
    visitor.open(f"/projects/{project}")
    assert "<b>Eve</b>" in visitor.page.inner_text("main")
    visitor.open("/")
    visitor.page.fill("#text", "word " * 100_000)
    visitor.press("Control+Enter")
    visitor.page.wait_for_selector("#problem:not([hidden])")
    assert "expected at most 500 words" in visitor.page.inner_text("#problem")
    assert visitor.page.title() != "broken"
    assert visitor.faults == []


def test_a_server_that_is_killed_while_annotating_loses_nothing(browser: Any, tmp_path: Path) -> None:
    with server(tmp_path) as running:
        port = running.address.rpartition(":")[2]
        visitor = Visitor(browser, running.address)
        project = visitor.new_project("\n".join(list(QUERIES)[:5]))
        visitor.begin(project, "Ada")
        visitor.answer_main_verb()
        visitor.answer_main_verb()
        running.kill()
        visitor.press("1", "Enter")
        visitor.page.wait_for_selector("#problem:not([hidden])")
        assert "what was saved is safe" in visitor.page.inner_text("#problem")
    with server(tmp_path, "--port", port) as running:
        # The page is still open, and goes on.
        visitor.answer_main_verb()
        assert visitor.page.inner_text("#count") == "3 of 5"
        assert running.get(f"projects/{project}")["answered"] == 3


def test_an_arc_is_fixed_by_clicks_and_candidates_are_listed(browser: Any, running: Running) -> None:
    visitor = Visitor(browser, running.address)
    assert roots_of(visitor, "Time flies.") == ["flies"]
    word = visitor.page.locator("#results .word").nth(0)
    word.click()
    word.click()
    visitor.page.wait_for_selector("#free:not([hidden])")
    root = visitor.page.get_attribute("#results text[data-arc]", "data-arc")
    assert root == "1"
    with visitor.page.expect_download() as saved:
        visitor.page.click("[data-save=conllu]")
    assert "\tTime\t" in Path(saved.value.path()).read_text()
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with visitor.page.expect_download() as saved:
            visitor.page.click(f"figcaption button:text('{kind}')")
        assert Path(saved.value.path()).read_bytes().startswith(start)
    visitor.page.select_option("#show", "k-best")
    visitor.page.click("#form button.primary")
    visitor.page.wait_for_selector(".differs")
    assert visitor.page.locator("#results figure").count() == 5
    visitor.page.select_option("#show", "compare")
    visitor.page.click("#form button.primary")
    visitor.page.wait_for_selector("#results .row")
    assert visitor.page.inner_text("#summary").startswith("0 heads, 0 labels and 0 tags differ")
    assert visitor.faults == []
