from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from treetune import __version__
from treetune.evaluation import ENTITY_METRICS, METRICS
from treetune.evaluation.tagging import tag_metrics

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scores.md").read_text(encoding="utf-8")


def test_snippets_run_in_order() -> None:
    snippets = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(snippets) == 4
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(snippet.replace("v:0.1.0", f"v:{__version__}"), names)
    assert names["table"].splitlines()[1].startswith("metric")


def test_every_metric_is_explained() -> None:
    metrics = (*METRICS, *ENTITY_METRICS, *tag_metrics(("upos", "xpos", "feats")))
    assert [name for name in metrics if f"`{name}`" not in PAGE] == []
