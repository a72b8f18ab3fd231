"""Natural logical forms (Alshawi et al. 2011): meanings as expressions over words, encoded as labelled trees."""

from treetune.semantics.encoding import decode, encode
from treetune.semantics.expression import ABSTRACTION, UNSPECIFIED, Expression
from treetune.semantics.from_ud import from_ud
from treetune.semantics.notation import format_expression, format_indented, parse_expression

__all__ = [
    "ABSTRACTION",
    "UNSPECIFIED",
    "Expression",
    "decode",
    "encode",
    "format_expression",
    "format_indented",
    "from_ud",
    "parse_expression",
]
