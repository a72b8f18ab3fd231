"""Rule sets as TOML: those that come with treetune, by name, and files of a user's own."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from treetune.corpus.files import StrPath, open_output, read_lines
from treetune.errors import ConfigError, unknown_name
from treetune.reorder.precedence import ORDER_TYPES, TAG_COLUMNS, Precedence, Rule, RuleSet

_SET_KEYS = ("title", "tags", "base", "rule")
_RULE_KEYS = ("name", "heads", "precedence", "walls")
_LONGEST_LINE = 100


def rule_sets() -> list[str]:
    """Return the names of the rule sets that come with treetune."""
    folder = resources.files("treetune.reorder").joinpath("rules")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_rules(name: StrPath) -> RuleSet:
    """Return a rule set by its name, or from a file whose name ends in ``.toml``.

    Raises:
        ConfigError: there is no such set, or the file is wrong; the message names file, rule and key.
        DataError: the file cannot be read.
    """
    text = str(name)
    if text.endswith(".toml"):
        return _parse("\n".join(read_lines(text)), text, Path(text).stem)
    if text not in rule_sets():
        raise unknown_name("rule set", text, [*rule_sets(), "FILE.toml"])
    content = resources.files("treetune.reorder").joinpath("rules", f"{text}.toml").read_text("utf-8")
    return _parse(content, f"{text}.toml", text)


def save_rules(rules: RuleSet, path: StrPath) -> None:
    """Write a rule set as TOML."""
    with open_output(path) as stream:
        stream.write(format_rules(rules))


def format_rules(rules: RuleSet) -> str:
    """Return a rule set as TOML that `load_rules` reads, one tuple a line."""
    head = [f"title = {_text(rules.title)}"] if rules.title else []
    blocks = ["\n".join([*head, f"tags = {_text(rules.tags)}"])]
    blocks += map(_format_rule, rules.rules)
    return "\n\n".join(blocks) + "\n"


def _format_rule(rule: Rule) -> str:
    lines = ["[[rule]]", f"name = {_text(rule.name)}", f"heads = {_texts(rule.heads)}"]
    if rule.walls:
        lines.append(f"walls = {_texts(rule.walls)}")
    lines.append("precedence = [")
    for one in rule.precedence:
        order = "" if one.order == "NORMAL" else f", {_text(one.order)}"
        lines.append(f"  [{_text(one.label)}, {one.weight:g}{order}],")
    return "\n".join([*lines, "]"])


def _texts(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse(content: str, place: str, name: str) -> RuleSet:
    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{place}: expected a TOML file: {error}") from None
    _check_keys(table, _SET_KEYS, place)
    title = _checked_text(table, "title", place, default="")
    tags: Any = _checked_text(table, "tags", place, default="upos")
    if tags not in TAG_COLUMNS:
        raise ConfigError(f"{place}: tags: {unknown_name('column of tags', tags, TAG_COLUMNS)}")
    rules = table.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ConfigError(f"{place}: expected each rule as a table [[rule]], in double brackets")
    try:
        found = RuleSet(name, tuple(_rule(rule, n, place) for n, rule in enumerate(rules, start=1)), tags, title)
        return found if "base" not in table else found.over(_base(table, place))
    except ConfigError as error:
        raise error if str(error).startswith(place) else ConfigError(f"{place}: {error}") from None


def _base(table: Mapping[str, Any], place: str) -> RuleSet:
    base = _checked_text(table, "base", place, default="")
    # A file of one's own names another beside it, a set that comes with treetune one of those.
    own = base.endswith(".toml")
    path = str(Path(place).parent / base) if own else base
    if own and Path(path) == Path(place):
        raise ConfigError(f"{place}: base: expected another file, found this one")
    return load_rules(path)


def _rule(table: Mapping[str, Any], number: int, place: str) -> Rule:
    name = _checked_text(table, "name", f"{place}: rule {number}", default=str(number))
    where = f"{place}: rule {name}"
    _check_keys(table, _RULE_KEYS, where)
    for key in ("heads", "precedence"):
        if key not in table:
            raise ConfigError(f"{where}: expected the key {key}, found none")
    precedence = table["precedence"]
    if not isinstance(precedence, list):
        raise ConfigError(f'{where}: precedence: expected a list such as [["nsubj", 1], ["self", 0]], found a value')
    tuples = tuple(_precedence(one, f"{where}: precedence") for one in precedence)
    return Rule(name, _list(table, "heads", where), tuples, _list(table, "walls", where))


def _precedence(value: Any, where: str) -> Precedence:
    fits = (
        isinstance(value, list)
        and len(value) in (2, 3)
        and isinstance(value[0], str)
        and isinstance(value[1], int | float)
        and not isinstance(value[1], bool)
    )
    if not fits:
        found = json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_LINE]
        raise ConfigError(
            f'{where}: expected [label, weight] or [label, weight, "REVERSE"], as in ["obj", -1], found {found}'
        )
    if len(value) == 3 and value[2] not in ORDER_TYPES:
        raise ConfigError(f"{where}: {value[0]}: {unknown_name('order', str(value[2]), ORDER_TYPES)}")
    return Precedence(value[0], float(value[1]), *value[2:])


def _list(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where}: {key}: expected a text or a list of texts, found {value!r}")
    return tuple(value)


def _checked_text(table: Mapping[str, Any], key: str, where: str, *, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {key}: expected a text, found {value!r}")
    return value


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: {unknown_name('key', key, known)}")
