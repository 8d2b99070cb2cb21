"""Patterns with lookarounds, inner anchors and atomic groups, exactly, as automata.

A lookahead is a promise about the rest of the text. So a state is a *term*: a thread of the
pattern, and promises about the rest that must hold or must fail. A promise is a *formula*, any of
several terms. Reading a character turns each into what it asks of the text that is left
(derivatives: Brzozowski 1964; boolean automata: Brzozowski and Leiss 1980); there are finitely
many, so exploring them ends. What lies to the left is known when a place is reached: the last
character's kind, and for each lookbehind a formula that runs along and says where its matches could
end.

An atomic group keeps its threads in order of preference. When one of them is done, the group's
match is decided under the promise that all threads before it fail; threads after it go on under the
promise that it does not count. That is first-match semantics without any backtracking.

Terms are explored one by one in plain Python, some microseconds each; the sets of them that a text
leads to are left to the subset construction. Patterns without such constructs never come here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ...automata import Dfa, Nfa
from ...errors import BudgetError
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

MAX_TERMS = 50_000
MAX_WORK = 400_000

# Kinds of atoms. Threads: (AT, state) before and (READ, state) after anchors and the like are
# resolved, (ATOMIC, threads in order, state behind the group). Promises: (NEXT, mask, or the end,
# and then the end), (HOLDS, formula), (FAILS, formula). The other three mark where a thread is at
# its end: the whole pattern, a lookbehind, a lookahead or atomic group.
AT, READ, ATOMIC, NEXT, HOLDS, FAILS, TEXT_END, HERE, DONE = range(9)

Term: TypeAlias = frozenset[int]  # numbers of atoms
Formula: TypeAlias = frozenset[Term]
Threads: TypeAlias = tuple[tuple[Term, int], ...]  # promises and a thread each, preferred first

NO_PROMISE: Term = frozenset()
TRUE: Formula = frozenset([NO_PROMISE])
FALSE: Formula = frozenset()

LAST_CHARACTER = 1  # bit of what may be asked about the left; one more for each lookbehind
_START = (True, False, 0)
_NOT_ASKED = (False, False, 0)
_ADVICE = "simplify the lookarounds, or use smaller repetition counts"


def assertion_dfa(tree: Node) -> Dfa:
    """The automaton of the texts that a tree matches from end to end.

    Raises
    ------
    BudgetError
        Too many terms, or too much work to find them.
    """
    program = compiled(tree)
    terms = _Explorer(program).explore()
    nfa = Nfa()
    nfa.add_states(len(terms) - 1)
    for number, (accepting, moves) in enumerate(terms):
        if accepting:
            nfa.accept(number)
        for target, mask in moves.items():
            nfa.char_set(number, program.characters(mask), target)
    return nfa.determinise()


class _Explorer:
    """All terms that the characters of a text lead to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.states = program.states
        self.work = 0
        self.atoms: list[tuple[Any, ...]] = []
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.text_end = self.atom(TEXT_END)
        self.here = self.atom(HERE)
        self.done = self.atom(DONE)
        self.at_end = self.atom(NEXT, 0, True, False)
        self.everywhere: dict[int, Threads] = {}  # closures that ask nothing about the left
        self.reads_left = _left_uses(program)
        self.known_uses: dict[int, int] = {}

    def atom(self, *parts: Any) -> int:
        """The number of an atom."""
        number = self.numbers.get(parts)
        if number is None:
            number = self.numbers[parts] = len(self.atoms)
            self.atoms.append(parts)
        return number

    def count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise BudgetError("steps through lookarounds", MAX_WORK, _ADVICE)

    def explore(self) -> list[tuple[bool, dict[int, int]]]:
        """Whether each term accepts at the end, and its moves: targets with masks of symbols."""
        program = self.program
        n_symbols = len(program.symbols)
        kinds = [program.kind(symbol) for symbol in range(n_symbols)]
        by_kind: dict[Any, int] = {}
        for symbol, kind in enumerate(kinds):
            by_kind[kind] = by_kind.get(kind, 0) | 1 << symbol
        first: Term = frozenset([self.atom(AT, program.start)])
        key = self.key(_START, [FALSE] * len(program.lookbehinds), first)
        numbers = {key: 0}
        queue = [key]
        places: dict[Any, _Place] = {}
        result: list[tuple[bool, dict[int, int]]] = []
        for kind, left, term in queue:  # grows as it goes
            place = places.get((kind, left))
            if place is None:
                place = places[kind, left] = _Place(self, kind, left)
            now = place.expand(frozenset([term]))
            masks = set(by_kind.values()) if kind is not None else set()
            self.collect_masks(now, masks)
            self.collect_masks(place.all_behind(), masks)
            moves: dict[int, int] = {}
            for group in _groups((1 << n_symbols) - 1, masks):
                symbol = (group & -group).bit_length() - 1
                then = self.step(now, symbol)
                behind = place.behind_after(symbol) if then else []
                for after in then:
                    key = self.key(kinds[symbol], behind, after)
                    target = numbers.get(key)
                    if target is None:
                        target = numbers[key] = len(queue)
                        queue.append(key)
                    moves[target] = moves.get(target, 0) | group
            if len(queue) > MAX_TERMS:
                raise BudgetError("terms of lookarounds", MAX_TERMS, _ADVICE)
            result.append((self.holds_at_end(now), moves))
        return result

    # What a term may ask about the left.

    def key(self, kind: Any, behind: list[Formula | None], term: Term) -> Any:
        """A term's state: what lies to the left counts only as far as the term asks for it."""
        uses = self.term_uses(term)
        before = -1
        while before != uses:  # lookbehinds may ask for further ones
            before = uses
            for number, left in enumerate(behind):
                if left is not None and uses >> (number + 1) & 1:
                    uses |= self.reads_left[self.program.lookbehinds[number]]
                    for other in left:
                        uses |= self.term_uses(other)
        if not uses:
            return None, (), term
        lefts = [left if uses >> (n + 1) & 1 else None for n, left in enumerate(behind)]
        return kind if uses & LAST_CHARACTER else None, tuple(lefts), term

    def term_uses(self, term: Term) -> int:
        uses = 0
        for number in term:
            known = self.known_uses.get(number)
            if known is None:
                known = self.known_uses[number] = self.atom_uses(number)
            uses |= known
        return int(uses)

    def atom_uses(self, number: int) -> int:
        atom = self.atoms[number]
        if atom[0] in (AT, READ):
            return int(self.reads_left[atom[1]])
        uses = 0
        if atom[0] in (HOLDS, FAILS):
            for term in atom[1]:
                uses |= self.term_uses(term)
        elif atom[0] == ATOMIC:
            uses = self.reads_left[atom[2]]
            for promises, thread in atom[1]:
                uses |= self.term_uses(promises | {thread})
        return int(uses)

    # Formulas and promises.

    def formula(self, terms: Iterable[Term]) -> Formula:
        """Any of the terms, without those that another one makes superfluous."""
        found = frozenset(terms)
        if NO_PROMISE in found:
            return TRUE
        return frozenset(
            term
            for term in found
            if len(term) == 1 or not any(term - {atom} in found for atom in term)
        )

    def of_threads(self, threads: Threads) -> Formula:
        """That one of the threads comes to its end."""
        return self.formula(
            promises if thread == self.done else promises | {thread} for promises, thread in threads
        )

    def both(self, left: Term, right: Term) -> Term | None:
        """All promises of both; None where one says the opposite of another."""
        if not left:
            return right
        if not right:
            return left
        for number in right:
            atom = self.atoms[number]
            if atom[0] in (HOLDS, FAILS):
                opposite = (HOLDS + FAILS - atom[0], atom[1])
                if self.numbers.get(opposite) in left:
                    return None
        return left | right

    def holds(self, formula: Formula) -> Term | None:
        """The promise that a formula holds; None if it can't."""
        if not formula:
            return None
        return NO_PROMISE if NO_PROMISE in formula else frozenset([self.atom(HOLDS, formula)])

    def fails(self, formula: Formula) -> Term | None:
        """The promise that a formula fails; None if it can't."""
        if not formula:
            return NO_PROMISE
        return None if NO_PROMISE in formula else frozenset([self.atom(FAILS, formula)])

    def collect_masks(self, formula: Formula, masks: set[int]) -> None:
        """Masks that decide what a symbol does to a formula."""
        pending = [number for term in formula for number in term]
        seen = set(pending)
        while pending:
            atom = self.atoms[pending.pop()]
            inner: list[int] = []
            if atom[0] == READ:
                masks.add(self.states[atom[1]].mask)
            elif atom[0] == NEXT:
                masks.add(atom[1])
            elif atom[0] in (HOLDS, FAILS):
                inner = [number for term in atom[1] for number in term]
            elif atom[0] == ATOMIC:
                inner = [number for promises, thread in atom[1] for number in (*promises, thread)]
            for number in inner:
                if number not in seen:
                    seen.add(number)
                    pending.append(number)

    def holds_at_end(self, formula: Formula) -> bool:
        """Whether a formula holds of the empty rest."""
        return any(all(self.atom_at_end(number) for number in term) for term in formula)

    def atom_at_end(self, number: int) -> bool:
        atom = self.atoms[number]
        if atom[0] == NEXT:
            return bool(atom[2])
        if atom[0] == HOLDS:
            return self.holds_at_end(atom[1])
        if atom[0] == FAILS:
            return not self.holds_at_end(atom[1])
        return bool(atom[0] == TEXT_END)

    # Reading one symbol.

    def step(self, formula: Formula, symbol: int) -> Formula:
        """What must hold of the rest once ``symbol`` is read."""
        self.count(len(formula))
        terms = [self.step_term(term, symbol) for term in formula]
        return self.formula(term for term in terms if term is not None)

    def step_term(self, term: Term, symbol: int) -> Term | None:
        result: list[int] = []
        for number in term:
            atom = self.atoms[number]
            kind = atom[0]
            if kind == READ:
                state = self.states[atom[1]]
                if not state.mask >> symbol & 1:
                    return None
                result.append(self.atom(AT, state.then))
            elif kind == NEXT:
                if not atom[1] >> symbol & 1:
                    return None
                if atom[3]:
                    result.append(self.at_end)
            elif kind in (HOLDS, FAILS):
                after = self.step(atom[1], symbol)
                promise = self.holds(after) if kind == HOLDS else self.fails(after)
                if promise is None:
                    return None
                result.extend(promise)
            elif kind == ATOMIC:
                threads = []
                self.count(len(atom[1]))
                for promises, thread in atom[1]:
                    kept = self.step_term(promises, symbol)
                    moved = self.step_term(frozenset([thread]), symbol)
                    if kept is not None and moved is not None:
                        threads.append((kept, *moved))
                if not threads:
                    return None
                result.append(self.atom(ATOMIC, tuple(threads), atom[2]))
            else:  # the text, or a lookbehind's match, ended here
                return None
        return frozenset(result)


