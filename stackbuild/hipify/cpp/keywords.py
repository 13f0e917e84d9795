"""Words of C++ that look like a name before a bracket or before another name."""

from __future__ import annotations

BEFORE_EXPRESSIONS = frozenset(
    ("return", "else", "do", "case", "throw", "co_return", "co_await", "co_yield", "and", "or", "not")
)
"""An expression or a statement follows them: a name after one of them is not declared there."""
STATEMENT_HEADS = frozenset(("if", "for", "while", "switch", "catch"))
"""Their brackets hold a condition or a declaration, and not arguments."""
