"""Patterns with lookarounds, inner anchors and atomic groups, exactly, as automata.

A lookahead is a promise about the rest of the text. So a state of the automaton is a *formula* about
the rest: any of several terms, each a thread of the pattern together with promises that must hold,
or must fail. Reading a character turns a formula into the formula for what is left (derivatives:
Brzozowski 1964; boolean automata: Brzozowski and Leiss 1980); there are finitely many, so exploring
them ends. What lies to the left is known when a place is reached: the last character's kind, and for
each lookbehind a formula that runs along, saying where its matches could end.

An atomic group keeps its threads in order of preference. When one of them is done, the group's match
is decided under the promise that all threads before it fail; threads after it go on under the
promise that it does not count. That is first-match semantics without any backtracking.

The exploration is plain Python over sets: some microseconds a term and symbol, bounded by budgets.
Patterns without such constructs never come here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ...automata import Dfa, Nfa
from ...errors import BudgetError
from .charsets import normal
from .nodes import AnchorKind, Node
from .program import (
    AtomicState,
    Back,
    Char,
    Check,
    End,
    LookState,
    Loop,
    Program,
    Split,
    compiled,
)

__all__ = ["assertion_dfa"]

MAX_STATES = 20_000
MAX_WORK = 1_000_000

# Atoms are tuples. Of threads: (AT, state) before and (READ, state) after anchors and the like are
# resolved, (ATOMIC, threads in order, state behind the group). Of promises: (NEXT, mask, or the end,
# and then the end), (HOLDS, formula), (FAILS, formula). END: the text ends here; HERE: a lookbehind
# matches up to here; DONE stands for a thread at the end of a lookahead or atomic group.
AT, READ, ATOMIC, NEXT, HOLDS, FAILS = range(6)
END = (6,)
HERE = (7,)
DONE = (8,)

Atom: TypeAlias = tuple[Any, ...]
Term: TypeAlias = frozenset[Atom]
Formula: TypeAlias = frozenset[Term]
Threads: TypeAlias = list[tuple[Term, Atom]]

NO_PROMISE: Term = frozenset()
TRUE: Formula = frozenset([NO_PROMISE])
FALSE: Formula = frozenset()
AT_END: Atom = (NEXT, 0, True, False)

USES_LAST_CHARACTER = 1  # bit of what may be asked about the left; one more a lookbehind
_START = (True, False, 0)
_NOT_ASKED = (False, False, 0)


def assertion_dfa(tree: Node) -> Dfa:
    """The automaton of the texts that a tree matches from end to end.

    Raises
    ------
    BudgetError
        Too many states, or too much work to find them.
    """
    program = compiled(tree)
    table, accepting = _Explorer(program).explore()
    nfa = Nfa()
    nfa.add_states(len(table) - 1)
    for state, row in enumerate(table):
        if accepting[state]:
            nfa.accept(state)
        by_target: dict[int, list[int]] = {}
        for symbol, target in enumerate(row):
            if target >= 0:
                by_target.setdefault(target, []).append(symbol)
        for target, symbols in by_target.items():
            ranges = normal(pair for symbol in symbols for pair in program.symbols[symbol])
            nfa.epsilon(nfa.char_set(state, ranges), target)
    return nfa.determinise()


def _formula(terms: Any) -> Formula:
    """Any of the terms, without those that another one makes superfluous."""
    found = frozenset(terms)
    if NO_PROMISE in found:
        return TRUE
    return frozenset(
        term
        for term in found
        if len(term) == 1 or not any(term - {atom} in found for atom in term)
    )


def _both(left: Term, right: Term) -> Term | None:
    """All promises of both; None where one says the opposite of another."""
    if not left:
        return right
    if not right:
        return left
    for atom in right:
        opposite = {HOLDS: FAILS, FAILS: HOLDS}.get(atom[0])
        if opposite is not None and (opposite, atom[1]) in left:
            return None
    return left | right


def _holds(formula: Formula) -> Term | None:
    """The promise that a formula holds; None if it can't."""
    if not formula:
        return None
    return NO_PROMISE if NO_PROMISE in formula else frozenset([(HOLDS, formula)])


