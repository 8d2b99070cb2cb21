"""`GrammarCompiler` and `CompiledGrammar`: a grammar meets a vocabulary; who remembers what.

Compiling makes the tables and the row that texts begin with; all others are made when a text first
reaches them. A compiler remembers compiled grammars by the grammar's digest and drops the least
recently used once all of them together, rows included, hold more bytes than it was given.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import I32
from ._files import read_checked, write_checked
from ._locks import new_lock
from ._types import as_integer, expect
from .arena import Arena
from .context import ContextCounts, context_counts
from .errors import BudgetError, FormatError, GrammarError
from .grammar.core import Grammar
from .grammar.ir import Schema
from .schema_arenas import WORN, SchemaArenas, new_arena
from .tables import STEP_BUDGET, Tables
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .schema.report import SchemaReport

__all__ = ["CompileStats", "CompiledGrammar", "GrammarCompiler"]

_DEFAULT_LIMIT = 256 << 20
_ARENA_CELLS = 1 << 20
_GRAMMARS = "Grammar.from_* read one"
_VOCABULARIES = "Vocabulary.from_* read one"
_FULL = 7 / 8  # of the room in tables
_FILE_VERSION = b"compiled grammar 1\n"


@dataclass(frozen=True, slots=True)
class CompileStats:
    """What compiling made.

    Attributes
    ----------
    n_rules : int
        Rules that are called; all others became part of their callers.
    subset_states, minimal_states : int
        Automaton states after the subset construction and after minimisation, the dead state not
        counted; 0 for a JSON Schema, whose states are made when texts reach them.
    n_byte_classes : int
    table_bytes : int
        Bytes of the transition table, with what other schemas of the compiler made in it before.
    seconds : float
        Time it took.
    """

    n_rules: int
    subset_states: int
    minimal_states: int
    n_byte_classes: int
    table_bytes: int
    seconds: float


class CompiledGrammar:
    """A grammar over a vocabulary, ready to be matched; never changes as far as anyone can see.

    Parameters
    ----------
    grammar : Grammar
    vocabulary : Vocabulary
    cache_limit_bytes : float
        Bytes of rows, and of the trees that end in them, after which all are dropped.
    step_budget : int
        Item steps of one call, after which it raises `BudgetError`.
    arenas : SchemaArenas, optional
        Where a grammar that is one schema finds what others had made; a compiler's.

    Attributes
    ----------
    stats : CompileStats

    Notes
    -----
    Any number of threads may use it.
    """

    __slots__ = (
        "__weakref__",
        "_beginning",
        "_budget",
        "_formulas",
        "_limit",
        "_n_texts",
        "_schema",
        "_used_by_first",
        "grammar",
        "stats",
        "vocabulary",
    )

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        cache_limit_bytes: float = _DEFAULT_LIMIT,
        step_budget: int = STEP_BUDGET,
        arenas: SchemaArenas | None = None,
    ) -> None:
        expect(grammar, Grammar, "grammar", _GRAMMARS)
        expect(vocabulary, Vocabulary, "vocabulary", _VOCABULARIES)
        expect(cache_limit_bytes, Real, "cache_limit_bytes", "give a number of bytes")
        self._limit = cache_limit_bytes
        self._budget = as_integer(step_budget, "step_budget")
        started = time.perf_counter()
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._schema = _only_schema(grammar)
        if self._schema is None or arenas is None:
            self._begin_in(self._new_arena())
        else:
            self._begin_in(arenas.take(self._schema.source.policy_key))
        self._make_first_row()
        networks = self.tables.networks
        self.stats = CompileStats(
            n_rules=len(networks.names) if networks else 1,
            subset_states=networks.subset_states if networks else 0,
            minimal_states=networks.minimal_states if networks else 0,
            n_byte_classes=self.tables.first_token_column,
            table_bytes=self.tables.table_bytes,
            seconds=time.perf_counter() - started,
        )

    def _new_arena(self) -> Arena:
        grammar = None if self._schema else self.grammar
        return new_arena(Tables(grammar, self.vocabulary, self._budget), self._limit)

    def _begin_in(self, arena: Arena) -> None:
        """Have texts begin in an arena."""
        with arena.lock:
            tables = arena.tables
            state = tables.add_schema(self._schema) if self._schema else tables.start_state
            self._beginning = arena, arena.configuration(state)
            # The others are of schemas that share the arena.
            self._formulas = tables.formulas[-1:] if self._schema else tables.formulas
        self._n_texts = 0
        self._used_by_first = 0.0

    def _make_first_row(self) -> None:
        """Make the row that every text begins with, so that no mask waits for its parts."""
        arena, configuration = self._beginning
        with contextlib.suppress(BudgetError):  # the mask that asks for it raises it
            arena.leaf_of(configuration)

    def beginning(self) -> tuple[Arena, int]:
        """The arena and the configuration in which a text begins now."""
        arena, _ = self._beginning
        if self._is_worn(arena):
            # Matchers under way keep theirs; what they no longer need goes with them.
            tables = arena.tables
            for formulas in self._formulas:
                formulas.is_worn = formulas.share_used > WORN
            self._begin_in(self._new_arena() if tables.is_open else new_arena(tables, self._limit))
            self._n_texts = 1
        return self._beginning

    def _is_worn(self, arena: Arena) -> bool:
        """Whether a text better begins in a fresh arena than where texts before it had parts made.

        That is past a quarter of the room, or twice what there was behind the first of them.
        """
        used = max((f.share_used for f in self._formulas), default=0.0)
        used = max(used, arena.tables.share_used)
        self._n_texts += 1
        if self._n_texts == 2:
            self._used_by_first = used
        limit = max(WORN, min(2 * self._used_by_first, _FULL))
        return arena.n_cells > _ARENA_CELLS or used > limit

    @property
    def arena(self) -> Arena:
        """The arena in which a text began last; matchers keep those that they began with."""
        return self._beginning[0]

    @property
    def tables(self) -> Tables:
        """The tables of a text that began last; matchers keep those that they began with."""
        return self.arena.tables

    @property
    def report(self) -> SchemaReport | None:
        """What becomes of each keyword of the schema; None for a grammar without one."""
        root = self.grammar.rules[self.grammar.root]
        return root.source.report if isinstance(root, Schema) else None

    @property
    def memory_size_bytes(self) -> int:
        """Bytes beyond the vocabulary's own: tables, stack cells, decision trees and rows.

        Those that the schemas of a compiler share are counted for each of them.
        """
        return self.tables.memory_size_bytes + self.arena.memory_size_bytes

    def context_counts(self) -> list[ContextCounts]:
        """How many tokens need no look at the stack, for every state that a mask has begun in.

        A compiler's schemas share states, and what masks of one began in is among another's.
        """
        return context_counts(self.arena)

    def mask_table(self) -> I32:
        """The mask of every state, for a regular grammar.

        Returns
        -------
        int32[n_states, words]
            Row ``s`` is the mask in state ``s`` of the minimal automaton, numbered breadth first
            from the start by ascending byte, the end ids included where the state accepts.

        Raises
        ------
        GrammarError
            The grammar has a stack: it has no table of all its states.
        """
        states = self.tables.regular_states()
        if states is None:
            raise GrammarError(
                "only a regular grammar has a table of all its masks; this one needs a stack"
            )
        table = np.zeros((len(states), self.tables.words), np.int32)
        for row, state in zip(table, states, strict=True):
            row[:] = self.arena.row_of_state(state)
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the grammar and the vocabulary's digest to a file, under a checksum."""
        payload = _FILE_VERSION + bytes.fromhex(self.vocabulary.digest) + self.grammar.to_bytes()
        if not write_checked(Path(path), payload):
            raise OSError(f"cannot write {os.fspath(path)}")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        vocabulary: Vocabulary,
        cache_limit_bytes: float = _DEFAULT_LIMIT,
    ) -> CompiledGrammar:
        """Read what `save` wrote and compile it for the same vocabulary.

        Tables are made anew, which takes milliseconds, so that no file is ever believed in their
        place.

        Raises
        ------
        FormatError
            Damaged, of another format version, or for another vocabulary.
        """
        expect(vocabulary, Vocabulary, "vocabulary", _VOCABULARIES)
        if not Path(path).exists():
            raise FileNotFoundError(os.fspath(path))
        payload = read_checked(Path(path))
        if payload is None:
            raise FormatError(f"{os.fspath(path)} is no compiled grammar, or is damaged")
        version, rest = payload[: len(_FILE_VERSION)], payload[len(_FILE_VERSION) :]
        if version != _FILE_VERSION:
            raise FormatError(f"{os.fspath(path)} has another format version: compile it again")
        size = len(bytes.fromhex(vocabulary.digest))
        if rest[:size].hex() != vocabulary.digest:
            raise FormatError(
                f"{os.fspath(path)} was compiled for another vocabulary: compile it again"
            )
        return cls(Grammar.from_bytes(rest[size:]), vocabulary, cache_limit_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledGrammar, (
            self.grammar,
            self.vocabulary,
            self._limit,
            self._budget,
        )

    def __repr__(self) -> str:
        return (
            f"<CompiledGrammar: {self.stats.n_rules} rules, {self.stats.minimal_states} states "
            f"over {self.vocabulary.size:,} tokens>"
        )


def _only_schema(grammar: Grammar) -> Schema | None:
    """The schema that a grammar is, and nothing else."""
    root = grammar.rules[grammar.root]
    return root if isinstance(root, Schema) and len(grammar.rules) == 1 else None


class GrammarCompiler:
    """Compiles grammars over one vocabulary and remembers them.

    Parameters
    ----------
    vocabulary : Vocabulary
    cache_limit_bytes : float
        Bytes that remembered grammars may hold together, their rows included.
    step_budget : int
        Item steps of one call, after which it raises `BudgetError`.

    Raises
    ------
    TypeError
        The vocabulary is none, such as the name of one; or, of `compile`, the grammar.

    Notes
    -----
    Any number of threads may compile with it; the same grammar is compiled once. Grammars that are
    one JSON Schema share tables and rows with others of the same text policy, so what one text had
    made, texts of other schemas find.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        cache_limit_bytes: float = _DEFAULT_LIMIT,
        step_budget: int = STEP_BUDGET,
    ) -> None:
        expect(vocabulary, Vocabulary, "vocabulary", _VOCABULARIES)
        self.vocabulary = vocabulary
        expect(cache_limit_bytes, Real, "cache_limit_bytes", "give a number of bytes")
        self.cache_limit_bytes = cache_limit_bytes
        self.step_budget = as_integer(step_budget, "step_budget")
        self._lock = new_lock()
        self._compiled: OrderedDict[str, CompiledGrammar] = OrderedDict()
        self._arenas = SchemaArenas(vocabulary, self.step_budget, cache_limit_bytes)
        self._last_arena: Arena | None = None

    def compile(self, grammar: Grammar) -> CompiledGrammar:
        """Compile a grammar, or find it.

        Raises
        ------
        GrammarError
            An atomic token that the vocabulary does not have.
        UnsatisfiableGrammarError
            The vocabulary lacks bytes that every text needs.
        BudgetError
            The automata would be too large.
        """
        expect(grammar, Grammar, "grammar", _GRAMMARS)
        with self._lock:
            found = self._compiled.get(grammar.digest)
            if found is not None:
                self._compiled.move_to_end(grammar.digest)
                return found
        compiled = CompiledGrammar(
            grammar, self.vocabulary, self.cache_limit_bytes, self.step_budget, self._arenas
        )
        with self._lock:
            compiled = self._compiled.setdefault(grammar.digest, compiled)
            self._compiled.move_to_end(grammar.digest)
            if compiled.arena is not self._last_arena:
                self._last_arena = compiled.arena
                self._drop_oldest()
        return compiled

    def _drop_oldest(self) -> None:
        uses = Counter(c.arena for c in self._compiled.values())
        total = self._size_bytes()
        while total > self.cache_limit_bytes and len(self._compiled) > 1:
            _, oldest = self._compiled.popitem(last=False)
            uses[oldest.arena] -= 1
            if not uses[oldest.arena]:
                total -= oldest.memory_size_bytes

    def _size_bytes(self) -> int:
        """Bytes of all that is remembered; schemas share arenas."""
        holders = {c.arena: c for c in self._compiled.values()}
        return sum(c.memory_size_bytes for c in holders.values())

    def clear_cache(self) -> None:
        """Forget every compiled grammar, and what schemas share; those in use live on."""
        with self._lock:
            self._compiled.clear()
            self._last_arena = None
        self._arenas.clear()

    @property
    def cache_size_bytes(self) -> int:
        """Bytes that the remembered grammars hold."""
        with self._lock:
            return self._size_bytes()

    def compile_regex(self, pattern: str, dialect: str = "python") -> CompiledGrammar:
        """Compile `Grammar.from_regex`."""
        return self.compile(Grammar.from_regex(pattern, dialect))

    def compile_gbnf(self, text: str, root: str = "root") -> CompiledGrammar:
        """Compile `Grammar.from_gbnf`."""
        return self.compile(Grammar.from_gbnf(text, root))

    def compile_lark(self, text: str, start: str = "start") -> CompiledGrammar:
        """Compile `Grammar.from_lark`."""
        return self.compile(Grammar.from_lark(text, start))

    def compile_choices(self, choices: Sequence[str]) -> CompiledGrammar:
        """Compile `Grammar.from_choices`."""
        return self.compile(Grammar.from_choices(choices))

    def compile_json(self) -> CompiledGrammar:
        """Compile `Grammar.json`."""
        return self.compile(Grammar.json())

    def compile_json_schema(self, schema: Any, **options: Any) -> CompiledGrammar:
        """Compile `Grammar.from_json_schema`."""
        return self.compile(Grammar.from_json_schema(schema, **options))
