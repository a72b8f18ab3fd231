"""Any text survives the tokenizer, whole and in pieces; what was learned is found again."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import LINES, examples_of, trained, treebank

from treetune.corpus import textfiles
from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.document import ParsedSentence
from treetune.corpus.rawtext import misc_value, raw_text
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.learning.tokenizer_training import score_tokenizer, train_tokenizer
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.tokenizer import Tokenizer

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text(
    "ab. \n\r\t'\"()|\\-A5", max_size=60
)


def written(sentences: list[Sentence]) -> str:
    return "".join(format_conllu(sentence, Tree.unknown(len(sentence))) for sentence in sentences)


@settings(max_examples=300)
@given(any_text)
def test_nothing_of_a_text_is_lost(text: str) -> None:
    sentences = list(trained().sentences(text))
    assert raw_text(sentences) == (text if text.strip() else "")
    # Not even by way of a file.
    again = [example.sentence for example in read_conllu(written(sentences).split("\n"), trees=False)]
    assert again == sentences


@given(any_text)
def test_offsets_are_those_of_the_text(text: str) -> None:
    for sentence in trained().sentences(text):
        parsed = ParsedSentence(sentence, Tree.unknown(len(sentence)))
        assert text[parsed.start_char : parsed.end_char] == parsed.text
        for token in parsed.tokens:
            assert text[token.start_char : token.end_char] == token.text
            for word in token.words:
                assert token.start_char <= word.start_char <= word.end_char <= token.end_char
                assert len(token.words) > 1 or text[word.start_char : word.end_char] == word.text


def test_ranges_are_noted_if_wanted() -> None:
    text = "I don't know."
    (sentence,) = trained().sentences(text, ranges=True)
    assert sentence.forms[1:] == ("I", "do", "n't", "know", ".")
    assert sentence.misc[1:] == (
        "TokenRange=0:1",
        "_",
        "_",
        "SpaceAfter=No|TokenRange=8:12",
        "SpaceAfter=No|TokenRange=12:13",
    )
    assert sentence.multiword == ((2, "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tTokenRange=2:7"),)
    (plain,) = trained().sentences(text)
    assert all(misc_value(misc, "TokenRange") is None for misc in plain.misc)


def test_sentences_are_written_as_udpipe_writes_them() -> None:
    found = list(trained().sentences(" Dogs  bark.\nIt is a story.\n\nIt is\ta test.\n"))
    assert [sentence.comments for sentence in found] == [
        ("# newdoc", "# newpar", "# sent_id = 1", "# text = Dogs bark."),
        ("# sent_id = 2", "# text = It is a story."),
        ("# newpar", "# sent_id = 3", "# text = It is a test."),
    ]
    assert found[0].misc[1:] == ("SpacesAfter=\\s\\s|SpacesBefore=\\s", "SpaceAfter=No", "SpacesAfter=\\n")
    assert found[1].misc[-1] == "SpacesAfter=\\n\\n"
    assert found[2].misc[2:] == ("SpacesAfter=\\t", "_", "SpaceAfter=No", "SpacesAfter=\\n")


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("We cannot go.", ["We", "can", "not", "go", "."]),
        ("They don't.", ["They", "do", "n't", "."]),
        ("He doesn't know Mr. Smith.", ["He", "does", "n't", "know", "Mr.", "Smith", "."]),
        ("Is it 10%?", ["Is", "it", "10", "%", "?"]),
    ],
)
def test_what_was_learned_is_found_in_other_sentences(text: str, forms: list[str]) -> None:
    assert [form for sentence in trained().sentences(text) for form in sentence.forms[1:]] == forms


@pytest.mark.parametrize(
    "text",
    [
        "", " \n\t\r\n", "a", "\x00", "\x00 \x00", "\ufeffa", "👩\u200d👩\u200d👧\u200d👦👍🏽🇩🇪", "e\u0301\u0327x",
        "\u200b\u200b a",
        "مرحبا بالعالم.", "こんにちは。世界", "a\r\n\r\nb", "a\u2029b", "\x1b[0m", "a\u00a0b", "_", "#", "1-2",
        "|\\", "\\s",
    ],
)  # fmt: skip
def test_odd_texts_survive(text: str) -> None:
    sentences = list(trained().sentences(text))
    assert raw_text(sentences) == (text if text.strip() else "")
    assert bool(sentences) is bool(text.strip())


@pytest.mark.parametrize("emoji", ["👩\u200d🚀", "👍🏽", "e\u0301", "❤\ufe0f"])
def test_no_token_ends_within_what_is_seen_as_one_sign(emoji: str) -> None:
    forms = [form for sentence in trained().sentences(f"I see {emoji} .") for form in sentence.forms[1:]]
    assert emoji in forms


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_no_token_ends_at_the_scheme_of_an_address(scheme: str) -> None:
    forms = [form for sentence in trained().sentences(f"See {scheme}://example.org .") for form in sentence.forms[1:]]
    assert any(form.startswith(f"{scheme}://e") for form in forms)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(DataError, match=r"found the lone surrogate '\\ud800' as character 3; decode the text as UTF-8"):
        list(trained().sentences("ab\ud800"))


def test_a_line_of_ten_megabytes_without_spaces_survives() -> None:
    for text in ("a" * 10_000_000, "ab." * 400_000 + "!"):
        sentences = list(trained().sentences(text))
        assert raw_text(sentences) == text
        assert max(map(len, sentences)) <= kernels.MOST_TOKENS


def test_a_sentence_without_end_is_cut() -> None:
    text = "and " * 2500
    sentences = list(trained().sentences(text))
    assert raw_text(sentences) == text
    assert max(map(len, sentences)) <= kernels.MOST_TOKENS
    assert len(sentences) >= 3


def test_pieces_and_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    text = raw_text(example.sentence for example in examples_of(LINES * 3))
    whole = list(trained().sentences(text))
    monkeypatch.setattr(textfiles, "BLOCK", 64)
    for size in (1, 7, 100, len(text)):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert list(trained().sentences(pieces, ranges=True)) == list(trained().sentences(text, ranges=True))
        assert list(trained().sentences(pieces)) == whole


@given(st.text("ab. \n", max_size=200), st.integers(1, 50))
def test_small_blocks_lose_nothing(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfiles, "BLOCK", size)
        patch.setattr(textfiles, "LARGEST_BLOCK", size)
        sentences = list(trained().sentences(text))
    assert raw_text(sentences) == (text if text.strip() else "")
    starts = [(sentence.start_char, sentence.forms[1]) for sentence in sentences]
    assert all(text.startswith(form, start) for start, form in starts)
    identifiers = [comment for sentence in sentences for comment in sentence.comments if "sent_id" in comment]
    assert identifiers == [f"# sent_id = {number + 1}" for number in range(len(sentences))]


def test_each_line_can_be_a_sentence() -> None:
    text = "Dogs bark. It is a story.\nNo end here\n\nand so on"
    lines = [sentence.forms[1:] for sentence in trained().sentences(text, line_sentences=True)]
    assert [len(line) for line in lines] == [8, 3, 3]
    assert lines != [sentence.forms[1:] for sentence in trained().sentences(text)]


def test_seed_epochs_and_pruning_matter_and_nothing_else() -> None:
    dev = examples_of(LINES)
    runs = []
    for options in ({}, {}, {"seed": 2}, {"epochs": 1}, {"prune": 0.3}):
        tokenizer = Tokenizer()
        reports = list(train_tokenizer(tokenizer, treebank()[::3], dev=dev, **{"epochs": 2, **options}))  # type: ignore[arg-type]
        assert [report.epoch for report in reports] == list(range(1, len(reports) + 1))
        assert reports[-1].dev is not None
        assert reports[-1].dev["Words"] > 0.5
        runs.append({name: array.tobytes() for name, array in tokenizer.state()[1].items()})
    assert runs[0] == runs[1]
    assert all(run != runs[0] for run in runs[2:])


def test_the_trained_tokenizer_is_right_about_its_own_text() -> None:
    scores = score_tokenizer(trained(), treebank())
    assert scores["Tokens"] > 0.99
    assert scores["Words"] > 0.99
    assert scores["Sentences"] > 0.9


def test_the_state_makes_the_same_tokenizer() -> None:
    config, tensors = trained().state()
    again = Tokenizer.from_state(config, tensors)
    text = raw_text(example.sentence for example in treebank())
    assert list(again.sentences(text)) == list(trained().sentences(text))


def test_faults_are_said() -> None:
    with pytest.raises(ModelError, match=r"^this tokenizer is not trained yet; train it first$"):
        list(Tokenizer().sentences("a"))
    for text, found in ((None, "None$"), (b"Hm.", r"bytes; decode them first"), (["Hm", 3], "int$"), (3, "int$")):
        with pytest.raises(DataError, match=f"^expected text, found {found}"):
            list(trained().sentences(text))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^expected at least 1 epoch, found 0$"):
        list(train_tokenizer(Tokenizer(), treebank(), epochs=0))
    with pytest.raises(DataError, match=r"^expected at least one sentence to train on, found none$"):
        list(train_tokenizer(Tokenizer(), []))


def test_a_script_without_spaces_is_learned() -> None:
    lines = "猫 ~が ~いる ~。\n犬 ~が ~猫 ~を ~見る ~。\n犬 ~を ~見る ~。\n猫 ~を ~いる ~。\n" * 10
    tokenizer = Tokenizer()
    for _ in train_tokenizer(tokenizer, examples_of(lines), epochs=4):
        pass
    assert tokenizer.weights is not None
    assert tokenizer.weights.runs.dense
    assert trained().weights is not None
    assert not trained().weights.runs.dense  # type: ignore[union-attr]
    words = [form for sentence in tokenizer.sentences("猫が犬を見る。") for form in sentence.forms[1:]]
    assert words == ["猫", "が", "犬", "を", "見る", "。"]


@pytest.mark.parametrize("text", ["a\n" + "\n" * 1_000_000 + "b", "a" + " " * 1_000_000 + "b", " " * 1_000_000 + "a b"])
def test_a_million_blanks_are_kept(text: str) -> None:
    started = time.process_time()
    sentences = list(trained().sentences(text))
    assert time.process_time() - started < 5
    assert raw_text(sentences) == text
    assert [form for sentence in sentences for form in sentence.forms[1:]] == text.split()


@pytest.mark.parametrize("unit", ["x", "ab."])
def test_text_without_a_space_is_held_a_block_at_a_time(unit: str) -> None:
    text = unit * (3 * textfiles.LARGEST_BLOCK // len(unit))
    list(trained().sentences(unit))
    tracemalloc.start()
    try:
        started = tracemalloc.get_traced_memory()[0]
        words = sum(len(sentence) for sentence in trained().sentences(text))
        peak = tracemalloc.get_traced_memory()[1] - started
    finally:
        tracemalloc.stop()
    assert words > 0
    assert peak < 300e6
