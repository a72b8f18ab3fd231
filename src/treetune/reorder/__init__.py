"""Trees to word orders: precedence rules, sets of them as data, and learning them from orders.

`precedence` has the rules, `files` reads and writes them, `apply` puts sentences into their order, `learn` (with
`pairs` and `grouping`) finds weights from trees and orders, `kept` keeps an order in a sentence and undoes it,
`drawing` makes a picture. See docs/word-order.md.
"""

from treetune.reorder.apply import Reorderer, inverse, permuted
from treetune.reorder.files import format_rules, load_rules, rule_sets, save_rules
from treetune.reorder.precedence import Precedence, Rule, RuleSet

__all__ = [
    "Precedence",
    "Reorderer",
    "Rule",
    "RuleSet",
    "format_rules",
    "inverse",
    "load_rules",
    "permuted",
    "rule_sets",
    "save_rules",
]
