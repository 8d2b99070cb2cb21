"""Objects: what a frame remembers of the keys read so far, and what may follow.

The register of an object's frame stands for the set of keys seen, which obligations ("some member
is so") are still open, and which of the objects left out are still equal to it. Its steps are: a
quote begins a key, a key ends, a comma, the closing brace. Keys that may come are read in states of
``next_keys.py``; one that is not named counts as seen under the text that was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..kernels import layout
from .constants import Constant
from .containers import Objects
from .next_keys import NextKeys
from .object_frames import MissingKeys, ObjectFrame
from .other_keys import OtherKeys, other_keys
from .values import FALSE, Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["ObjectRule", "names_left_out"]

_MOST_BITS = 16 * layout.KEYS_OF_WORD  # named keys of an object that is left to kernels


class ObjectRule:
    """The states and frames of one conjunction over objects, whatever objects it leaves out.

    The names of those have to be among those of the objects it was made with.

    Attributes
    ----------
    key_actions : set of int
        The actions on the quote of a key.
    """

    names: dict[str, Value]

    def __init__(self, automaton: SchemaAutomaton, conjunction: Any, depth: int) -> None:
        self.conjunction = conjunction
        formulas = automaton.formulas
        names = dict.fromkeys(conjunction.keys)
        for where, _ in (*conjunction.universals, *conjunction.somewhere):
            names.update(dict.fromkeys(where.names))
        names.update(dict.fromkeys(sorted(names_left_out(conjunction.excluded))))
        in_order = [*names]
        others = other_keys(automaton, conjunction)
        names.update(dict.fromkeys(others.few))
        members = {name: formulas.member(conjunction, name) for name in names}
        possible = {
            name: value
            for name, value in members.items()
            if automaton.spells_key(name) and not automaton.is_empty(value)
        }
        self._begin_rule(automaton, depth, possible, others)
        self.required = frozenset(n for n, (_, needed) in conjunction.keys.items() if needed)
        self._order = {name: i for i, name in enumerate(in_order) if name in possible}
        self._frames: dict[tuple[Any, ...], ObjectFrame] = {}
        self._firsts: dict[frozenset[Constant], ObjectFrame] = {}
        self._settled: dict[tuple[tuple[int, ...], frozenset[str]], bool] = {}
        self._fresh: dict[tuple[frozenset[str], int, int], tuple[list[str], list[str]]] = {}
        self._alone: dict[tuple[frozenset[str], int], dict[str, int]] = {}
        self._numbers: dict[frozenset[str], int] = {}
        self._sets: dict[int, frozenset[str]] = {}
        is_plain = self._is_plain()
        self._bits = {name: 1 << i for i, name in enumerate(self.names)} if is_plain else {}
        self.next_keys = NextKeys(
            automaton,
            self._codes,
            others,
            forbidden=frozenset(names) - possible.keys(),
            bits=self._bits,
            bits_tell=is_plain and not conjunction.excluded,
        )
        if is_plain:
            self._leave_to_kernels()

    def _begin_rule(
        self,
        automaton: SchemaAutomaton,
        depth: int,
        names: dict[str, Value],
        others: OtherKeys,
    ) -> None:
        """Start with the named keys and the classes of others."""
        self.automaton = automaton
        self.tables = automaton.tables
        self.states = automaton.shared.objects
        self.formulas = automaton.formulas
        self.depth = depth
        self.names = names
        self.key_actions: set[int] = set()
        self._number = 0  # among rules whose registers kernels make; 0 if they make none
        self._words = 0  # of a set of keys; 0 where they are bits of one word
        self._classes = others.classes
        self._symbols, codes = self.tables.new_steps(len(names))
        self._codes = dict(zip(names, codes, strict=True))
        self._of_symbol = dict(zip(self._symbols, names, strict=True))
        self._other_symbols = [self.states.other_symbol(i) for i in range(len(self._classes))]
        self._back = self.states.back(depth)

    # --- objects that are left to kernels --------------------------------------------------------

    def _is_plain(self) -> bool:
        """Whether the keys seen are all that counts, so that kernels can make the registers."""
        conjunction = self.conjunction
        return (
            not conjunction.somewhere
            and conjunction.longest is None
            and self.automaton.policy.property_order != "schema"
            and len(self.names) <= _MOST_BITS
            and self.required <= self.names.keys()
            and (bool(self._classes) or conjunction.shortest == 0)
            and all(one.language is None for one in self._classes)
        )

    def _leave_to_kernels(self) -> None:
        """Say what keys and symbols mean, so that kernels make this object's registers."""
        registers = self.tables.registers
        required = sum(self._bits[name] for name in self.required)
        promised = 0 if self._classes else (1 << len(self.names)) - 1
        least = self.conjunction.shortest
        other = self._jump(self._classes[0].member) if self._classes else layout.DEAD
        if len(self.names) > layout.KEYS_OF_WORD:
            self._words = -(-len(self.names) // layout.KEYS_OF_WORD)
        required, promised = (self._key_set(keys) if keys else 0 for keys in (required, promised))
        self._number = registers.new_rule(
            self, required, promised, least, words=self._words, other=other
        )
        actions = [0] * len(self.names)
        if not self._words:
            # Of many keys few come: their members are made by the moves.
            firsts = [self.automaton.value(value, self.depth + 1) for value in self.names.values()]
            known = self.states.members(firsts, self.depth)
            actions = [known[first][1] for first in firsts]
        if actions:
            registers.define_keys(self._symbols[0], actions)

    def _key_set(self, keys: int) -> int:
        """Keys, given as bits, as kernels have them."""
        return self.tables.registers.new_set(keys, self._words) if self._words else keys

    def frame_of(self, seen: int, others: int, count: int) -> ObjectFrame:
        """The frame of a register that a kernel made."""
        unnamed = self._sets[others >> 1]
        names = {name for name, bit in self._bits.items() if seen & bit}
        key: frozenset[str | None] = unnamed.union(names, [None] if others & 1 else [])
        return self._frame_with(key, unnamed, (), frozenset(), count)

    def _set_number(self, unnamed: frozenset[str]) -> int:
        """The number of a set of other keys."""
        number = self._numbers.get(unnamed)
        if number is None:
            number = self._numbers[unnamed] = self.tables.registers.new_comma()
            self._sets[number] = unnamed
        return number

    # --- states ----------------------------------------------------------------------------------

    def opening(self, left_out: frozenset[Constant]) -> int:
        """The action on an opening brace; some objects are left out."""
        first = self._firsts.get(left_out)
        if first is None:
            pending = tuple(range(len(self.conjunction.somewhere)))
            first = self._frame_with(frozenset(), frozenset(), pending, left_out, 0)
            self._firsts[left_out] = first
        return self._opened(first)

    def _opened(self, first: Any) -> int:
        keys = self._keys(first)
        if keys:
            self._behind_comma(first, keys)
        state = self.states.opened(keys, self.depth)
        return self.tables.program(layout.SET, first.register, 0, state)

    def _behind_comma(self, frame: Any, keys: int) -> int:
        """The action on a comma, behind which ``keys`` is the action on a quote."""
        action = self.states.behind_comma(keys, self.depth)
        if self._number and not frame.apart and self.next_keys.is_narrow(frame.unnamed):
            self.tables.registers.define_comma(self._set_number(frame.unnamed), action)
        return action

    # --- frames ----------------------------------------------------------------------------------

    def _frame(
        self,
        before: ObjectFrame,
        name: str | None,
        pending: tuple[int, ...],
        apart: frozenset[Constant],
    ) -> ObjectFrame:
        """The frame behind one more key."""
        unnamed = before.unnamed
        if name is not None and name not in self.names:
            unnamed |= {name}
            self.next_keys.follow(before.unnamed, unnamed)
        frame = self._frame_with(before.seen | {name}, unnamed, pending, apart, before.count + 1)
        frame.gone_before = frame.gone_before or before.gone
        return frame

    def _frame_with(
        self,
        seen: frozenset[str | None],
        unnamed: frozenset[str],
        pending: tuple[int, ...],
        apart: frozenset[Constant],
        count: int,
    ) -> ObjectFrame:
        is_plain = self._number != 0 and not apart
        if is_plain:
            count = min(count, self.conjunction.shortest)
        key = (seen, pending, count, apart)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = ObjectFrame(self, seen, unnamed, pending, apart, count)
            registers = self.tables.registers
            if is_plain:
                bits = sum(self._bits[name] for name in seen if name in self._bits)
                others = 2 * self._set_number(unnamed) + (None in seen)
                keys = self._key_set(bits)
                frame.register = registers.object_register(self._number, keys, others, count)
            else:
                frame.register = registers.new_register(frame)
        return frame

    # --- moves -----------------------------------------------------------------------------------

    def move(self, frame: ObjectFrame, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        end = self.states.ends.get(symbol)
        if end is not None:
            return 0, end if self._may_close(frame) else layout.DEAD
        if symbol == self.states.comma:
            # A comma promises a key.
            keys = self._keys(frame)
            if not keys:
                return 0, layout.DEAD
            return frame.register, self._behind_comma(frame, keys)
        name = self._of_symbol.get(symbol)
        if name is not None:
            if not self._may_come(frame, name):
                return 0, layout.DEAD
            if self._number and not frame.apart:
                registers = self.tables.registers
                registers.define_action(symbol, self._member(self.names[name]))
                return registers.derived_move(frame.register, symbol)
            return self._after_key(frame, name, self.names[name], self._member)
        if symbol in self.next_keys.guards:
            names, state = self.next_keys.guards[symbol]
            alive = any(self._may_come(frame, name) for name in names)
            return frame.register, state if alive else layout.DEAD
        if symbol in self._other_symbols:
            if None in frame.seen:
                return 0, layout.DEAD  # two keys without a name in one token might be the same
            where = self._other_symbols.index(symbol)
            return self._after_key(frame, where, self._classes[where].member, self._jump)
        registers = self.tables.registers
        if symbol not in registers.texts:
            return registers.derived_move(frame.register, symbol)  # a branch that kernels guard
        text = _key_text(registers.texts[symbol])
        return self._after_key(frame, text, self._value_of(text), self._jump)

    def _value_of(self, name: str) -> Value:
        """The formula of the member of a key that is not named."""
        return self.formulas.member(self.conjunction, name)

    def _after_key(
        self, frame: ObjectFrame, key: str | int, value: Value, enter: Any
    ) -> tuple[int, int]:
        """The step at the end of a key, which is given by name or, in a mask, by its class."""
        name = key if isinstance(key, str) else None
        options: list[tuple[ObjectFrame, Value]] = []
        for settled in self._settlings(frame, key):
            wanted = value
            for i in settled:
                wanted = self.formulas.conjunction(wanted, self.conjunction.somewhere[i][1])
            pending = tuple(i for i in frame.pending if i not in settled)
            members = ((e, e.members[name]) for e in frame.apart if name in e.members)
            for member, apart in self.automaton.ways_apart(wanted, members):
                if self.automaton.is_empty(member):
                    continue
                after = self._frame(frame, name, pending, apart)
                if self._can_finish(after):
                    options.append((after, member))
        if not options:
            return 0, layout.DEAD
        if len(options) == 1:
            after, wanted = options[0]
            return after.register, enter(wanted)
        set_to = self.tables.program
        codes = [set_to(layout.SET, f.register, 0, enter(v)) for f, v in options]
        return 0, self.tables.choice(codes)

    def _settlings(self, frame: ObjectFrame, key: str | int) -> list[tuple[int, ...]]:
        """The sets of open obligations that the member of a key may be taken to settle."""
        choices: list[tuple[int, ...]] = [()]
        for i in frame.pending:
            where = self.conjunction.somewhere[i][0]
            if (
                self.formulas.in_class(key, where)
                if isinstance(key, str)
                else self._classes[key].is_in(where)
            ):
                choices += [(*choice, i) for choice in choices]
        return choices

    def _member(self, value: Value) -> int:
        """The action on the closing quote of a key whose member is in ``value``."""
        return self.states.behind_key(self._member_state(value))

    def _jump(self, value: Value) -> int:
        """The action on the byte behind that quote."""
        return self.states.behind_key(self._member_state(value), is_quote=False)

    def _member_state(self, value: Value) -> int:
        first = self.automaton.value(value, self.depth + 1)
        return self.states.member(first, self.depth)

    # --- what can still be finished --------------------------------------------------------------

    def _may_close(self, frame: ObjectFrame) -> bool:
        return (
            not frame.pending
            and self.required <= frame.seen
            and frame.count >= self.conjunction.shortest
            and all(len(left_out.members) > frame.count for left_out in frame.apart)
        )

    def _can_finish(self, frame: ObjectFrame) -> bool:
        """Whether a text that has come so far can be finished."""
        longest, shortest = self.conjunction.longest, self.conjunction.shortest
        missing = len(self.required - frame.seen)
        needed = max(missing, shortest - frame.count)
        if longest is not None and frame.count + needed > longest:
            return False
        if not self._classes and needed > missing:
            gone = self._gone(frame)
            free = sum(name not in gone for name in self.names)
            if free < needed:
                return False
        if not frame.pending:
            if not frame.apart:
                return True
            if longest is None and any(one.language is None for one in self._classes):
                return True  # one more key makes the difference
        if frame.can_finish is None:
            gone = self._gone(frame)
            if frame.apart or longest is not None or shortest:
                frame.can_finish = self._can_settle(frame, gone)
            else:
                # All that counts is which keys are gone of those that open obligations ask about.
                classes = [self.conjunction.somewhere[i][0] for i in frame.pending]
                asked = {n for n in gone if any(self.formulas.in_class(n, c) for c in classes)}
                question = (frame.pending, frozenset(asked))
                if question not in self._settled:
                    self._settled[question] = self._can_settle(frame, gone)
                frame.can_finish = self._settled[question]
        return frame.can_finish

    def _gone(self, frame: ObjectFrame) -> set[str]:
        """Keys that cannot come any more: those seen, and where there is an order those before."""
        gone = {name for name in frame.seen if name is not None}
        if self.automaton.policy.property_order == "schema":
            last = max((place for name, place in self._order.items() if name in gone), default=0)
            gone.update(name for name, place in self._order.items() if place < last)
        return gone

    def _can_settle(self, frame: ObjectFrame, gone: set[str]) -> bool:
        """Whether the open obligations can be met, and all left out avoided, by keys to come."""
        conjunction = self.conjunction
        rest = Objects()
        rest.keys = dict(conjunction.keys)
        rest.keys.update(dict.fromkeys(gone, (FALSE, False)))
        rest.universals = conjunction.universals
        rest.somewhere = tuple(conjunction.somewhere[i] for i in frame.pending)
        rest.shortest = max(0, conjunction.shortest - frame.count)
        if conjunction.longest is not None:
            rest.longest = conjunction.longest - frame.count
        rest.excluded = frozenset(
            self.formulas.constants.key(
                {name: value for name, value in e.value.items() if name not in frame.seen}
            )
            for e in frame.apart
        )
        settled = rest.meet(Objects(), self.formulas)
        return settled is not None and not self.automaton.is_empty(settled)

    # --- keys that may come next -----------------------------------------------------------------

    def _keys(self, frame: ObjectFrame) -> int:
        """The action behind the quote that begins a key: every key that may come now."""
        classes = tuple(w for w in range(len(self._classes)) if self._other_may_come(frame, w))
        action = self.next_keys.all_keys(frame.unnamed, classes)
        if action is None:
            frame.gone = self._barred(frame)
            action = self.next_keys.some_keys(frame.unnamed, classes, frame.gone, frame.gone_before)
        if action != layout.DEAD:
            self.key_actions.add(action)
        return action

    def _barred(self, frame: ObjectFrame) -> frozenset[str]:
        """The named keys that may not come."""
        is_ordered = self.automaton.policy.property_order == "schema"
        if is_ordered or frame.pending or frame.apart or self.conjunction.longest is not None:
            return frozenset(name for name in self.names if not self._may_come(frame, name))
        return frozenset(name for name in frame.seen if name in self.names)

    def _may_come(self, frame: ObjectFrame, name: str) -> bool:
        """Whether a named key may come: it has not, and the rest can be finished behind it."""
        if name in frame.seen:
            return False
        conjunction = self.conjunction
        skips = self.automaton.policy.property_order == "schema"
        if skips and not self._in_order(frame, name):
            return False
        # Where keys are skipped for good, a key may come too late for as many as are needed.
        counts = conjunction.longest is not None or (skips and conjunction.shortest)
        if not counts and not frame.pending and not frame.apart:
            return True
        return self._after_key(frame, name, self.names[name], _nothing)[1] != layout.DEAD

    def _other_may_come(self, frame: ObjectFrame, where: int) -> bool:
        if self.conjunction.longest is None and not frame.pending and not frame.apart:
            return True
        value = self._classes[where].member
        return self._after_key(frame, where, value, _nothing)[1] != layout.DEAD

    def _in_order(self, frame: ObjectFrame, name: str) -> bool:
        """Whether a key stands behind those seen, and before no required one that is missing."""
        place = self._order.get(name)
        return place is None or not any(
            (other in frame.seen and self._order[other] > place)
            or (other in self.required and other not in frame.seen and self._order[other] < place)
            for other in self._order
        )

    # --- the shortest end ------------------------------------------------------------------------

    def ways(self, frame: ObjectFrame) -> Iterator[tuple[bytes, int, int]]:
        """Keys to be tried for the shortest end of an object whose next key begins.

        Yields the key spelled with its quotes, and the register and the action behind it. In which
        order keys come makes no difference to the length, and nothing is shorter for a key that is
        not needed: while a required key is missing that is the only one to try, unless an
        obligation may be met by several, or keys have an order and more of them are needed.
        """
        missing = [name for name in self.names if name in self.required - frame.seen]
        more = self.conjunction.shortest > frame.count + len(missing)
        is_ordered = self.automaton.policy.property_order == "schema"
        free = bool(frame.pending or frame.apart) or (more and is_ordered)
        names = self.names if free or not missing else missing[:1]
        if not (free or missing):
            # Of keys with the same members the shortest will do.
            left = sorted(self.names.keys() - frame.seen, key=self._size_and_place)
            names = [*{self.names[name]: name for name in reversed(left)}.values()]
        for name in names:
            if self._may_come(frame, name):
                register, action = self._after_key(frame, name, self.names[name], self._member)
                yield self.next_keys.shortest(name), register, action
        if missing and not free:
            return
        known = self.next_keys.known(frame.unnamed)
        for where in range(len(self._classes)):
            text = self.next_keys.shortest_other(where, known)
            if text is not None and None in frame.seen:
                # The key under way may be this one: count with the next.
                text = self.next_keys.shortest_other(where, known | {_key_text(text)})
            if text is not None and self._other_may_come(frame, where):
                value = self.formulas.member(self.conjunction, _key_text(text))
                register, action = self._after_key(frame, _key_text(text), value, self._member)
                yield text, register, action

    def _size_and_place(self, name: str) -> tuple[int, int]:
        return len(self.next_keys.shortest(name)), self._order.get(name, len(self._order))

    def missing(self, frame: ObjectFrame, state: int) -> MissingKeys | None:
        """Behind a member: what is known of the keys that are missing.

        None where something else than their number and the required ones counts, or their order
        does, or where there are fewer than two.
        """
        left = self.required - frame.seen
        more = max(0, self.conjunction.shortest - frame.count - len(left))
        if (
            state != self._back
            or len(left) + more < 2
            or frame.pending
            or frame.apart
            or self.automaton.policy.property_order == "schema"
        ):
            return None
        fresh, spent = self._fresh_keys(frame, more) if more else ([], [])
        # All others count as keys that came, so that one alone is the next.
        unnamed = frame.unnamed.union(fresh, spent)
        every: frozenset[Any] = unnamed.union(self.names)
        none: frozenset[Any] = frozenset()
        count = frame.count + len(left) + more

        known = self._alone.setdefault((unnamed, count), {})

        def alone(name: str) -> int:
            if name not in known:
                seen = every - {name}
                frame = self._frame_with(seen, unnamed - {name}, (), none, count - 1)
                known[name] = frame.register
            return known[name]

        complete = self._frame_with(every, unnamed, (), none, count)
        # Of keys that are as short the fresh ones are taken first: they may always come.
        others = [*fresh, *(n for n in self.names if n not in left and n not in frame.seen)]
        return MissingKeys(
            complete.register,
            [alone(name) for name in self.names if name in left],
            [alone(name) for name in others] if more else [],
            more,
        )

    def _fresh_keys(self, frame: ObjectFrame, number: int) -> tuple[list[str], list[str]]:
        """The shortest keys without a name that can come, so many of each class.

        And those that cannot, since the key under way may be one of them.
        """
        first = int(None in frame.seen)
        question = (frame.unnamed, first, number)
        if question not in self._fresh:
            known = self.next_keys.known(frame.unnamed)
            fresh: list[str] = []
            spent: list[str] = []
            for where in range(len(self._classes)):
                keys = self.next_keys.shortest_others(where, known, first + number)
                fresh += keys[first:]
                spent += keys[:first]
            self._fresh[question] = fresh, spent
        return self._fresh[question]


def names_left_out(objects: Iterable[Constant]) -> frozenset[str]:
    """The keys of some objects."""
    return frozenset(name for constant in objects for name in constant.members)


def _nothing(value: Value) -> int:
    """Any action: only whether there is one counts."""
    return 1


def _key_text(text: bytes) -> str:
    """The key that a JSON string spells."""
    decoded: str = json.loads(text)
    return decoded
