"""Find the metrics that a PromQL expression reads."""

import re

_NAMES = re.compile(r'__name__\s*=~?\s*"([^"]*)"')
_MATCHERS = re.compile(r"\{[^{}]*\}")
_LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_TEXTS = re.compile(r'"[^"]*"')
_SPANS = re.compile(r"\[[^\]]*\]")
_NUMBERS = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:ms|[smhdwy])?\b")
_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()(?![a-zA-Z0-9_:])")
_KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset"})


def metrics_of(expression: str) -> frozenset[str]:
    """Name every metric; of a selector by name the alternatives that it lists."""
    listed = {
        name
        for found in _NAMES.findall(expression)
        for name in found.split("|")
        if not name.startswith("$")
    }
    bare = expression
    for pattern in (_TEXTS, _MATCHERS, _SPANS, _LABELS, _NUMBERS):
        bare = pattern.sub(" ", bare)
    return frozenset(listed | {word for word in _WORD.findall(bare) if word not in _KEYWORDS})