def _fails(formula: Formula) -> Term | None:
    """The promise that a formula fails; None if it can't."""
    if not formula:
        return NO_PROMISE
    return None if NO_PROMISE in formula else frozenset([(FAILS, formula)])


def _of(threads: Threads) -> Formula:
    """That one of the threads comes to its end."""
    return _formula(
        promises if thread is DONE else promises | {thread} for promises, thread in threads
    )


class _Explorer:
    """All formulas that the characters of a text lead to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.states = program.states
        self.work = 0
        self.stepped: dict[tuple[Formula, int], Formula] = {}
        self.reads_left = _left_uses(program)
        self.known_uses: dict[Formula, int] = {}

    def explore(self) -> tuple[list[list[int]], list[bool]]:
        """The table over symbols (-1: dead), state 0 the start, and which states accept."""
        program = self.program
        n_symbols = len(program.symbols)
        everything = (1 << n_symbols) - 1
        kinds = self.kinds()
        kind_masks: dict[Any, int] = {}
        for symbol, kind in enumerate(kinds):
            kind_masks[kind] = kind_masks.get(kind, 0) | 1 << symbol
        first: Formula = frozenset([frozenset([(AT, program.start)])])
        key = self.key(_START, [FALSE] * len(program.lookbehinds), first)
        numbers = {key: 0}
        queue = [key]
        table: list[list[int]] = []
        accepting: list[bool] = []
        for kind, behind, formula in queue:  # grows as it goes
            place = _Place(self, kind, behind)
            now = place.expand(formula)
            accepting.append(_at_end(now))
            lefts = [place.behind(n) if behind[n] is not None else None for n in range(len(behind))]
            groups = [everything]
            masks = set(kind_masks.values()) if len(kind_masks) > 1 else set()
            self.collect_masks(now, masks)
            for left in lefts:
                if left is not None:
                    self.collect_masks(left, masks)
            for mask in masks:
                groups = [part for group in groups for part in (group & mask, group & ~mask) if part]
            row = [-1] * n_symbols
            for group in groups:
                symbol = (group & -group).bit_length() - 1
                then = self.step(now, symbol)
                if not then:
                    continue
                key = self.key(
                    kinds[symbol],
                    [None if left is None else self.step(left, symbol) for left in lefts],
                    then,
                )
                target = numbers.get(key)
                if target is None:
                    if len(queue) > MAX_STATES:
                        raise BudgetError("states of lookarounds", MAX_STATES, _ADVICE)
                    target = numbers[key] = len(queue)
                    queue.append(key)
                while group:
                    row[(group & -group).bit_length() - 1] = target
                    group &= group - 1
            table.append(row)
            self.stepped.clear()
        return table, accepting

    def kinds(self) -> list[tuple[bool, bool, int]]:
        """For each symbol what anchors ask of the character before: start, newline, word sets."""
        kinds = []
        for symbol in range(len(self.program.symbols)):
            words = 0
            for number, word in enumerate(self.program.words):
                words |= (word >> symbol & 1) << number
            kinds.append((False, bool(self.program.newline >> symbol & 1), words))
        return kinds

    def key(self, kind: Any, behind: Any, formula: Formula) -> Any:
        """A state's key: what lies to the left counts only as far as the formula asks for it."""
        uses = self.uses(formula)
        n_open = -1
        while n_open != uses:  # lookbehinds may ask for further ones
            n_open = uses
            for number, left in enumerate(behind):
                if left is not None and uses >> (number + 1) & 1:
                    uses |= self.uses(left) | self.reads_left[self.program.lookbehinds[number]]
        return (
            kind if uses & USES_LAST_CHARACTER else None,
            tuple(left if uses >> (n + 1) & 1 else None for n, left in enumerate(behind)),
            formula,
        )

    def uses(self, formula: Formula) -> int:
        """What threads and promises of a formula may ask about the left."""
        known = self.known_uses.get(formula)
        if known is not None:
            return known
        uses = 0
        for term in formula:
            for atom in term:
                uses |= self.atom_uses(atom)
        self.known_uses[formula] = uses
        return uses

    def atom_uses(self, atom: Atom) -> int:
        if atom[0] in (AT, READ):
            return self.reads_left[atom[1]]
        if atom[0] in (HOLDS, FAILS):
            return self.uses(atom[1])
        uses = 0
        if atom[0] == ATOMIC:
            uses = self.reads_left[atom[2]]
            for promises, thread in atom[1]:
                uses |= self.atom_uses(thread)
                for promise in promises:
                    uses |= self.atom_uses(promise)
        return uses

    def collect_masks(self, formula: Formula, masks: set[int]) -> None:
        """Masks that decide what a symbol does to a formula."""
        pending: list[Atom] = [atom for term in formula for atom in term]
        while pending:
            atom = pending.pop()
            if atom[0] == READ:
                masks.add(self.states[atom[1]].mask)  # type: ignore[union-attr]
            elif atom[0] == NEXT:
                masks.add(atom[1])
            elif atom[0] in (HOLDS, FAILS):
                pending.extend(inner for term in atom[1] for inner in term)
            elif atom[0] == ATOMIC:
                for promises, thread in atom[1]:
                    pending.append(thread)
                    pending.extend(promises)

    def count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise BudgetError("steps through lookarounds", MAX_WORK, _ADVICE)

    # Reading one symbol.

    def step(self, formula: Formula, symbol: int) -> Formula:
        """What must hold of the rest once ``symbol`` is read."""
        key = (formula, symbol)
        found = self.stepped.get(key)
        if found is None:
            self.count(len(formula) + 1)
            terms = [self.step_term(term, symbol) for term in formula]
            found = _formula(term for term in terms if term is not None)
            self.stepped[key] = found
        return found

    def step_term(self, term: Term, symbol: int) -> Term | None:
        atoms: list[Atom] = []
        for atom in term:
            kind = atom[0]
            if kind == READ:
                state = self.states[atom[1]]
                if not state.mask >> symbol & 1:  # type: ignore[union-attr]
                    return None
                atoms.append((AT, state.then))  # type: ignore[union-attr]
            elif kind == NEXT:
                if not atom[1] >> symbol & 1:
                    return None
                if atom[3]:
                    atoms.append(AT_END)
            elif kind in (HOLDS, FAILS):
                make = _holds if kind == HOLDS else _fails
                promise = make(self.step(atom[1], symbol))
                if promise is None:
                    return None
                atoms.extend(promise)
            elif kind == ATOMIC:
                threads = []
                for promises, thread in atom[1]:
                    kept = self.step_term(promises, symbol)
                    moved = self.step_term(frozenset([thread]), symbol)
                    if kept is not None and moved is not None:
                        threads.append((kept, *moved))
                if not threads:
                    return None
                atoms.append((ATOMIC, tuple(threads), atom[2]))
            else:  # the text, or a lookbehind's match, ended here
                return None
        return frozenset(atoms)


