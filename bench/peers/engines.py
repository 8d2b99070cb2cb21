"""One adapter an engine: the same few calls, each made the fastest way that engine documents.

An adapter compiles a case to something of which `start` gives fresh matchers; a matcher has two
callables, ``mask()``, which writes the row the adapter was made with, and ``accept(token)``. Their
times are what is measured, so they are the engine's own bound methods wherever its interface lets
them be. Engines are imported when they are made.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cases import RawVocabulary


class Matcher(NamedTuple):
    """A text under way."""

    mask: Callable[[], Any]
    accept: Callable[[int], bool]


class RefusedError(Exception):
    """The engine does not take this grammar; the message says why."""


class Fastmask:
    """fastmask: ``fill_next_token_bitmask`` into a NumPy row, ``accept_token``."""

    variants = ("",)

    def __init__(self, vocabulary: RawVocabulary, variant: str) -> None:
        import fastmask

        fastmask.warm_up()
        self.package = fastmask
        self.vocabulary = fastmask.Vocabulary(
            vocabulary.tokens, vocabulary.ends, vocabulary.special
        )
        _ = self.vocabulary.trie
        self.row = fastmask.allocate_token_bitmask(1, self.vocabulary.size)

    def compile(self, grammar: dict[str, Any]) -> Any:
        """A compiler of its own each time: nothing is known from an earlier case."""
        compiler = self.package.GrammarCompiler(self.vocabulary)
        try:
            if "gbnf" in grammar:
                return compiler.compile_gbnf(grammar["gbnf"])
            if "schema" in grammar:
                return compiler.compile_json_schema(grammar["schema"])
            return compiler.compile_json()
        except self.package.errors.FastmaskError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def start(self, compiled: Any) -> Matcher:
        matcher = self.package.GrammarMatcher(compiled)
        fill = functools.partial(matcher.fill_next_token_bitmask, self.row)
        return Matcher(fill, matcher.accept_token)


class _Tokenizer:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: RawVocabulary) -> None:
        self.vocabulary = vocabulary
        self.tokens = vocabulary.tokens
        self.eos_token_id = vocabulary.ends[0]
        self.special_token_ids = [*vocabulary.special, *vocabulary.ends]

    def __call__(self, text: bytes | str) -> list[int]:
        return self.vocabulary.tokenize(text.encode() if isinstance(text, str) else text)


class Llguidance:
    """llguidance: ``unsafe_compute_mask_ptr`` into a NumPy row, ``consume_token``."""

    variants = ("",)

    def __init__(self, vocabulary: RawVocabulary, variant: str) -> None:
        import llguidance

        self.package = llguidance

        wrapper = llguidance.TokenizerWrapper(_Tokenizer(vocabulary))
        self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=len(vocabulary.tokens))
        self.row = np.full((1, (len(vocabulary.tokens) + 31) // 32), -1, np.int32)

    def compile(self, grammar: dict[str, Any]) -> Any:
        from llguidance.gbnf_to_lark import any_to_lark

        engine = self.package.LLMatcher
        if "gbnf" in grammar:
            source = engine.grammar_from_lark(any_to_lark(grammar["gbnf"]))
        else:
            # Every escape and any white space, as JSON has it.
            options = {"whitespace_flexible": True, "json_allow_general_unicode_escapes": True}
            schema = grammar.get("schema", {})
            source = engine.grammar_from_json_schema(json.dumps(schema), defaults=options)
        matcher = engine(self.tokenizer, source, log_level=0)
        if matcher.is_error():
            raise RefusedError(matcher.get_error())
        return matcher

    def start(self, compiled: Any) -> Matcher:
        matcher = compiled.deep_copy()
        address, size = self.row.ctypes.data, self.row.nbytes
        fill = functools.partial(matcher.unsafe_compute_mask_ptr, address, size)
        return Matcher(fill, matcher.consume_token)


class Xgrammar:
    """XGrammar: ``fill_next_token_bitmask`` into a torch row, ``accept_token``.

    Variants for JSON: its builtin grammar, and the schema ``{}`` with any white space; for all
    grammars, masks made while decoding instead of while compiling.
    """

    variants = ("builtin", "schema", "dynamic")

    def __init__(self, vocabulary: RawVocabulary, variant: str) -> None:
        import torch
        import xgrammar

        torch.set_num_threads(1)
        self.package, self.variant = xgrammar, variant
        special = {*vocabulary.special, *vocabulary.ends}
        # It has no list of special tokens: empty ones count as such.
        tokens = [b"" if i in special else token for i, token in enumerate(vocabulary.tokens)]
        self.information = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, stop_token_ids=vocabulary.ends
        )
        self.bitmask = xgrammar.allocate_token_bitmask(1, len(tokens))
        self.row = self.bitmask.numpy()

    def compile(self, grammar: dict[str, Any]) -> Any:
        compiler = self.package.GrammarCompiler(
            self.information, enable_dynamic_compilation=self.variant == "dynamic"
        )
        try:
            if "gbnf" in grammar:
                return compiler.compile_grammar(grammar["gbnf"])
            if "schema" in grammar:
                return compiler.compile_json_schema(json.dumps(grammar["schema"]))
            if self.variant == "builtin":
                return compiler.compile_builtin_json_grammar()
            return compiler.compile_json_schema("{}", any_whitespace=True)
        except (RuntimeError, ValueError) as error:
            raise RefusedError(str(error)) from error

    def start(self, compiled: Any) -> Matcher:
        matcher = self.package.GrammarMatcher(compiled)
        fill = functools.partial(matcher.fill_next_token_bitmask, self.bitmask)
        return Matcher(fill, matcher.accept_token)


ENGINES: dict[str, Any] = {
    "fastmask": Fastmask,
    "llguidance": Llguidance,
    "xgrammar": Xgrammar,
}


def versions(name: str) -> dict[str, str]:
    """The versions that matter for an engine."""
    packages = {"fastmask": ("numpy", "numba"), "llguidance": ("llguidance",)}
    return {
        package: importlib.metadata.version(package)
        for package in packages.get(name, ("xgrammar", "torch"))
    }
