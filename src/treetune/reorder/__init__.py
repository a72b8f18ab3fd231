"""Trees to word orders: precedence rules, sets of them as data, and learning them from orders.

`precedence` has the rules, `rule_files` reads and writes them, `reorderer` applies them to trees, `learn` (with
`sibling_pairs` and `ordered_groups`) learns them from trees and word orders, `reversible` stores a permutation in a
sentence and undoes it, `drawing` draws it. See docs/word-order.md.
"""

from treetune.reorder.precedence import Precedence, Rule, RuleSet
from treetune.reorder.reorderer import Reorderer, inverse, permuted
from treetune.reorder.rule_files import format_rules, load_rules, rule_sets, save_rules

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