class _Place:
    """A place between two characters: what lies to its left is known."""

    def __init__(self, explorer: _Explorer, kind: Any, left: Any) -> None:
        self.explorer = explorer
        self.states = explorer.states
        self.kind = kind or _NOT_ASKED
        self.left = left
        self.behinds: dict[int, Formula] = {}
        self.closures: dict[int, Threads] = {}

    # Formulas.

    def expand(self, formula: Formula) -> Formula:
        """The formula with anchors, lookarounds and ends of groups resolved at this place."""
        terms: list[Term] = []
        for term in formula:
            options: list[Term] = [NO_PROMISE]
            for atom in term:
                options = [
                    both
                    for option in options
                    for other in self.expand_atom(atom)
                    if (both := _both(option, other)) is not None
                ]
            terms.extend(options)
        return _formula(terms)

    def expand_atom(self, atom: Atom) -> list[Term]:
        """Terms any of which makes an atom true."""
        self.explorer.count(1)
        kind = atom[0]
        if kind in (AT, ATOMIC):
            return [
                promises if thread is DONE else promises | {thread}
                for promises, thread in self.threads(atom)
            ]
        if kind in (HOLDS, FAILS):
            make = _holds if kind == HOLDS else _fails
            promise = make(self.expand(atom[1]))
            return [] if promise is None else [promise]
        return [frozenset([atom])]

    def behind(self, number: int) -> Formula:
        """Lookbehind ``number``: its threads here, one of them fresh, those that end here marked."""
        found = self.behinds.get(number)
        if found is None:
            start = self.explorer.program.lookbehinds[number]
            found = self.expand(self.left[number] | {frozenset([(AT, start)])})
            self.behinds[number] = found
        return found

    # Threads, in order of preference.

    def threads(self, thread: Atom) -> Threads:
        """What a thread becomes at this place."""
        if thread[0] == AT:
            return self.closure(thread[1])
        result: Threads = []
        for threads, promises in self.committed(self.resolved(thread[1])):
            if threads:
                result.append((promises, (ATOMIC, threads, thread[2])))
            else:
                for others, after in self.closure(thread[2]):
                    both = _both(promises, others)
                    if both is not None:
                        result.append((both, after))
        return result

    def resolved(self, items: tuple[tuple[Term, Atom], ...]) -> Threads:
        """The threads of an atomic group at this place, down to the first that is surely done."""
        result: Threads = []
        seen: dict[Atom, list[Term]] = {}
        for before, thread in items:
            promises: Term | None = NO_PROMISE
            for promise in before:
                options = self.expand_atom(promise)
                promises = _both(promises, options[0]) if promises is not None and options else None
            if promises is None:
                continue
            for others, after in self.threads(thread):
                both = _both(promises, others)
                if both is None or any(known <= both for known in seen.get(after, ())):
                    continue
                seen.setdefault(after, []).append(both)
                result.append((both, after))
                if after is DONE and not both:
                    return result
        return result

    def committed(self, threads: Threads) -> list[tuple[tuple[tuple[Term, Atom], ...], Term]]:
        """What becomes of an atomic group whose threads are these.

        Returns
        -------
        list of (threads, promises)
            Either threads that are still inside, one of which must come to its end; or none, and
            the group's match ends here. Of all entries at most one comes true.
        """
        result: list[tuple[tuple[tuple[Term, Atom], ...], Term]] = []
        failed: Term | None = NO_PROMISE
        inside: Threads = []
        for promises, thread in threads:
            if thread is not DONE:
                inside.append((promises, thread))
                continue
            if inside:
                result.append((tuple(inside), failed))
                refused = _fails(_of(inside))
                failed = None if refused is None else _both(failed, refused)
                inside = []
                if failed is None:
                    return result
            both = _both(failed, promises)
            if both is not None:
                result.append(((), both))
            refused = _fails(frozenset([promises]))
            failed = None if refused is None else _both(failed, refused)
            if failed is None:
                return result
        if inside:
            result.append((tuple(inside), failed))
        return result

    def closure(self, start: int) -> Threads:
        """Threads at characters or ends that a state leads to without reading."""
        found = self.closures.get(start)
        if found is not None:
            return found
        found = []
        seen: dict[tuple[Any, ...], list[Term]] = {}
        stack: list[tuple[int, Term, frozenset[int]]] = [(start, NO_PROMISE, frozenset())]
        while stack:
            q, promises, entered = stack.pop()
            state = self.states[q]
            self.explorer.count(1)
            key = (q,) if isinstance(state, Char | End) else (q, entered)
            known = seen.setdefault(key, [])
            if any(before <= promises for before in known):
                continue
            known.append(promises)
            if isinstance(state, Char):
                found.append((promises, (READ, q)))
            elif isinstance(state, End):
                found.append((promises, END if state.outermost else HERE if state.behind else DONE))
            elif isinstance(state, Split):
                stack.extend((target, promises, entered) for target in reversed(state.targets))
            elif isinstance(state, Loop):
                body = (state.body, promises, entered | {q})
                leave = (state.leave, promises, entered - {q})
                stack.extend((body, leave) if state.leave_first else (leave, body))
            elif isinstance(state, Back):
                empty = state.loop in entered
                then = state.leave if empty else state.then
                stack.append((then, promises, entered - {state.loop}))
            elif isinstance(state, AtomicState):
                onward = []
                for threads, others in self.committed(self.closure(state.start)):
                    both = _both(promises, others)
                    if both is not None and threads:
                        found.append((both, (ATOMIC, threads, state.then)))
                    elif both is not None:
                        onward.append((state.then, both, entered))
                stack.extend(reversed(onward))
            else:
                promise = self.check(state) if isinstance(state, Check) else self.look(state)
                both = None if promise is None else _both(promises, promise)
                if both is not None:
                    stack.append((state.then, both, entered))
        self.closures[start] = found
        return found

    # Conditions.

    def look(self, state: LookState) -> Term | None:
        """The promise of a lookaround."""
        if state.ahead:
            formula = _of(self.closure(state.start))
        else:
            formula = _formula(
                term - {HERE} for term in self.behind(state.number) if HERE in term
            )
        return _fails(formula) if state.negated else _holds(formula)

    def check(self, state: Check) -> Term | None:
        """The promise of an anchor; None where it fails whatever follows."""
        program = self.explorer.program
        at_start, after_newline, words = self.kind
        if state.kind is AnchorKind.TEXT_START:
            return NO_PROMISE if at_start else None
        if state.kind is AnchorKind.LINE_START:
            return NO_PROMISE if at_start or after_newline else None
        if state.kind is AnchorKind.TEXT_END:
            return frozenset([AT_END])
        if state.kind is AnchorKind.LAST_LINE_END:
            return frozenset([(NEXT, program.newline, True, True)])
        if state.kind is AnchorKind.LINE_END:
            return frozenset([(NEXT, program.newline, True, False)])
        after_word = bool(words >> program.words.index(state.word) & 1)
        if (state.kind is AnchorKind.WORD_EDGE) != after_word:
            return frozenset([(NEXT, state.word, False, False)])
        others = ~state.word & ((1 << len(program.symbols)) - 1)
        not_empty = state.kind is AnchorKind.NOT_WORD_EDGE_NOR_EMPTY and at_start
        return frozenset([(NEXT, others, not not_empty, False)])


