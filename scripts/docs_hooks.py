"""mkdocs hook: README, ARCHITECTURE, CHANGELOG and CONTRIBUTING become pages of the site, with links that work there.

On GitHub the four files stand beside `docs/`; in the site they stand inside it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the four files as pages."""
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        text = (root / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to the four files at their pages."""
    depth = page.file.src_uri.count("/")
    names = "|".join(map(re.escape, PAGES))
    return re.sub(rf"\]\((?:\.\./)*({names})", lambda link: "](" + "../" * depth + PAGES[link[1]], markdown)
