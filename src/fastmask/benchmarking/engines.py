"""One adapter an engine: the same few calls, each made the fastest way that engine documents.

An adapter compiles a grammar to something of which `start` gives fresh matchers; a matcher has two
callables, ``mask()``, which writes the row the adapter was made with, and ``accept(token)``. Their
times are what is measured, so they are the engine's own bound methods wherever its interface lets
them be. Engines are imported when they are made, so each may live in an environment of its own.

A grammar is ``{"json": True}``, ``{"schema": value}``, ``{"regex": pattern}`` or
``{"gbnf": text}``. A variant is words joined by ``+``, each of those that the adapter lists.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .vocabularies import RawVocabulary

__all__ = ["ENGINES", "Engine", "Matcher", "RefusedError", "installed", "make", "versions"]


class Matcher(NamedTuple):
    """A text under way."""

    mask: Callable[[], Any]
    accept: Callable[[int], Any]
    handle: Any  # what the engine's own calls for many matchers take


class RefusedError(Exception):
    """The engine does not take this grammar; the message says why."""


class Engine:
    """What every adapter has.

    Attributes
    ----------
    words : tuple of str
        What its variants are made of.
    packages : tuple of str
        Those whose versions matter.
    accept_answers : bool
        Whether ``accept`` says if the token was taken; else only masks can be checked.
    row : int32[1, words]
        Where masks go.
    """

    words: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    accept_answers: ClassVar[bool] = True
    row: Any

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
        raise NotImplementedError

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Compile, or raise `RefusedError`."""
        raise NotImplementedError

    def start(self, compiled: Any) -> Matcher:
        """A text that begins."""
        raise NotImplementedError

    def batch(self, matchers: Sequence[Matcher], threads: int) -> Callable[[], Any] | None:
        """A call that writes the masks of all matchers, or None if the engine has no such call."""
        return None

    def apply(self) -> Callable[[Any], Any] | None:
        """A call that masks a float32 row of logits (NumPy) by the present row, if it has one."""
        return None


_CACHE_BYTES = 32 << 20  # of fastmask's compiler, where one is kept