def _at_end(formula: Formula) -> bool:
    """Whether a formula holds of the empty rest."""
    return any(all(_atom_at_end(atom) for atom in term) for term in formula)


def _atom_at_end(atom: Atom) -> bool:
    if atom[0] == NEXT:
        return bool(atom[2])
    if atom[0] == HOLDS:
        return _at_end(atom[1])
    if atom[0] == FAILS:
        return not _at_end(atom[1])
    return atom is END


def _left_uses(program: Program) -> list[int]:
    """For each state what it and those after it ask about the left: a bit for the last character,
    one more for each lookbehind."""
    uses = [0] * len(program.states)
    changed = True
    while changed:
        changed = False
        for q, state in enumerate(program.states):
            after: tuple[int, ...] = ()
            own = 0
            if isinstance(state, Char):
                after = (state.then,)
            elif isinstance(state, Split):
                after = state.targets
            elif isinstance(state, Loop):
                after = (state.body, state.leave)
            elif isinstance(state, Back):
                after = (state.then, state.leave)
            elif isinstance(state, Check):
                after = (state.then,)
                looks_left = state.word or state.kind in (
                    AnchorKind.TEXT_START,
                    AnchorKind.LINE_START,
                )
                own = USES_LAST_CHARACTER if looks_left else 0
            elif isinstance(state, LookState):
                after = (state.start, state.then)
                own = 0 if state.ahead else 2 << state.number
            elif isinstance(state, AtomicState):
                after = (state.start, state.then)
            total = own
            for target in after:
                total |= uses[target]
            if total != uses[q]:
                uses[q] = total
                changed = True
    return uses


_ADVICE = "simplify the lookarounds, or use smaller repetition counts"
