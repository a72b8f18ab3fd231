"""Files of clusters and the columns that come of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from treetune.corpus.sentence import Sentence
from treetune.errors import DataError
from treetune.features.clusters import CLUSTER_COLUMNS, Clusters
from treetune.features.encoding import FIRST_ID, ROOT_ID, UNSEEN, Encoder

CLUSTERS = Clusters({"dog": "0000", "cat": "000100", "runs": "11", "paris": "01", "00": "10"}, {"dog": 7, "cat": 2})


def test_a_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "clusters.txt.gz"
    assert CLUSTERS.write(path) == 5
    read = Clusters.read(path)
    assert read.paths == CLUSTERS.paths
    assert read.counts == {"dog": 7, "cat": 2, "runs": 0, "paris": 0, "00": 0}
    assert (len(read), read.classes) == (5, 5)


def test_a_file_without_counts_is_read(tmp_path: Path) -> None:
    path = tmp_path / "clusters"
    path.write_text("01\ta\n\n1\tb c\n", encoding="utf-8")
    assert Clusters.read(path).paths == {"a": "01", "b c": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("01 a 3\n", ":1: expected a bit string, a word and a count separated by tabs, found 1 columns"),
        ("1\ta\t1\n012\tb\t3\n", ":2: expected a bit string of 0 and 1, found '012'"),
        ("\ta\t1\n", ":1: expected a bit string of 0 and 1, found ''"),
        ("0\t\t1\n", ":1: expected a word, found nothing"),
        ("0\ta\tmany\n", ":1: expected a count, found 'many'"),
        ("0\ta\t1\n1\ta\t1\n", ":2: expected each word once, found 'a' again with another bit string"),
        ("", ": expected lines of a bit string, a tab and a word, found none"),
    ],
)
def test_a_fault_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "clusters"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}$"):
        Clusters.read(path)


def test_the_state_is_plain_and_comes_back() -> None:
    assert CLUSTERS.state()["0000"] == ["dog"]
    assert Clusters.from_state(CLUSTERS.state()).paths == CLUSTERS.paths


SENTENCE = Sentence.of(["dog", "cat", "Dog", "PARIS", "42", "zebra"])


def encoded(encoder: Encoder) -> dict[str, list[int]]:
    columns, _ = encoder.encode([SENTENCE])
    return {name: row.tolist() for name, row in zip(encoder.columns, columns, strict=True)}


def test_words_alike_share_prefixes_and_a_word_is_sought_in_lower_case_and_by_its_digits() -> None:
    encoder = Encoder.learn([SENTENCE], columns=("w", *CLUSTER_COLUMNS), min_count=1, clusters=CLUSTERS)
    found = encoded(encoder)
    assert encoder.columns == ("w", *CLUSTER_COLUMNS)
    short = found["c4"]
    # dog, Dog: 0000; cat: 0001; paris: 01; 42 as 00: 10; zebra is in no cluster.
    assert short[0] == ROOT_ID
    assert short[1] == short[3] >= FIRST_ID
    assert len({short[1], short[2], short[4], short[5]}) == 4
    assert short[6] == UNSEEN
    assert encoder.values["c6"] == ["0000", "000100", "01", "10"]
    assert encoder.values["c"] == ["0000", "000100", "01", "10"]


def test_prefixes_join_what_whole_bit_strings_tell_apart() -> None:
    clusters = Clusters({"dog": "0000000000000", "cat": "0000000000001"})
    found = encoded(Encoder.learn([SENTENCE], columns=CLUSTER_COLUMNS, min_count=1, clusters=clusters))
    assert found["c12"][1] == found["c12"][2]
    assert found["c"][1] != found["c"][2]


def test_without_clusters_there_are_no_such_columns() -> None:
    encoder = Encoder.learn([SENTENCE], columns=("w", *CLUSTER_COLUMNS), min_count=1)
    assert encoder.columns == ("w",)
    assert "clusters" not in encoder.state()


def test_an_encoder_keeps_its_clusters() -> None:
    encoder = Encoder.learn([SENTENCE], columns=("w", "c4", "c"), min_count=1, clusters=CLUSTERS)
    again = Encoder.from_state(encoder.state())
    assert again.columns == encoder.columns
    other = Sentence.of(["cat", "Paris", "runs"])
    np.testing.assert_array_equal(again.encode([other])[0], encoder.encode([other])[0])
