"""Token masks for constrained decoding: the tokens that keep a text inside a pattern or grammar.

The public names live here and are imported when first used, so that ``import fastmask`` costs
milliseconds; Numba's half second is paid with the first name that needs a kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import accept_tokens, fill_next_token_bitmasks
    from .bitmask import allocate_token_bitmask, apply_token_bitmask_inplace, reset_token_bitmask
    from .compiler import CompiledGrammar, GrammarCompiler
    from .errors import (
        BitmaskError,
        BudgetError,
        FastmaskError,
        FormatError,
        GrammarError,
        GrammarSyntaxError,
        MatcherError,
        UnsatisfiableGrammarError,
        UnsupportedFeatureError,
        VocabularyError,
    )
    from .grammar.core import Grammar
    from .matcher import GrammarMatcher
    from .naive import naive_mask
    from .schema.report import SchemaReport
    from .schema.source import check_schema
    from .vocabulary import Vocabulary
    from .warm import warm_up

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    ".schema.report": ("SchemaReport",),
    ".schema.source": ("check_schema",),
    ".batch": ("accept_tokens", "fill_next_token_bitmasks"),
    ".bitmask": (
        "allocate_token_bitmask",
        "apply_token_bitmask_inplace",
        "reset_token_bitmask",
    ),
    ".compiler": (
        "CompiledGrammar",
        "GrammarCompiler",
    ),
    ".errors": (
        "BitmaskError",
        "BudgetError",
        "FastmaskError",
        "FormatError",
        "GrammarError",
        "GrammarSyntaxError",
        "MatcherError",
        "UnsatisfiableGrammarError",
        "UnsupportedFeatureError",
        "VocabularyError",
    ),
    ".grammar.core": ("Grammar",),
    ".matcher": ("GrammarMatcher",),
    ".naive": ("naive_mask",),
    ".vocabulary": ("Vocabulary",),
    ".warm": ("warm_up",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("errors", "sampling", "toy")

__all__ = [
    "BitmaskError",
    "BudgetError",
    "CompiledGrammar",
    "FastmaskError",
    "FormatError",
    "Grammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "GrammarSyntaxError",
    "MatcherError",
    "SchemaReport",
    "UnsatisfiableGrammarError",
    "UnsupportedFeatureError",
    "Vocabulary",
    "VocabularyError",
    "accept_tokens",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "check_schema",
    "fill_next_token_bitmasks",
    "naive_mask",
    "reset_token_bitmask",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or one of the public modules, when it is first asked for."""
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name], __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
