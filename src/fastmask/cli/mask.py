"""``fastmask mask``: which tokens of a vocabulary may come next after a text."""

from __future__ import annotations

import argparse
import json
import os
import sys

from .explain import Verifier, shown_byte, shown_ranges
from .sources import add_grammar_options, add_vocabulary_option, chosen_grammar, chosen_vocabulary

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A grammar, a vocabulary and the text so far."""
    add_grammar_options(parser)
    add_vocabulary_option(parser)
    parser.add_argument("--text", default="", help="the text so far (default: empty)")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="tokens to list (20)")


def run(options: argparse.Namespace) -> int:
    """Print the mask; 1 if the text so far is refused."""
    from ..compiler import GrammarCompiler
    from ..matcher import GrammarMatcher

    grammar = chosen_grammar(options)
    vocabulary = chosen_vocabulary(options.vocabulary)
    text = os.fsencode(options.text)
    matcher = GrammarMatcher(GrammarCompiler(vocabulary).compile(grammar))
    if not matcher.accept_bytes(text):
        verdict = Verifier(grammar)(text)
        print(
            f"fastmask mask: the text is refused at byte {verdict.position} "
            f"({shown_byte(text[verdict.position])}); allowed there: "
            f"{shown_ranges(verdict.allowed, verdict.may_end)}",
            file=sys.stderr,
        )
        return 1
    ids = matcher.allowed_token_ids().tolist()
    tokens = [(i, vocabulary.tokens[i].decode(errors="replace")) for i in ids[: options.limit]]
    forced = matcher.find_jump_forward_bytes().decode(errors="replace")
    if options.json:
        document = {
            "text": options.text,
            "may_end": matcher.is_completed(),
            "allowed": len(ids),
            "vocabulary_size": vocabulary.size,
            "forced_text": forced,
            "tokens": [{"id": i, "text": token} for i, token in tokens],
        }
        json.dump(document, sys.stdout)
        print()
        return 0
    print(f"after {options.text!r}: {len(ids):,} of {vocabulary.size:,} tokens are allowed")
    if matcher.is_completed():
        print("the text may end here")
    if forced:
        print(f"what must come next: {forced!r}")
    for i, token in tokens:
        print(f"{i:>8}  {'(end)' if i in vocabulary.eos_token_ids else repr(token)}")
    if len(ids) > len(tokens):
        print(f"{'...':>8}  and {len(ids) - len(tokens):,} more")
    return 0
