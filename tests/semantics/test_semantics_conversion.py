"""Conversion of UD and Penn trees: constructions one by one, what is not covered, and faults by text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from strategies import trees
from treetune.corpus.penn import Constituent, parse_penn, read_penn
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.sample import KINDS, generate
from treetune.semantics import decode, encode, from_ud
from treetune.semantics.expression import check_form
from treetune.semantics.from_constituents import from_constituents
from treetune.semantics.tokens import check_words

# Form/UPOS/head/relation of each word, features after a bar.
SENTENCES = [
    ("John/PROPN/2/nsubj saw/VERB/0/root Mary/PROPN/2/obj", "[saw, John, Mary]"),
    ("Come/VERB/0/root !/PUNCT/1/punct", "[Come, _]"),
    ("She/PRON/3/nsubj may/AUX/3/aux sleep/VERB/0/root", "[sleep/may, She]"),
    ("He/PRON/3/nsubj is/AUX/3/cop tall/ADJ/0/root", "[is, He, tall]"),
    ("He/PRON/4/nsubj is/AUX/4/cop in/ADP/4/case Rome/PROPN/0/root", "[is, He, [in, ^, Rome]]"),
    ("It/PRON/3/nsubj:pass was/AUX/3/aux:pass sold/VERB/0/root", "[sold/was, _, It]"),
    (
        "It/PRON/3/nsubj:pass was/AUX/3/aux:pass sold/VERB/0/root by/ADP/5/case Ann/PROPN/3/obl:agent",
        "[sold/was, Ann/by, It]",
    ),
    ("gave/VERB/0/root Ann/PROPN/1/iobj books/NOUN/1/obj", "[gave, _, Ann, books]"),
    ("two/NUM/3/nummod old/ADJ/3/amod cats/NOUN/0/root", "cats.two:old"),
    ("pet/NOUN/2/compound shops/NOUN/0/root", "pet+shops"),
    ("Chirpy/PROPN/0/root Systems/PROPN/1/flat", "Chirpy+Systems"),
    ("cats/NOUN/0/root and/CCONJ/3/cc dogs/NOUN/1/conj", "and{cats, dogs}"),
    ("both/CCONJ/2/cc:preconj A/NOUN/0/root and/CCONJ/4/cc B/NOUN/2/conj", "(and/both){A, B}"),
    ("A/NOUN/0/root ,/PUNCT/3/punct B/NOUN/1/conj", "A & B"),
    ("A/NOUN/0/root B/NOUN/1/list", "|A, B|"),
    (
        "He/PRON/2/nsubj came/VERB/0/root and/CCONJ/4/cc saw/VERB/2/conj",
        "[came, He] & [saw/and, _]",
    ),
    ("I/PRON/2/nsubj go/VERB/0/root because/SCONJ/5/mark you/PRON/5/nsubj stay/VERB/2/advcl",
     "[go:[because, ^, [stay, you]], I]"),
    ("I/PRON/2/nsubj know/VERB/0/root that/SCONJ/5/mark you/PRON/5/nsubj stay/VERB/2/ccomp",
     "[know, I, [stay/that, you]]"),
    ("I/PRON/2/nsubj want/VERB/0/root to/PART/4/mark go/VERB/2/xcomp", "[want, I, [go/to, _]]"),
    ("John/PROPN/3/nmod:poss 's/PART/1/case dog/NOUN/0/root", "dog:['s, ^, John]"),
    ("my/PRON/2/nmod:poss dog/NOUN/0/root", "dog.my"),
    ("dogs/NOUN/0/root which/PRON/3/nsubj|PronType=Rel bark/VERB/1/acl:relcl", "dogs:[bark, which]"),
    ("books/NOUN/0/root I/PRON/3/nsubj read/VERB/1/acl:relcl", "books:[read, I, ^]"),
    ("firms/NOUN/0/root making/VERB/1/acl toys/NOUN/2/obj", "firms:[making, ^, toys]"),
    ("firms/NOUN/0/root sold/VERB/1/acl|Tense=Past;VerbForm=Part", "firms:[sold, _, ^]"),
    ("met/VERB/0/root Monday/PROPN/1/obl:unmarked", "[met@Monday, _]"),
    ("out/ADP/3/case of/ADP/3/case town/NOUN/0/root", "[out+of, ^, town]"),
    ("just/ADV/3/advmod before/ADP/3/case noon/NOUN/0/root", "[before/just, ^, noon]"),
    ("up/ADP/4/case and/CCONJ/3/cc down/ADP/1/conj hills/NOUN/0/root", "[and{up, down}, ^, hills]"),
    ("in/ADP/2/case A/NOUN/0/root and/CCONJ/5/cc in/ADP/5/case B/NOUN/2/conj", "and{[in, ^, A], [in, ^, B]}"),
    ("in/ADP/2/case A/NOUN/0/root and/CCONJ/5/cc in/ADP/5/case B/NOUN/1/conj", "and{[in, ^, A], [in, ^, B]}"),
    ("in/ADP/2/case A/NOUN/0/root and/CCONJ/4/cc B/NOUN/2/conj", "[in, ^, and{A, B}]"),
    ("both/CCONJ/3/cc:preconj in/ADP/3/case A/NOUN/0/root and/CCONJ/6/cc in/ADP/6/case B/NOUN/3/conj",
     "(and/both){[in, ^, A], [in, ^, B]}"),
    ("in/ADP/2/case A/NOUN/0/root ,/PUNCT/4/punct B/NOUN/2/conj or/CCONJ/7/cc on/ADP/7/case C/NOUN/2/conj "
     "and/CCONJ/9/cc D/NOUN/2/conj", "or{[in, ^, A & B], [on, ^, and{C, D}]}"),
    ("in/ADP/2/case A/NOUN/0/root ,/PUNCT/6/punct not/PART/6/advmod on/ADP/6/case B/NOUN/2/conj",
     "[in, ^, A] & [on/not, ^, B]"),
    ("go/VERB/0/root if/SCONJ/4/mark you/PRON/4/nsubj stay/VERB/1/advcl and/CCONJ/8/cc if/SCONJ/8/mark I/PRON/8/nsubj "
     "sleep/VERB/4/conj", "[go:and{[if, ^, [stay, you]], [if, ^, [sleep, I]]}, _]"),
    ("dog/NOUN/0/root Ann/PROPN/1/nmod:poss 's/PART/2/case or/CCONJ/5/cc Bob/PROPN/2/conj 's/PART/5/case",
     "dog:or{['s, ^, Ann], ['s, ^, Bob]}"),
    ("It/PRON/3/nsubj:pass was/AUX/3/aux:pass sold/VERB/0/root by/ADP/5/case A/PROPN/3/obl or/CCONJ/8/cc by/ADP/8/case "
     "B/PROPN/5/conj", "[sold/was, or{A/by, B/by}, It]"),
    ("He/PRON/3/nsubj is/AUX/3/cop tall/ADJ/0/root and/CCONJ/5/cc strong/ADJ/3/conj", "[is, He, and{tall, strong}]"),
    ("He/PRON/4/nsubj is/AUX/4/cop both/CCONJ/4/cc:preconj tall/ADJ/0/root and/CCONJ/6/cc strong/ADJ/4/conj",
     "[is, He, (and/both){tall, strong}]"),
    ("He/PRON/4/nsubj is/AUX/4/cop in/ADP/4/case A/PROPN/0/root and/CCONJ/7/cc in/ADP/7/case B/PROPN/4/conj",
     "[is, He, and{[in, ^, A], [in, ^, B]}]"),
    ("He/PRON/3/nsubj is/AUX/3/cop tall/ADJ/0/root and/CCONJ/5/cc sings/VERB/3/conj",
     "[is, He, tall] & [sings/and, _]"),
    ("It/PRON/4/nsubj is/AUX/4/cop to/PART/4/mark win/VERB/0/root it/PRON/4/obj", "[is, It, [win/to, _, it]]"),
    ("well/NOUN/2/dislocated it/PRON/0/root", "it%well"),
]  # fmt: skip


def parsed(text: str) -> tuple[Sentence, Tree]:
    words = [word.partition("|") for word in text.split()]
    cells = [word.rsplit("/", 3) for word, _, _ in words]
    sentence = Sentence.of(
        [cell[0] for cell in cells],
        upos=[cell[1] for cell in cells],
        lemmas=[cell[0].lower() for cell in cells],
        feats=[feats.replace(";", "|") or "_" for _, _, feats in words],
    )
    return sentence, Tree.of([int(cell[2]) for cell in cells], [cell[3] for cell in cells])


@pytest.mark.parametrize(("text", "expression"), SENTENCES)
def test_constructions_of_universal_dependencies(text: str, expression: str) -> None:
    sentence, tree = parsed(text)
    found = from_ud(sentence, tree)
    assert str(found) == expression
    assert found.is_covered == ("%" not in expression)
    check_words(found, sentence.forms)
    assert decode(encode(found, sentence.forms), sentence.forms) == found


def test_dependents_of_punctuation_are_kept() -> None:
    sentence, tree = parsed(":/PUNCT/0/root a/NOUN/1/dep b/NOUN/1/dep")
    assert str(from_ud(sentence, tree)) == "a%b"
    assert str(from_ud(*parsed("!/PUNCT/0/root ?/PUNCT/1/punct"))) == '!/"?"'


@settings(max_examples=60)
@given(trees(max_size=14))
def test_any_tree_has_an_expression_over_its_words(tree: Tree) -> None:
    forms = ["run", ",", "and", "the", "2005", "dog", "dog"]
    words = [forms[word % 7] for word in range(len(tree))]
    sentence = Sentence.of(words, upos=["VERB" if word % 3 else "NOUN" for word in range(len(tree))])
    found = from_ud(sentence, tree)
    check_form(found)
    check_words(found, sentence.forms)
    assert decode(encode(found, sentence.forms), sentence.forms) == found


@pytest.mark.parametrize("relation", ["nmod", "conj", "ccomp", "flat", "acl:relcl", "case", "cop", "cc", "x"])
def test_chains_of_thousands_of_words_are_converted(relation: str) -> None:
    size = 1200
    sentence = Sentence.of(["w"] * size, upos=["VERB"] * size)
    found = from_ud(sentence, Tree.of(range(size), ["root", *[relation] * (size - 1)]))
    assert len(found.positions()) == size
    assert decode(encode(found, sentence.forms), sentence.forms) == found


def test_heads_that_are_no_tree_are_refused() -> None:
    with pytest.raises(DataError, match="expected a complete tree with one root, found heads that make none"):
        from_ud(Sentence.of(["a", "b"]), Tree.of([2, 1], ["x", "x"]))


def test_the_sample_is_covered() -> None:
    assert all(from_ud(one.sentence, one.gold).is_covered for one in generate(100, kinds=KINDS, seed=3))


PENN = [
    ("(S (NP-SBJ (NNP Ann)) (VP (VBD bought) (NP (CD two) (NNS cats))) (. .))", "[bought, Ann, cats.two]"),
    ("(S (NP-SBJ (PRP It)) (VP (MD will) (VP (VB rain) (ADVP (RB soon)))))", "[rain/will/soon, It]"),
    ("(S (NP-SBJ (DT The) (NN dog)) (VP (VBZ is) (ADJP-PRD (RB very) (JJ old))))", "[is, dog.The, old/very]"),
    ("(S (NP-SBJ (PRP He)) (VP (VBZ is) (PP-PRD (IN in) (NP (NNP Rome)))))", "[is, He, [in, ^, Rome]]"),
    (
        "(S (NP-SBJ-1 (NNP Growler)) (VP (VBD was) (VP (VBN sold) (NP (-NONE- *-1)) "
        "(PP (IN by) (NP-LGS (NNP Chirpy))))))",
        "[sold/was, Chirpy/by, Growler]",
    ),
    ("(NP (NP (NN food)) (PP (IN for) (NP (NNS dogs))))", "food:[for, ^, dogs]"),
    ("(NP (NNS cats) (CC and) (NNS dogs))", "and{cats, dogs}"),
    ("(NP (NP (NNP Ann) (POS 's)) (NN dog))", "dog:['s, ^, Ann]"),
    ("(NP (NP (NNS firms)) (VP (VBG making) (NP (NNS toys))))", "firms:[making, ^, toys]"),
    (
        "(NP (NP (NNS firms)) (SBAR (WHNP-1 (WDT which)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBP make) (NP (NNS toys))))))",
        "firms:[make, which, toys]",
    ),
    ("(S (NP-SBJ (PRP I)) (VP (VBP want) (S (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB go))))))", "[want, I, [go/to, _]]"),
    ("(S (NP-SBJ (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP-SBJ (PRP you)) (VP (VBP stay))))))",
     "[know, I, [stay/that, you]]"),
    ("(S (S (NP-SBJ (PRP I)) (VP (VBD came))) (CC and) (S (NP-SBJ (PRP I)) (VP (VBD saw))))",
     "[came, I] & [saw/and, I]"),
    ("(NP (QP ($ $) (CD 5) (CD million)) (-NONE- *U*))", "$.5.million"),
    ("(ADJP (ADJP (RB far) (JJR higher)) (PP (IN than) (NP (NNS sales))))", "higher/far:[than, ^, sales]"),
    ("(NP (NP (NNS men)) (RRC (ADVP (RB once)) (VP (VBN sold))))", "men:[sold/once, _, ^]"),
    ("(FRAG (FRAG (NP (NN cat))) (FRAG (NP (NN dog))))", "|cat, dog|"),
    ("(FRAG (NP (NN cat)) (X (SYM x)))", "cat%x"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expression"), PENN)
def test_constructions_of_penn_trees(text: str, expression: str) -> None:
    (tree,) = parse_penn([f"( {text} )"])
    sentence, found = from_constituents(tree)
    assert str(found) == expression
    assert decode(encode(found, sentence.forms), sentence.forms) == found


def test_penn_trees_are_read_over_lines() -> None:
    one, other = parse_penn(["( (S", " (NP-SBJ-1 (-LRB- -LRB-) (NN 1\\/2)))) (NP (NN b))"])
    assert [(leaf.label, leaf.word) for leaf in one.leaves()] == [("-LRB-", "("), ("NN", "1/2")]
    assert one.children[0].category == "NP"
    assert one.children[0].functions == frozenset(("SBJ", "1"))
    assert other == Constituent("NP", (Constituent("NN", word="b"),))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["(S (NN a)", "(NN b)"], "line 1: expected ')', found the end of the file"),
        (["x"], "line 1: expected '(', found 'x'"),
        (["(S", "(NN a) b c)"], "line 2: expected a tag and a word, or a label and phrases, found S b c"),
        (["()"], "line 1: expected a tag and a word, or a label and phrases, found nothing"),
        (["(S" * 300], "line 1: expected at most 200 levels of brackets"),
    ],
)
def test_penn_trees_with_faults_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(DataError) as raised:
        list(parse_penn(lines))
    assert str(raised.value) == message


def test_a_tree_of_traces_has_no_meaning() -> None:
    with pytest.raises(DataError, match="expected a tree with words, found only traces"):
        from_constituents(Constituent("S", (Constituent("-NONE-", word="*"),)))


@pytest.mark.slow
def test_every_sentence_of_the_wsj_sample_survives(data_dir: Path) -> None:
    for tree in read_penn(data_dir / "ptb_sample" / "wsj-test.mrg"):
        sentence, found = from_constituents(tree)
        check_form(found)
        assert decode(encode(found, sentence.forms), sentence.forms) == found