class _Place:
    """A place between two characters: what lies to its left is known."""

    def __init__(self, explorer: _Explorer, kind: Any, left: Any) -> None:
        self.explorer = explorer
        self.states = explorer.states
        self.kind = kind or _NOT_ASKED
        self.left = left
        self.behinds: dict[int, Formula] = {}
        self.closures: dict[int, Threads] = {}
        self.afters: dict[int, list[Formula | None]] = {}

    # Lookbehinds.

    def behind(self, number: int) -> Formula:
        """Lookbehind ``number``: its threads here, a fresh one too; those that end are marked."""
        found = self.behinds.get(number)
        if found is None:
            start = self.explorer.program.lookbehinds[number]
            fresh = frozenset([self.explorer.atom(AT, start)])
            found = self.behinds[number] = self.expand(self.left[number] | {fresh})
        return found

    def all_behind(self) -> Formula:
        """The terms of all lookbehinds that run along."""
        formulas = [self.behind(n) for n, left in enumerate(self.left) if left is not None]
        return frozenset().union(*formulas) if formulas else FALSE

    def behind_after(self, symbol: int) -> list[Formula | None]:
        """The lookbehinds once ``symbol`` is read."""
        found = self.afters.get(symbol)
        if found is None:
            found = self.afters[symbol] = [
                None if left is None else self.explorer.step(self.behind(n), symbol)
                for n, left in enumerate(self.left)
            ]
        return found

    # Formulas.

    def expand(self, formula: Formula) -> Formula:
        """The formula with anchors, lookarounds and ends of groups resolved at this place."""
        terms: list[Term] = []
        for term in formula:
            options: list[Term] = [NO_PROMISE]
            for number in term:
                options = [
                    both
                    for option in options
                    for other in self.expand_atom(number)
                    if (both := self.explorer.both(option, other)) is not None
                ]
            terms.extend(options)
        return self.explorer.formula(terms)

    def expand_atom(self, number: int) -> list[Term]:
        """Terms any of which makes an atom true."""
        explorer = self.explorer
        explorer.count(1)
        atom = explorer.atoms[number]
        kind = atom[0]
        if kind in (AT, ATOMIC):
            return [
                promises if thread == explorer.done else promises | {thread}
                for promises, thread in self.threads(number)
            ]
        if kind in (HOLDS, FAILS):
            after = self.expand(atom[1])
            promise = explorer.holds(after) if kind == HOLDS else explorer.fails(after)
            return [] if promise is None else [promise]
        return [frozenset([number])]

    # Threads, in order of preference.

    def threads(self, number: int) -> Threads:
        """What a thread becomes at this place."""
        atom = self.explorer.atoms[number]
        if atom[0] == AT:
            return self.closure(atom[1])
        result: list[tuple[Term, int]] = []
        for threads, promises in self.committed(self.resolved(atom[1])):
            if threads:
                result.append((promises, self.explorer.atom(ATOMIC, threads, atom[2])))
                continue
            for others, after in self.closure(atom[2]):
                both = self.explorer.both(promises, others)
                if both is not None:
                    result.append((both, after))
        return tuple(result)

    def resolved(self, items: Threads) -> Threads:
        """The threads of an atomic group at this place, down to the first that is surely done."""
        result: list[tuple[Term, int]] = []
        seen: dict[int, list[Term]] = {}
        for before, thread in items:
            promises: Term | None = NO_PROMISE
            for promise in before:
                options = self.expand_atom(promise)
                if promises is not None:
                    promises = self.explorer.both(promises, options[0]) if options else None
            if promises is None:
                continue
            for others, after in self.threads(thread):
                both = self.explorer.both(promises, others)
                if both is None or any(known <= both for known in seen.get(after, ())):
                    continue
                seen.setdefault(after, []).append(both)
                result.append((both, after))
                if after == self.explorer.done and not both:
                    return tuple(result)
        return tuple(result)

    def committed(self, threads: Threads) -> list[tuple[Threads, Term]]:
        """What becomes of an atomic group whose threads are these.

        Returns
        -------
        list of (threads, promises)
            Either threads that are still inside, one of which must come to its end; or none, and
            the group's match ends here. Of all entries at most one comes true.
        """
        explorer = self.explorer
        result: list[tuple[Threads, Term]] = []
        failed: Term | None = NO_PROMISE  # that everything so far fails
        inside: list[tuple[Term, int]] = []

        def also_fails(formula: Formula) -> Term | None:
            refused = explorer.fails(formula)
            return None if refused is None or failed is None else explorer.both(failed, refused)

        for promises, thread in threads:
            if thread != explorer.done:
                inside.append((promises, thread))
                continue
            if inside and failed is not None:
                result.append((tuple(inside), failed))
                failed = also_fails(explorer.of_threads(tuple(inside)))
                inside = []
            if failed is not None:
                both = explorer.both(failed, promises)
                if both is not None:
                    result.append(((), both))
                failed = also_fails(frozenset([promises]))
        if inside and failed is not None:
            result.append((tuple(inside), failed))
        return result

    def closure(self, start: int) -> Threads:
        """Threads at characters or ends that a state leads to without reading."""
        explorer = self.explorer
        known_here = self.closures if explorer.reads_left[start] else explorer.everywhere
        known = known_here.get(start)
        if known is not None:
            return known
        found: list[tuple[Term, int]] = []
        seen: dict[tuple[Any, ...], list[Term]] = {}
        stack: list[tuple[int, Term, frozenset[int]]] = [(start, NO_PROMISE, frozenset())]
        while stack:
            q, promises, entered = stack.pop()
            state = self.states[q]
            explorer.count(1)
            before = seen.setdefault((q,) if isinstance(state, Char | End) else (q, entered), [])
            if any(earlier <= promises for earlier in before):
                continue
            before.append(promises)
            if isinstance(state, Char):
                found.append((promises, explorer.atom(READ, q)))
            elif isinstance(state, End):
                end = explorer.here if state.behind else explorer.done
                found.append((promises, explorer.text_end if state.outermost else end))
            elif isinstance(state, Split):
                stack.extend((target, promises, entered) for target in reversed(state.targets))
            elif isinstance(state, Loop):
                body = (state.body, promises, entered | {q})
                leave = (state.leave, promises, entered - {q})
                stack.extend((body, leave) if state.leave_first else (leave, body))
            elif isinstance(state, Back):
                then = state.leave if state.loop in entered else state.then
                stack.append((then, promises, entered - {state.loop}))
            elif isinstance(state, AtomicState):
                onward = []
                for threads, others in self.committed(self.closure(state.start)):
                    both = explorer.both(promises, others)
                    if both is not None and threads:
                        found.append((both, explorer.atom(ATOMIC, threads, state.then)))
                    elif both is not None:
                        onward.append((state.then, both, entered))
                stack.extend(reversed(onward))
            else:
                promise = self.check(state) if isinstance(state, Check) else self.look(state)
                both = None if promise is None else explorer.both(promises, promise)
                if both is not None:
                    stack.append((state.then, both, entered))
        known_here[start] = tuple(found)
        return known_here[start]

    # Conditions.

    def look(self, state: LookState) -> Term | None:
        """The promise of a lookaround; None where it fails whatever follows."""
        explorer = self.explorer
        if state.ahead:
            formula = explorer.of_threads(self.closure(state.start))
        else:
            mark = {explorer.here}
            formula = explorer.formula(
                term - mark for term in self.behind(state.number) if explorer.here in term
            )
        return explorer.fails(formula) if state.negated else explorer.holds(formula)

    def check(self, state: Check) -> Term | None:
        """The promise of an anchor; None where it fails whatever follows."""
        explorer = self.explorer
        program = explorer.program
        at_start, after_newline, words = self.kind
        if state.kind is AnchorKind.TEXT_START:
            return NO_PROMISE if at_start else None
        if state.kind is AnchorKind.LINE_START:
            return NO_PROMISE if at_start or after_newline else None
        if state.kind is AnchorKind.TEXT_END:
            return frozenset([explorer.at_end])
        if state.kind is AnchorKind.LAST_LINE_END:
            return frozenset([explorer.atom(NEXT, program.newline, True, True)])
        if state.kind is AnchorKind.LINE_END:
            return frozenset([explorer.atom(NEXT, program.newline, True, False)])
        after_word = bool(words >> program.words.index(state.word) & 1)
        if (state.kind is AnchorKind.WORD_EDGE) != after_word:
            return frozenset([explorer.atom(NEXT, state.word, False, False)])
        others = ~state.word & ((1 << len(program.symbols)) - 1)
        or_end = state.kind is not AnchorKind.NOT_WORD_EDGE_NOR_EMPTY or not at_start
        return frozenset([explorer.atom(NEXT, others, or_end, False)])


def _groups(everything: int, masks: Iterable[int]) -> list[int]:
    """The coarsest partition of a mask that each of the masks is a union of."""
    groups = [everything]
    for mask in masks:
        groups = [part for group in groups for part in (group & mask, group & ~mask) if part]
    return groups


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
                own = LAST_CHARACTER if looks_left else 0
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
