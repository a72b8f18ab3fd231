from __future__ import annotations

import re
from pathlib import Path

import pytest

from treetune.errors import ConfigError
from treetune.features.encoding import COLUMNS, WORD_COLUMNS
from treetune.features.templates import TemplateSet, check_clusters, known_sets, load_templates, parse_templates
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.templates import STATE_VALUES, compile_templates

ALL_INPUTS = (COLUMNS, (*WORD_COLUMNS, "t", "u"), (*WORD_COLUMNS, "f"), WORD_COLUMNS)


def parse(text: str) -> TemplateSet:
    return parse_templates(text.splitlines(), source="mine")


def test_groups_templates_and_comments() -> None:
    found = parse("# all\n[a]\nS0.w   # the top\nS0.w N0.t\n\n[empty]\n[b]\nN0.t\n")
    assert found.groups == ((("S0.w",), ("S0.w", "N0.t")), (("N0.t",),))
    assert len(found) == 3


def test_conjoin_stands_for_all_sets_up_to_a_size() -> None:
    found = parse("[a]\n@conjoin 2 S0.w S0.t N0.w")
    assert found.groups == ((("S0.w",), ("S0.t",), ("N0.w",), ("S0.w", "S0.t"), ("S0.w", "N0.w"), ("S0.t", "N0.w")),)
    assert len(parse("[a]\n@conjoin 3 a.w b.w c.w d.w")) == 4 + 6 + 4


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("S0.w", "mine:1: expected a [group] before the first template, found 'S0.w'"),
        ("[a]\nS0.w N0", "mine:2: expected PLACE.VALUE, found 'N0'"),
        (
            "[a]\n\n@conjoin S0.w N0.w",
            "mine:3: expected '@conjoin DEGREE ATOM …', found '@conjoin S0.w N0.w'",
        ),
        ("[a]\n@conjoin 2", "mine:2: expected '@conjoin DEGREE ATOM …', found '@conjoin 2'"),
        ("# nothing", "mine: expected at least one feature template, found none"),
        ("[a]\n[b]", "mine: expected at least one feature template, found none"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value) == problem


def test_adapting_drops_atoms_of_absent_columns_and_what_becomes_equal() -> None:
    found = parse("[a]\nS0.w S0.t\nS0.w\nS0.t\n[b]\nN0.t\n[c]\nN0.w S0.w\nS0.w N0.w\nS0.w S0.vl")
    assert found.adapt(["w", "t"], ["vl"]).groups == (
        (("S0.w", "S0.t"), ("S0.w",), ("S0.t",)),
        (("N0.t",),),
        (("N0.w", "S0.w"), ("S0.w", "S0.vl")),
    )
    assert found.adapt(["w"], ["vl"]).groups == ((("S0.w",),), (("N0.w", "S0.w"), ("S0.w", "S0.vl")))
    assert found.adapt([], []).groups == ()


def test_the_sets_of_the_package() -> None:
    assert known_sets("transition") == [
        "clusters",
        "clusters-only",
        "default",
        "hall2011",
        "morphology",
        "nlf",
        "nlf-large",
        "zhang-nivre",
    ]
    assert len(load_templates("hall2011", "transition")) == 14 + 14 * 13 // 2
    assert len(load_templates("zhang-nivre", "transition")) == 73


@pytest.mark.parametrize("name", known_sets("transition"))
@pytest.mark.parametrize("columns", ALL_INPUTS)
def test_the_sets_of_the_package_compile_for_any_columns(name: str, columns: tuple[str, ...]) -> None:
    adapted = load_templates(name, "transition").adapt(columns, STATE_VALUES)
    compiled = compile_templates(adapted, columns)
    assert len(adapted) == len(compiled.seeds) > 0
    assert len(set(compiled.seeds.tolist())) == len(compiled.seeds)


def test_an_unknown_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        load_templates("zhang-nivr", "transition")
    known = "clusters, clusters-only, default, hall2011, morphology, nlf, nlf-large, zhang-nivre"
    assert str(caught.value) == (f"unknown feature set 'zhang-nivr'; known: {known} (did you mean 'zhang-nivre'?)")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("[a]\nS0.w\n", encoding="utf-8")
    assert load_templates(str(path), "transition").groups == ((("S0.w",),),)
    path.write_text("[a]\nS0\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.txt:2: expected PLACE\.VALUE, found 'S0'$"):
        load_templates(str(path), "transition")
    with pytest.raises(
        ConfigError, match=r"^cannot read the feature templates .*none\.txt: No such file or directory$"
    ):
        load_templates(str(tmp_path / "none.txt"), "transition")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"[a]\nS0.w # caf\xe9\n")
    with pytest.raises(ConfigError, match=r"^cannot read the feature templates .*latin\.txt: not UTF-8 text$"):
        load_templates(str(path), "transition")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("S9.w", f"unknown address in a feature template 'S9'; known: {', '.join(sorted(kernels.ADDRESSES))}"),
        ("S0.q", "unknown value in a feature template 'q'; known: base, dist, label, sl, sr, vl, vr, w"),
        ("S1.vl", "feature template atom 'S1.vl': 'vl' is known of S0 and N0 only"),
        ("N0.vr", "feature template atom 'N0.vr': 'vr' is known of S0 only"),
        ("N0.dist", "feature template atom 'N0.dist': 'dist' is known of S0 only"),
    ],
)
def test_what_the_parser_does_not_know_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_templates(parse(f"[a]\n{template}"), ["w"])
    assert str(caught.value).partition(" (did you mean")[0] == problem


def test_a_feature_has_the_same_number_in_every_set() -> None:
    one = compile_templates(parse("[a]\nS0.w N0.w\n[b]\nS0.t"), ["w", "t"])
    other = compile_templates(parse("[x]\nS0.t\nS0.w N0.w"), ["t", "w"])
    assert set(one.seeds.tolist()) == set(other.seeds.tolist())


def test_a_set_can_include_another_with_other_values(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("@include zhang-nivre t=c6\n[more]\nS0.c4\n", encoding="utf-8")
    mine, whole = load_templates(str(path), "transition"), load_templates("zhang-nivre", "transition")
    assert len(mine) == len(whole) + 1
    assert mine.names == (*whole.names, "more")
    assert ("S0.w", "S0.c6") in mine.groups[1]
    assert mine.looks_at_clusters
    assert not whole.looks_at_clusters
    assert "t" not in mine.values


@pytest.mark.parametrize("line", ["@include", "@include nothing", "@include default t", "@include default t=a=b"])
def test_a_wrong_include_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(f"{line}\n", encoding="utf-8")
    known = "clusters, clusters-only, default, hall2011, morphology, nlf, nlf-large, zhang-nivre"
    message = f"{path}:1: expected '@include NAME VALUE=OTHER …', NAME one of {known}, found"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        load_templates(str(path), "transition")


@pytest.mark.parametrize("family", ["transition", "graph"])
def test_the_cluster_sets_stand_beside_tags_or_instead_of_them(family: str) -> None:
    tags = {"t", "u", "x", "f"}
    assert load_templates("clusters", family).values & tags == load_templates("default", family).values & tags
    assert not load_templates("clusters-only", family).values & tags
    for name in ("clusters", "clusters-only"):
        check_clusters("words.txt", load_templates(name, family), name)
        message = (
            f"the feature set '{name}' looks at word clusters; name their file (--clusters FILE, in Python clusters=)"
        )
        with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
            check_clusters(None, load_templates(name, family), name)
    message = "no template of the feature set 'default' looks at the word clusters of words.txt; leave --clusters out"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        check_clusters("words.txt", load_templates("default", family), "default")
