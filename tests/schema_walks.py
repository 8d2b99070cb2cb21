"""Random texts of a JSON Schema by a seed, written token by token under the mask alone."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

import fastmask as fm
from fastmask.shortest import shortest_completion
from walking import longest_tokens


class SchemaWalker:
    """Walks over one schema.

    Parameters
    ----------
    compiled : CompiledGrammar
    schema : the schema it was compiled from
    """

    def __init__(self, compiled: fm.CompiledGrammar, schema: Any) -> None:
        self.compiled = compiled
        self.tokens = compiled.vocabulary.tokens
        self.ends = list(compiled.vocabulary.eos_token_ids)
        self.first_bytes = np.array([(*token, 0)[0] for token in self.tokens], np.uint8)
        self.keys = [
            longest_tokens(
                json.dumps(name, ensure_ascii=False).encode() + b":", compiled.vocabulary
            )
            for name in names_of(schema)
        ]

    def text(self, seed: Any, longest: int = 60) -> bytes:
        """A text: random tokens, now and then a declared key, and then the shortest way to an end.

        Every token is one that the mask allows.
        """
        rng = random.Random(seed)
        matcher = fm.GrammarMatcher(self.compiled)
        text = bytearray()

        def take(token: int) -> None:
            row = matcher.next_token_bitmask()
            assert row[token >> 5] >> (token & 31) & 1, (bytes(text), self.tokens[token])
            assert matcher.accept_token(token), (bytes(text), self.tokens[token])
            text.extend(self.tokens[token])

        for _ in range(rng.randint(1, longest)):
            ids = matcher.allowed_token_ids()
            ids = ids[~np.isin(ids, self.ends)]
            if not ids.size:
                break
            for token in self._key(matcher, rng) or [self._any(ids, rng)]:
                take(token)
        while not matcher.is_completed():
            found = shortest_completion(matcher).token_ids
            assert found is not None
            for token in found:
                take(token)
        return bytes(text)

    def _any(self, ids: np.ndarray, rng: random.Random) -> int:
        """Any of the tokens, or any of those that begin with one of their first bytes."""
        if rng.random() < 0.5:
            first = self.first_bytes[ids]
            ids = ids[first == rng.choice(np.unique(first).tolist())]
        return int(ids[rng.randrange(ids.size)])

    def _key(self, matcher: fm.GrammarMatcher, rng: random.Random) -> list[int]:
        """A declared key that may come next, as tokens; none if a few of them may not."""
        if rng.random() < 0.4:
            for tokens in rng.sample(self.keys, min(4, len(self.keys))):
                accepted = matcher.accept_tokens(tokens)
                matcher.rollback(accepted)
                if accepted == len(tokens):
                    return tokens
        return []


def names_of(schema: Any) -> list[str]:
    """The keys that a schema declares or requires anywhere."""
    names: dict[str, None] = {}
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            todo.extend(node.values())
            for words in (node.get("properties"), node.get("required")):
                if isinstance(words, (dict, list)):
                    names.update((name, None) for name in words if isinstance(name, str))
    return list(names)
