"""The page on graph parsers and the page on features tell the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


PRINTED = {
    "graph-parsers.md": r"True True\n(True|False)\n",
    "features.md": r"\d+ features of \d+ different transitions\n",
}


@pytest.mark.parametrize(("page", "printed"), PRINTED.items())
def test_the_snippets_of_the_page_run(page: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    for snippet in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(snippet, {})
    assert re.fullmatch(printed, capsys.readouterr().out)
