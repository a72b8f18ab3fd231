"""``treetune serve``: pages in the browser and a programming interface, to parse, to annotate and to adapt."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from treetune.cli.console import note
from treetune.cli.input import DEFAULT_MODEL
from treetune.corpus.files import check_readable
from treetune.errors import ConfigError
from treetune.model_names import is_name

NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "jinja2")
VARIABLE = "TREETUNE_TOKEN"


def serve(
    model: Annotated[
        list[str], typer.Option("--model", metavar="[NAME=]MODEL", help="A model to offer, the first by default.")
    ] = [DEFAULT_MODEL],  # noqa: B006 - typer's way to say it
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    token: Annotated[
        list[str] | None,
        typer.Option(metavar="TOKEN", help=f"Who may use it; or {VARIABLE}; without, one is made where it is needed."),
    ] = None,
    folder: Annotated[str, typer.Option(metavar="DIR", help="For the database and the adapted models.")] = ".",
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Of SQLAlchemy, such as postgresql+psycopg://…; else SQLite.")
    ] = None,
    treebank: Annotated[
        str | None, typer.Option(metavar="FILE", help="Home domain of adaptations: treebank or text, as in adapt.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="The longest that a request may take.")] = 60.0,
    queue: Annotated[int, typer.Option(min=1, help="How many requests may wait for a model.")] = 4000,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not say where it can be reached.")] = False,
) -> None:
    """See parses in the browser, ask annotators one easy question a sentence, adapt the parser to their answers."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"treetune serve needs {', '.join(missing)}; install them by: pip install 'treetune[web]'")
    if treebank is not None:
        check_readable(treebank)
    from treetune.web.run import listen, load_app, run
    from treetune.web.settings import Limits, Settings, is_loopback

    named = os.environ.get(VARIABLE)
    tokens = tuple(token or ([named] if named else []))
    if any(len(one) < 16 for one in tokens):
        raise ConfigError("--token: expected 16 characters or more, which cannot be guessed, found fewer")
    if not tokens and not is_loopback(host):
        tokens = (secrets.token_urlsafe(24),)
        note(f"token: {tokens[0]}")
    limits = Limits(seconds=seconds, queue=queue)
    settings = Settings(_named(model), Path(folder), database, tokens, treebank, limits)
    app = load_app(settings)
    socket = listen(host, port)
    shown = "localhost" if is_loopback(host) else host
    note(f"treetune is at http://{shown}:{socket.getsockname()[1]}/ (Ctrl-C ends it)", quiet=quiet)
    run(app, socket)


def _named(models: list[str]) -> dict[str, str]:
    """Return the files of models by the names under which they are offered: as given, or of the file."""
    found: dict[str, str] = {}
    for one in models:
        name, equals, path = one.partition("=")
        if not equals:
            name, path = (one if is_name(one) else Path(one).name.removesuffix(".treetune")), one
        if not is_name(name) or name.startswith("adapted-"):
            raise ConfigError(f"--model: expected a name of letters, digits, - and _ as in NAME=FILE, found {name!r}")
        if name in found:
            raise ConfigError(f"--model: two models are called {name!r}; give one another name, as in NAME={path}")
        found[name] = path
    return found