def _empty_row(vocabulary: RawVocabulary) -> Any:
    return np.zeros((1, (vocabulary.size + 31) // 32), np.int32)


class Fastmask(Engine):
    """fastmask: ``fill_next_token_bitmask`` into a NumPy row, ``accept_token``.

    ``cached``: one compiler for all grammars instead of a fresh one each.
    """

    words = ("cached",)
    packages = ("numpy", "numba")

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
        from ..compiler import GrammarCompiler
        from ..errors import FastmaskError
        from ..matcher import GrammarMatcher
        from ..warm import warm_up

        warm_up()
        self.refusal = FastmaskError
        self.compiler_of, self.matcher_of = GrammarCompiler, GrammarMatcher
        self.vocabulary = vocabulary.vocabulary()
        _ = self.vocabulary.trie
        self.row = _empty_row(vocabulary)
        self.compiler = None
        if "cached" in variant:
            self.compiler = GrammarCompiler(self.vocabulary, cache_limit_bytes=_CACHE_BYTES)

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Compile with a compiler of its own: nothing is known from an earlier grammar."""
        compiler = self.compiler or self.compiler_of(self.vocabulary)
        try:
            if "gbnf" in grammar:
                return compiler.compile_gbnf(grammar["gbnf"])
            if "regex" in grammar:
                return compiler.compile_regex(grammar["regex"])
            if "schema" in grammar:
                return compiler.compile_json_schema(grammar["schema"])
            return compiler.compile_json()
        except self.refusal as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def start(self, compiled: Any) -> Matcher:
        """A matcher's own methods."""
        matcher = self.matcher_of(compiled)
        fill = functools.partial(matcher.fill_next_token_bitmask, self.row)
        return Matcher(fill, matcher.accept_token, matcher)

    def batch(self, matchers: Sequence[Matcher], threads: int) -> Callable[[], Any] | None:
        """`fill_next_token_bitmasks`, an equal part of the batch for each thread."""
        from concurrent.futures import ThreadPoolExecutor

        from ..batch import fill_next_token_bitmasks

        handles = [matcher.handle for matcher in matchers]
        bitmask = np.zeros((len(handles), self.row.shape[1]), np.int32)
        if threads == 1:
            return functools.partial(fill_next_token_bitmasks, handles, bitmask)
        pool = ThreadPoolExecutor(threads)
        bounds = [len(handles) * i // threads for i in range(threads + 1)]
        parts = [(handles[a:b], bitmask[a:b]) for a, b in itertools.pairwise(bounds) if b > a]

        def fill() -> None:
            first, *others = parts
            pending = [pool.submit(fill_next_token_bitmasks, *part) for part in others]
            fill_next_token_bitmasks(*first)
            for part in pending:
                part.result()

        return fill

    def apply(self) -> Callable[[Any], Any] | None:
        """`apply_token_bitmask_inplace`."""
        from ..bitmask import apply_token_bitmask_inplace

        return functools.partial(apply_token_bitmask_inplace, bitmask=self.row[0])


class _Tokenizer:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: RawVocabulary) -> None:
        self.vocabulary = vocabulary
        self.tokens = vocabulary.tokens
        self.eos_token_id = vocabulary.ends[0]
        self.special_token_ids = sorted({*vocabulary.special, *vocabulary.ends})

    def __call__(self, text: bytes | str) -> list[int]:
        return self.vocabulary.tokenize(text.encode() if isinstance(text, str) else text)


class Llguidance(Engine):
    """llguidance: ``unsafe_compute_mask_ptr`` into a NumPy row, ``consume_token``."""

    packages = ("llguidance",)

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
        import llguidance

        self.package = llguidance
        wrapper = llguidance.TokenizerWrapper(_Tokenizer(vocabulary))
        self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=vocabulary.size)
        self.row = _empty_row(vocabulary)

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Compile: every escape and any white space, as JSON has it."""
        engine = self.package.LLMatcher
        try:
            if "gbnf" in grammar:
                from llguidance.gbnf_to_lark import any_to_lark

                source = engine.grammar_from_lark(any_to_lark(grammar["gbnf"]))
            elif "regex" in grammar:
                source = engine.grammar_from_regex(grammar["regex"])
            else:
                options = {"whitespace_flexible": True, "json_allow_general_unicode_escapes": True}
                schema = json.dumps(grammar.get("schema", {}))
                source = engine.grammar_from_json_schema(schema, defaults=options)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        matcher = engine(self.tokenizer, source, log_level=0)
        if matcher.is_error():
            raise RefusedError(matcher.get_error())
        return matcher

    def start(self, compiled: Any) -> Matcher:
        """A copy of the matcher that compiling made."""
        matcher = compiled.deep_copy()
        address, size = self.row.ctypes.data, self.row.nbytes
        fill = functools.partial(matcher.unsafe_compute_mask_ptr, address, size)
        return Matcher(fill, matcher.consume_token, matcher)

    def batch(self, matchers: Sequence[Matcher], threads: int) -> Callable[[], Any] | None:
        """``LLExecutor.unsafe_compute_mask_ptr``."""
        executor = self.package.LLExecutor(threads)
        handles = [(matcher.handle, place) for place, matcher in enumerate(matchers)]
        bitmask = np.zeros((len(handles), self.row.shape[1]), np.int32)
        size = self.row.nbytes

        def fill() -> None:
            executor.unsafe_compute_mask_ptr(handles, bitmask.ctypes.data, size, len(handles))

        return fill

    def apply(self) -> Callable[[Any], Any] | None:
        """Its way for NumPy; the one for torch has to be compiled by torch first."""
        from llguidance.numpy import apply_token_bitmask_inplace

        row = self.row
        return lambda logits: apply_token_bitmask_inplace(logits.reshape(1, -1), row)


class Xgrammar(Engine):
    """XGrammar: ``fill_next_token_bitmask`` into a torch row, ``accept_token``.

    Its default takes undeclared keys and items for forbidden (``strict_mode``); ``compliant`` reads
    schemas as the specification does. ``dynamic``: masks made while decoding instead of while
    compiling. ``cached``: one compiler, its cache on, instead of a fresh one each. ``builtin``: for
    any JSON its builtin grammar, else the schema ``{}``.
    """

    words = ("compliant", "dynamic", "cached", "builtin")
    packages = ("xgrammar", "torch")

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
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
        self.compiler = self._new_compiler() if "cached" in variant else None

    def _new_compiler(self) -> Any:
        return self.package.GrammarCompiler(
            self.information,
            cache_enabled="cached" in self.variant,
            enable_dynamic_compilation="dynamic" in self.variant,
        )

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Compile with as many threads as it likes."""
        compiler = self.compiler or self._new_compiler()
        try:
            if "gbnf" in grammar:
                return compiler.compile_grammar(grammar["gbnf"])
            if "regex" in grammar:
                return compiler.compile_regex(grammar["regex"])
            if "schema" not in grammar and "builtin" in self.variant:
                return compiler.compile_builtin_json_grammar()
            schema = json.dumps(grammar.get("schema", {}))
            strict = "compliant" not in self.variant
            return compiler.compile_json_schema(schema, strict_mode=strict)
        except (RuntimeError, ValueError) as error:
            raise RefusedError(str(error)) from error

    def start(self, compiled: Any) -> Matcher:
        """A matcher's own methods."""
        matcher = self.package.GrammarMatcher(compiled)
        fill = functools.partial(matcher.fill_next_token_bitmask, self.bitmask)
        return Matcher(fill, matcher.accept_token, matcher)

    def batch(self, matchers: Sequence[Matcher], threads: int) -> Callable[[], Any] | None:
        """``BatchGrammarMatcher.batch_fill_next_token_bitmask``."""
        batch = self.package.BatchGrammarMatcher(max_threads=threads)
        handles = [matcher.handle for matcher in matchers]
        bitmask = self.package.allocate_token_bitmask(len(handles), self.information.vocab_size)
        return functools.partial(batch.batch_fill_next_token_bitmask, handles, bitmask)

    def apply(self) -> Callable[[Any], Any] | None:
        """``apply_token_bitmask_inplace`` on a CPU tensor over the same memory."""
        import torch

        call, bitmask = self.package.apply_token_bitmask_inplace, self.bitmask
        known: dict[int, Any] = {}

        def masked(logits: Any) -> None:
            key = logits.__array_interface__["data"][0]
            if key not in known:
                known.clear()
                known[key] = torch.from_numpy(logits.reshape(1, -1))
            call(known[key], bitmask)

        return masked


class OutlinesCore(Engine):
    """outlines-core: a schema becomes a pattern, a pattern an index of all its states.

    ``Guide.write_mask_into`` into a NumPy row, ``Guide.advance`` without its list of tokens.
    """

    packages = ("outlines_core",)

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
        import outlines_core

        self.package = outlines_core
        special = {*vocabulary.special, *vocabulary.ends}
        ids: dict[bytes, list[int]] = {}
        for i, token in enumerate(vocabulary.tokens):
            if token and i not in special:
                ids.setdefault(token, []).append(i)
        self.vocabulary = outlines_core.Vocabulary(vocabulary.ends[0], ids)
        self.row = _empty_row(vocabulary)

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Compile schemas and patterns; there is no stack for anything else."""
        if "gbnf" in grammar or "json" in grammar:
            raise RefusedError("only patterns and schemas")
        try:
            pattern = grammar.get("regex")
            if pattern is None:
                schema = json.dumps(grammar["schema"])
                pattern = self.package.json_schema.build_regex_from_schema(schema)
            return self.package.Index(pattern, self.vocabulary)
        except Exception as error:  # its errors share no class
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def start(self, compiled: Any) -> Matcher:
        """A guide; a refused token is an error, told as False."""
        guide = self.package.Guide(compiled)
        fill = functools.partial(
            guide.write_mask_into, self.row.ctypes.data, self.row.size, self.row.itemsize
        )
        advance = guide.advance

        def accept(token: int) -> bool:
            try:
                advance(token, False)
            except ValueError:
                return False
            return True

        return Matcher(fill, accept, guide)


class LmFormatEnforcer(Engine):
    """lm-format-enforcer: masks of a token sequence, each from the state before its last token.

    It keeps the states of all sequences seen, so its masks hold the work of accepting, too.
    """

    packages = ("lm-format-enforcer", "torch")
    accept_answers = False

    def __init__(self, vocabulary: RawVocabulary, variant: frozenset[str]) -> None:
        import lmformatenforcer
        import torch

        torch.set_num_threads(1)
        self.package = lmformatenforcer
        special = {*vocabulary.special, *vocabulary.ends}
        # It works on characters: a token that is no whole text is none of its own.
        regular = []
        for i, token in enumerate(vocabulary.tokens):
            if token and i not in special:
                text = token.decode(errors="replace")
                regular.append((i, text, text[0] == " "))
        tokens = vocabulary.tokens
        self.data = lmformatenforcer.TokenEnforcerTokenizerData(
            regular,
            lambda ids: b"".join(tokens[i] for i in ids).decode(errors="replace"),
            list(vocabulary.ends),
            True,
            vocabulary.size,
        )
        self.row = _empty_row(vocabulary)

    def compile(self, grammar: dict[str, Any]) -> Any:
        """Read a schema or a pattern; nothing is made ahead."""
        if "gbnf" in grammar:
            raise RefusedError("only patterns and schemas")
        try:
            if "regex" in grammar:
                parser = self.package.RegexParser(grammar["regex"])
            else:
                parser = self.package.JsonSchemaParser(grammar.get("schema"))
            return self.package.TokenEnforcer(self.data, parser)
        except Exception as error:  # whatever its readers meet
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def start(self, compiled: Any) -> Matcher:
        """A sequence of tokens that grows."""
        sequence: list[int] = []
        row, allowed = self.row[0], compiled.get_allowed_tokens

        def fill() -> None:
            row[:] = allowed(sequence).allowed_tokens.numpy()

        return Matcher(fill, sequence.append, sequence)


ENGINES: dict[str, type[Engine]] = {
    "fastmask": Fastmask,
    "llguidance": Llguidance,
    "xgrammar": Xgrammar,
    "outlines-core": OutlinesCore,
    "lm-format-enforcer": LmFormatEnforcer,
}
_MODULES = {
    "fastmask": "numba",
    "outlines-core": "outlines_core",
    "lm-format-enforcer": "lmformatenforcer",
}


def installed(name: str) -> bool:
    """Whether an engine can be made in this environment."""
    return importlib.util.find_spec(_MODULES.get(name, name)) is not None


def make(name: str, vocabulary: RawVocabulary, variant: str = "") -> Engine:
    """An engine for a vocabulary.

    Parameters
    ----------
    name : str
        Of `ENGINES`.
    vocabulary : RawVocabulary
    variant : str
        Words of the adapter joined by ``+``.

    Raises
    ------
    ImportError
        It is not installed.
    ValueError
        The adapter does not know a word.
    """
    adapter = ENGINES[name]
    words = frozenset(filter(None, variant.split("+")))
    if not words <= set(adapter.words):
        raise ValueError(f"{name} has the variants {', '.join(adapter.words)}, not {variant!r}")
    if not installed(name):
        raise ImportError(f"{name} is not installed: pip install 'fastmask[peers]'")
    return adapter(vocabulary, words)


def versions(name: str) -> dict[str, str]:
    """The versions that matter for an engine."""
    found = {package: importlib.metadata.version(package) for package in ENGINES[name].packages}
    if name == "fastmask":
        from .. import __version__

        found["fastmask"] = __version__
    return found
