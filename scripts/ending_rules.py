"""Learns rules of endings from a dictionary of inflected words: ending -> how many characters to cut, what to append.

The longest ending of a word that has a rule decides. The rules are those of least cost, found by dynamic programming
over the tree of all endings: a rule costs a constant, a word that the rules get wrong its weight. A word that no ending
gets right may be a rule of its own, marked with ``^`` at its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Rule = tuple[int, str]
"""How many characters to cut at the end, what to append then."""

WHOLE = "^"
"""Begins an ending that is a whole word."""
UNCHANGED: Rule = (0, "")


def rule_of(word: str, form: str) -> Rule:
    """The rule that makes ``form`` of ``word`` and cuts least."""
    shared = _shared(word, form)
    return len(word) - shared, form[shared:]


class _Node:
    """All words with one ending, and what each rule for them would cost, where it is less than that of any other."""

    __slots__ = ("best", "children", "costs", "first", "least", "length", "others")

    def __init__(self, first: str, length: int) -> None:
        self.first = first
        self.length = length
        self.children: list[_Node] = []
        self.costs: dict[Rule, float] = {}
        self.others = 0.0
        """What a rule costs that is not in ``costs``."""
        self.least = 0.0
        self.best = UNCHANGED

    def close(self, price: float) -> None:
        """Sum the children's costs; a rule of its own for this ending is an alternative to the inherited one."""
        if not self.children:
            return
        others = sum(child.others for child in self.children)
        costs: dict[Rule, float] = {}
        for child in self.children:
            for rule, cost in child.costs.items():
                costs[rule] = costs.get(rule, others) + cost - child.others
        self.settle(costs, others, price)

    def settle(self, costs: dict[Rule, float], others: float, price: float) -> None:
        whole = [rule for rule in costs if rule[0] <= self.length]  # an ending has all that its rule cuts
        self.best = min(whole, key=lambda rule: (costs[rule], rule), default=UNCHANGED)
        self.least = costs.get(self.best, others)
        limit = self.least + price
        self.others = min(others, limit)
        self.costs = {rule: cost for rule, cost in costs.items() if cost < self.others}


def learn(
    forms: Mapping[str, str], price: float, weight: Callable[[str], float] = lambda word: 1.0, longest: int = 12
) -> dict[str, Rule]:
    """The rules of endings of a dictionary, word to dictionary form.

    A rule must save errors of a weight above ``price``. An ending has at most ``longest`` characters, unless it is a
    whole word.
    """
    rules: dict[str, Rule] = {}
    pending = [(_tree(forms, price, weight), UNCHANGED, 0)]
    while pending:
        node, rule, above = pending.pop()
        if node.length and (above < longest or not node.children) and _deviates(node, rule, price):
            rule = node.best
            ending = node.first[: max(above + 1, rule[0])] if node.children else node.first
            rules[ending[::-1]] = rule
        pending += [(child, rule, node.length) for child in node.children]
    return rules


def _tree(forms: Mapping[str, str], price: float, weight: Callable[[str], float]) -> _Node:
    """The root of the tree of all endings with their costs."""
    root = _Node("", 0)
    stack = [root]
    for key in sorted(word[::-1] + WHOLE for word in forms):
        shared = _shared(stack[-1].first, key)
        while len(stack) > 1 and stack[-1].length > shared:
            last = stack.pop()
            last.close(price)
            if stack[-1].length < shared:
                stack.append(_Node(last.first, shared))
            stack[-1].children.append(last)
        leaf = _Node(key, len(key))
        word = key[-2::-1]
        leaf.settle({rule_of(word, forms[word]): 0.0}, weight(word), price)
        stack.append(leaf)
    while len(stack) > 1:
        last = stack.pop()
        last.close(price)
        stack[-1].children.append(last)
    root.close(price)
    return root


def _shared(first: str, second: str) -> int:
    """How many characters two strings begin with alike."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length


def _deviates(node: _Node, inherited: Rule, price: float) -> bool:
    return node.costs.get(inherited, node.others) >= node.least + price - 1e-9


def apply(rules: Mapping[str, Rule], word: str, longest: int) -> str:
    """The word as the rule of its longest ending changes it."""
    rule = rules.get(WHOLE + word)
    if rule is None:
        for start in range(max(0, len(word) - longest), len(word)):
            rule = rules.get(word[start:])
            if rule is not None:
                break
        else:
            return word
    cut, append = rule
    return word[: len(word) - cut] + append if cut < len(word) or (append and cut == len(word)) else word
