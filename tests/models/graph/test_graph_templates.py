"""The template sets of graph parsers: those of the papers, how they are read, adapted and compiled."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from graph_scoring_twin import mix, seed_of, split

from treetune.errors import ConfigError
from treetune.features.encoding import COLUMNS, FIRST_ID
from treetune.features.templates import TemplateSet, known_sets, load_templates, parse_templates
from treetune.models.graph import _arc_kernels as kernels
from treetune.models.graph.grammar import GraphConfig, templates_of
from treetune.models.graph.templates import adapted, columns_of, compile_templates, needed

# Table 1 of McDonald et al. 2005 in its own words; a word stands also for its prefix of five letters.
UNIGRAMS = """
p-word p-pos
p-word
p-pos
c-word c-pos
c-word
c-pos
"""
BIGRAMS = """
p-word p-pos c-word c-pos
p-pos c-word c-pos
p-word c-word c-pos
p-word p-pos c-pos
p-word p-pos c-word
p-word c-word
p-pos c-pos
"""
BETWEEN = "p-pos b-pos c-pos"
SURROUNDING = """
p-pos p-pos+1 c-pos-1 c-pos
p-pos-1 p-pos c-pos-1 c-pos
p-pos p-pos+1 c-pos c-pos+1
p-pos-1 p-pos c-pos c-pos+1
"""

# Section 3.1 of Hall et al. 2011: w and t of a word i and of its head h.
HALL = """
wi
ti
wh
th
wi ti
wh th
wi wh
ti th
th wi ti
wh wi ti
wh th ti
wh th wi
th th+1 ti-1 ti
th th+1 ti+1 ti
th th-1 ti-1 ti
th th-1 ti+1 ti
"""


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def mcdonald_atom(name: str) -> str:
    """Translate p-pos+1 into H+1.t."""
    node, value = name.split("-", maxsplit=1)
    kind = "pos" if value.startswith("pos") else "word"
    place = {"p": "H", "c": "D", "b": "B"}[node]
    return f"{place}{value.removeprefix(kind)}.{'t' if kind == 'pos' else 'w'}"


def hall_atom(name: str) -> str:
    """Translate th+1 into H+1.t."""
    return f"{'D' if name[1] == 'i' else 'H'}{name[2:]}.{name[0]}"


def templates_of_kind(name: str, kind: str) -> list[frozenset[str]]:
    found = load_templates(name, "graph")
    groups = zip(found.groups, found.names, strict=True)
    return [frozenset(template) for group, named in groups if named.split()[0] == kind for template in group]


def with_prefixes(template: list[str]) -> set[frozenset[str]]:
    whole = frozenset(mcdonald_atom(name) for name in template)
    return {whole, frozenset(atom.replace(".w", ".p5") for atom in whole)}


def test_mcdonald_et_al_2005_has_table_1() -> None:
    plain: set[frozenset[str]] = set()
    for template in lines(UNIGRAMS) + lines(BIGRAMS) + lines(SURROUNDING):
        plain |= with_prefixes(template)
    for template in lines(SURROUNDING):
        # Back-off: one of the neighbours left out.
        for left_out in template:
            if left_out[-1] == "1":
                plain |= with_prefixes([name for name in template if name != left_out])
    expected = Counter([*plain, *(template | {"A.dist"} for template in plain)])
    assert Counter(templates_of_kind("mcdonald2005", "arc")) == expected
    trigram = frozenset(mcdonald_atom(name) for name in BETWEEN.split())
    assert Counter(templates_of_kind("mcdonald2005", "between")) == {trigram: 1, trigram | {"A.dir"}: 1}


def test_hall_et_al_2011_has_section_3_1() -> None:
    expected = Counter(frozenset(map(hall_atom, template)) for template in lines(HALL))
    # Direction and length of the arc are one feature.
    expected[frozenset({"A.dist"})] += 1
    assert Counter(templates_of_kind("hall2011", "arc")) == expected
    assert templates_of_kind("hall2011", "between") == [frozenset({"H.t", "B.t", "D.t"})]


def test_also_makes_templates_count_twice_to_the_end_of_their_group() -> None:
    text = "[arc]\nH.w\n@also A.dist A.dir\nD.w\nH.t D.t # pair\n@also A.base\nD.t\n[label]\nH.w\n"
    found = parse_templates(text.splitlines(), source="here")
    assert found.names == ("arc", "label")
    assert found.groups == (
        (
            ("H.w",),
            ("D.w",),
            ("D.w", "A.dist", "A.dir"),
            ("H.t", "D.t"),
            ("H.t", "D.t", "A.dist", "A.dir"),
            ("D.t",),
            ("D.t", "A.base"),
        ),
        (("H.w",),),
    )
    conjoined = parse_templates(["[arc]", "@also A.dir", "@conjoin 2 H.w D.w"], source="here")
    assert conjoined.groups[0][::2] == (("H.w",), ("D.w",), ("H.w", "D.w"))
    assert conjoined.groups[0][1::2] == (("H.w", "A.dir"), ("D.w", "A.dir"), ("H.w", "D.w", "A.dir"))
    with pytest.raises(ConfigError, match=r"^here:2: expected PLACE\.VALUE, found 'dist'$"):
        parse_templates(["[arc]", "@also dist", "H.w"], source="here")
    with pytest.raises(ConfigError, match=r"^here:1: expected a \[group\] before the first template"):
        parse_templates(["@also A.dir", "[arc]", "H.w"], source="here")


def every_atom(templates: TemplateSet) -> set[str]:
    return {atom for group in templates.groups for template in group for atom in template}


def test_siblings_are_for_the_second_order_and_the_tree_for_the_second_stage() -> None:
    whole = load_templates("default", "graph")
    first = needed(whole, order=1, joint=True)
    assert not [name for name in first.names if name.startswith("sibling")]
    assert "label tree" not in first.names
    assert "A.base D.g Dl.w" not in [" ".join(template) for group in first.groups for template in group]
    assert {split(atom)[0] for atom in every_atom(first)} == {"H", "D", "B", "A"}
    second = needed(whole, order=2, joint=False)
    assert any(name.startswith("sibling") for name in second.names)
    assert not [name for name in second.names if name.startswith("grandparent")]
    assert needed(whole, order=3, joint=False) == whole
    staged = needed(whole, order=1, joint=False)
    assert len(staged) < len(whole)
    assert {"G", "Dl", "Dr", "S"} < {split(atom)[0] for atom in every_atom(staged)}


TAGGED = ["w", "suffix", "prefix", "shape", "p5", "t", "u", "x"]


def test_without_base_trees_or_coarse_tags_their_templates_go() -> None:
    whole = load_templates("default", "graph")
    assert whole.looks_at_base_trees
    stacked = adapted(whole, [*TAGGED, "g"], stacked=True)
    assert {kind: len(t) for kind, t in by_kind(stacked).items()} == {
        kind: len(t) for kind, t in by_kind(whole).items()
    }
    plain = adapted(whole, TAGGED, stacked=False)
    assert not plain.looks_at_base_trees
    assert "arc base" not in plain.names
    assert not [atom for atom in every_atom(plain) if atom.endswith((".g", ".base"))]
    assert len(plain) == len([t for t in all_templates(whole) if not {"A.base", "D.g"} & set(t)])
    fine = adapted(whole, ["w", "suffix", "p5", "shape", "t", "x"], stacked=False)
    assert not [atom for atom in every_atom(fine) if split(atom)[1] in ("<", ">") or atom.endswith(".u")]
    # Dropped whole, not atom by atom: nothing is left of what looked at a mark.
    marked = [t for t in all_templates(whole) if any(split(atom)[1] in ("<", ">") for atom in t)]
    assert len(marked) > 15
    assert set(all_templates(fine)) <= {
        tuple(atom for atom in t if not atom.endswith(".u")) for t in all_templates(whole) if t not in marked
    }


def test_what_the_base_parser_gave_as_head_is_a_base_tree() -> None:
    found = parse_templates(["[arc]", "H.w D^.t", "H.w D.w", "[label]", "D.w"], source="here")
    assert found.looks_at_base_trees
    assert columns_of(found) == ["t", "w"]
    assert adapted(found, ["t", "w"], stacked=True) == found
    assert adapted(found, ["t", "w"], stacked=False).groups == ((("H.w", "D.w"),), (("D.w",),))


def by_kind(templates: TemplateSet) -> dict[str, list[tuple[str, ...]]]:
    kinds: dict[str, list[tuple[str, ...]]] = {}
    for group, name in zip(templates.groups, templates.names, strict=True):
        kinds.setdefault(name.split()[0], []).extend(group)
    return kinds


def all_templates(templates: TemplateSet) -> list[tuple[str, ...]]:
    return [template for group in templates.groups for template in group]


def test_columns_that_templates_ask_for() -> None:
    found = parse_templates(["[arc]", "H.w A.dist", "D-1.suffix A.base", "[label]", "D<.w D.g"], source="here")
    assert columns_of(found) == ["g", "suffix", "u", "w"]
    assert columns_of(parse_templates(["[arc]", "H.w A.dist"], source="here")) == ["w"]


@pytest.mark.parametrize("name", known_sets("graph"))
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize("columns", [COLUMNS, ("w", "suffix"), ("w", "p5", "t", "x"), ("w", "t", "u", "f")])
def test_the_sets_of_the_package_compile_for_any_columns(
    name: str, order: int, labels: str, columns: tuple[str, ...]
) -> None:
    wanted = templates_of(GraphConfig(order=order, labels=labels, features=name))
    found = adapted(wanted, columns, stacked="g" in columns)
    compiled = compile_templates(found, columns, ["NOUN", "ADP"])
    kinds = by_kind(found)
    arcs, labelled = len(kinds["arc"]), len(kinds["label"])
    assert compiled.bounds.tolist() == [arcs, arcs + labelled]
    assert len(compiled.starts) - 1 == len(found) == compiled.extra.shape[1]
    triples = [kind for kind in (group.split()[0] for group in found.names) if kind in ("between", "sibling")]
    assert compiled.group_kind.tolist() == [int(kind == "sibling") for kind in sorted(triples)]
    assert compiled.group_first.tolist()[1:] == compiled.group_last.tolist()[:-1]
    assert ("sibling" in triples) is (order == 2)
    assert len({tuple(column) for column in compiled.extra.T.tolist()}) == len(found)
    assert compiled.coarse_column.tolist() == [columns.index("u") if "u" in columns else -1]


def test_what_an_arc_adds_to_its_features() -> None:
    found = parse_templates(["[arc]", "A.dist", "A.dir H.w", "A.base", "[between]", "B.w A.dir"], source="here")
    compiled = compile_templates(found, ["w"])
    middle = kernels.DISTANCES // 2
    for distance in range(kernels.DISTANCES):
        direction = 2 if distance == middle else int(distance > middle)
        for stacked in range(kernels.BASE_RELATIONS):
            row = compiled.extra[distance * kernels.BASE_RELATIONS + stacked].tolist()
            assert row[0] == (seed_of("arc A.dist") + mix(distance + seed_of("A.dist"))) % 2**64
            assert row[1] == (seed_of("arc A.dir H.w") + mix(direction + seed_of("A.dir"))) % 2**64
            assert row[2] == (seed_of("arc A.base") + mix(stacked + seed_of("A.base"))) % 2**64
    for kind, direction in ((kernels.LEFTWARD, 0), (kernels.RIGHTWARD, 1)):
        expected = (seed_of("between B.w A.dir") + mix(direction + seed_of("A.dir"))) % 2**64
        assert compiled.extra[kind, 3] == np.uint64(expected)


def test_values_that_marks_see_through() -> None:
    compiled = compile_templates(parse_templates(["[arc]", "D<.w"], source="here"), ["w", "u"], ["NOUN", "ADP", "DET"])
    # Nothing, the root and what was not seen stop the search.
    assert compiled.transparent.tolist() == [False] * FIRST_ID + [True, False, True]
    assert compiled.atom_shift.tolist() == [kernels.LEFT_MARK]


def test_templates_of_one_word_stand_behind_those_of_two() -> None:
    lines = ["[arc]", "D.w A.dist", "A.dir", "H.w D.t", "H.w", "H-1.w D<.w", "D+1.t", "[label]", "H.w"]
    compiled = compile_templates(parse_templates(lines, source="here"), ["w", "t", "u"])
    assert compiled.alone.tolist() == [2, 4]
    assert compiled.bounds.tolist() == [6, 7]
    places = [
        set(compiled.atom_address[first:last].tolist())
        for first, last in zip(compiled.starts[:6], compiled.starts[1:7], strict=True)
    ]
    both, head, dependent = {kernels.HEAD, kernels.DEPENDENT}, {kernels.HEAD}, {kernels.DEPENDENT}
    # The kind of an arc by itself goes with the head.
    assert places == [both, both, set(), head, dependent, dependent]


def test_a_feature_has_the_same_number_in_every_set() -> None:
    one = compile_templates(parse_templates(["[arc]", "H.w D.t"], source="one"), ["w", "t"])
    two = compile_templates(parse_templates(["[arc]", "D.w", "H.w D.t"], source="two"), ["t", "w"])
    # Templates that look at both words come first.
    assert one.extra[0, 0] == two.extra[0, 0]
    assert one.atom_seed.tolist() == two.atom_seed.tolist()[:2]
    label = compile_templates(parse_templates(["[label]", "H.w D.t"], source="three"), ["w", "t"])
    assert label.extra[0, 0] != one.extra[0, 0]
