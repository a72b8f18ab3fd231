"""The worked examples of Xu et al. 2009 with their trees (Stanford labels, Penn tags), and some of our own in UD."""

from __future__ import annotations

from treetune.corpus.sentence import Sentence, Tree


def parsed(text: str) -> tuple[Sentence, Tree]:
    """Make a sentence from lines of word, tag, head and label."""
    rows = [line.split() for line in text.strip().splitlines()]
    words, tags, heads, labels = (list(column) for column in zip(*rows, strict=True))
    return Sentence.of(words, upos=tags, xpos=tags), Tree.of(map(int, heads), labels)


def words(sentence: Sentence, order: tuple[int, ...]) -> str:
    return " ".join(sentence.forms[word] for word in order)


JOHN = parsed("""
John NNP 3 nsubj
can  MD  3 aux
hit  VB  0 root
the  DT  5 det
ball NN  3 dobj
.    .   3 p
""")
BAT = parsed("""
John NNP 3 nsubj
can  MD  3 aux
hit  VB  0 root
the  DT  5 det
ball NN  3 dobj
with IN  3 prep
a    DT  8 det
bat  NN  6 pobj
.    .   3 p
""")
LIVING = parsed("""
Living   VBG 3 csubj
is       VBZ 3 cop
exciting JJ  0 root
because  IN  8 mark
we       PRP 8 nsubj
do       VBP 8 aux
n't      RB  8 neg
know     VB  3 advcl
what     WP  12 dobj
the      DT  11 det
future   NN  12 nsubj
has      VBZ 8 ccomp
.        .   3 p
""")
BUT = parsed("""
John  NNP 2 nsubj
hit   VBD 0 root
the   DT  4 det
ball  NN  2 dobj
but   CC  2 cc
Sam   NNP 7 nsubj
threw VBD 2 conj
the   DT  9 det
ball  NN  7 dobj
""")
WAY = parsed("""
the       DT 2 det
way       NN 0 root
to        TO 2 prep
happiness NN 3 pobj
""")

# The same in Universal Dependencies.
UD_BUT = parsed("""
John  PROPN 2 nsubj
hit   VERB  0 root
the   DET   4 det
ball  NOUN  2 obj
but   CCONJ 7 cc
Sam   PROPN 7 nsubj
threw VERB  2 conj
the   DET   9 det
ball  NOUN  7 obj
.     PUNCT 2 punct
""")
UD_LIVING = parsed("""
Living   VERB  3 csubj
is       AUX   3 cop
exciting ADJ   0 root
because  SCONJ 8 mark
we       PRON  8 nsubj
do       AUX   8 aux
n't      PART  8 advmod
know     VERB  3 advcl
what     PRON  12 obj
the      DET   11 det
future   NOUN  12 nsubj
has      VERB  8 ccomp
.        PUNCT 3 punct
""")
UD_TOKYO = parsed("""
She     PRON  2 nsubj
lives   VERB  0 root
in      ADP   4 case
Tokyo   PROPN 2 obl
and     CCONJ 6 cc
Osaka   PROPN 4 conj
.       PUNCT 2 punct
""")
UD_MAN = parsed("""
the   DET   2 det
man   NOUN  0 root
who   PRON  4 nsubj
said  VERB  2 acl:relcl
that  SCONJ 8 mark
he    PRON  8 nsubj
not   PART  8 advmod
came  VERB  4 ccomp
""")
