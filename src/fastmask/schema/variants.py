"""Many alternatives of one object in one frame: which of them are still alive.

As long as a text has not told which alternative it is, all of them read the same keys. The frame
knows those alive; behind a key they are grouped by what they ask of its member, and where they ask
for constants, as tags do, one trie of all these reads it and its end tells who is left. So four
hundred tools are one path of states, and not as many threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..kernels import layout
from .next_keys import NextKeys
from .object_frames import KeyFrame
from .objects import ObjectRule
from .other_keys import OtherClass, OtherKeys
from .tries import ShrinkingTrie
from .values import AMONG, FALSE, TRUE, Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["VariantsRule", "fit_together"]

_FEWEST = 4


class VariantFrame(KeyFrame):
    """The frame of an object of several conjunctions: those alive, beside the keys.

    ``key`` is the key whose member is read by the trie of constants.
    """

    __slots__ = ("alive", "key")
    pending: tuple[int, ...] = ()
    apart: frozenset[Any] = frozenset()

    def __init__(
        self,
        rule: VariantsRule,
        alive: tuple[int, ...],
        seen: frozenset[str | None],
        unnamed: frozenset[str],
        count: int,
        key: str | None,
    ) -> None:
        super().__init__(rule, seen, unnamed, count)
        self.alive = alive
        self.key = key
        self.register = rule.tables.registers.new_register(self)

    def missing(self, state: int) -> None:
        """Nothing is known of what is missing before it is known which alternative it is."""


class VariantsRule(ObjectRule):
    """The states and frames of several conjunctions over objects (see `fit_together`)."""

    def __init__(self, automaton: SchemaAutomaton, variants: list[Any], depth: int) -> None:
        names: dict[str, Value] = {}
        for variant in variants:
            names.update(dict.fromkeys(variant.keys, TRUE))
            for where, _ in variant.universals:
                names.update(dict.fromkeys(sorted(where.names), TRUE))
        self._variants = variants
        join = automaton.formulas.conjunction
        self._others: list[Value] = []
        for variant in variants:
            value: Value = TRUE
            for _, wanted in variant.universals:
                value = join(value, wanted)
            self._others.append(FALSE if automaton.is_empty(value) else value)
        self._needed = [
            frozenset(name for name, (_, needed) in variant.keys.items() if needed)
            for variant in variants
        ]
        is_open = any(value is not FALSE for value in self._others)
        others = OtherKeys([OtherClass(None, TRUE, set())] if is_open else [])
        self._begin_rule(automaton, depth, names, others)
        self.next_keys = NextKeys(automaton, self._codes, others)
        self._variant_frames: dict[Any, VariantFrame] = {}
        self._tags: dict[str, _Tags] = {}
        self._tag_states: dict[int, int] = {}
        self._of_tag: dict[int, str] = {}

    def opening(self, left_out: frozenset[Any]) -> int:
        """The action on an opening brace; nothing may be left out."""
        alive = tuple(range(len(self._variants)))
        first = self._variant_frame(alive, frozenset(), frozenset(), 0, None)
        return self._opened(first)

    def _variant_frame(
        self,
        alive: tuple[int, ...],
        seen: frozenset[str | None],
        unnamed: frozenset[str],
        count: int,
        key: str | None,
    ) -> VariantFrame:
        identity = (alive, seen, count, key)
        frame = self._variant_frames.get(identity)
        if frame is None:
            frame = VariantFrame(self, alive, seen, unnamed, count, key)
            self._variant_frames[identity] = frame
        return frame

    def move(self, frame: Any, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        if symbol in self._of_tag:
            return self._behind_tag(frame, self._of_tag[symbol])
        return super().move(frame, symbol)

    def _value_of(self, name: str) -> Value:
        return TRUE  # each alternative has its own

    # --- members ---------------------------------------------------------------------------------

    def _asked(self, number: int, name: str | None) -> Value:
        """What an alternative asks of the member of a key, which is none of the names if None."""
        if name is None:
            return self._others[number]
        return self.formulas.member(self._variants[number], name)

    def _may_follow(self, frame: Any, number: int, name: str | None) -> bool:
        """Whether an alternative can be finished behind one more key."""
        variant = self._variants[number]
        longest, shortest = variant.longest, variant.shortest
        if longest is None and shortest == 0:
            return True
        seen = frame.seen | {name}
        count = frame.count + 1
        missing = len(self._needed[number] - seen)
        needed = max(missing, shortest - count)
        if longest is not None and count + needed > longest:
            return False
        if self._others[number] is not FALSE or needed <= missing:
            return True
        is_empty = self.automaton.is_empty
        left = [other for other in variant.keys if other not in seen]
        free = sum(not is_empty(self._asked(number, other)) for other in left)
        return bool(free >= needed)

    def _groups(self, frame: Any, name: str | None) -> dict[Value, list[int]]:
        """The alternatives that let a key come, by what they ask of its member."""
        groups: dict[Value, list[int]] = {}
        for number in frame.alive:
            value = self._asked(number, name)
            if value is not FALSE and self._may_follow(frame, number, name):
                groups.setdefault(value, []).append(number)
        return {v: numbers for v, numbers in groups.items() if not self.automaton.is_empty(v)}

    def _may_come(self, frame: Any, name: str) -> bool:
        return name not in frame.seen and self._some_let(frame, name)

    def _other_may_come(self, frame: Any, where: int) -> bool:
        return self._some_let(frame, None)

    def _some_let(self, frame: Any, name: str | None) -> bool:
        is_empty = self.automaton.is_empty
        for number in frame.alive:
            value = self._asked(number, name)
            lets = value is not FALSE and self._may_follow(frame, number, name)
            if lets and not is_empty(value):
                return True
        return False

    def _barred(self, frame: Any) -> frozenset[str]:
        return frozenset(name for name in self.names if not self._may_come(frame, name))

    def _may_close(self, frame: Any) -> bool:
        return any(
            self._needed[number] <= frame.seen and frame.count >= self._variants[number].shortest
            for number in frame.alive
        )

    def _after_key(self, frame: Any, key: str | int, value: Value, enter: Any) -> tuple[int, int]:
        name = key if isinstance(key, str) else None
        unnamed = frame.unnamed
        if name is not None and name not in self.names:
            unnamed |= {name}
            self.next_keys.follow(frame.unnamed, unnamed)
        seen, count = frame.seen | {name}, frame.count + 1

        def behind(numbers: list[int], read: str | None = None) -> int:
            alive = tuple(numbers)
            after = self._variant_frame(alive, seen, unnamed, count, read)
            after.gone_before = after.gone_before or frame.gone
            return after.register

        groups = self._groups(frame, name)
        codes: list[tuple[int, int]] = []
        if name in self.names:
            assert name is not None
            tags = self._tags_of(name)
            tagged = [v for v in groups if v in tags.values]
            if len(tagged) > 1:
                numbers = sorted(number for v in tagged for number in groups.pop(v))
                texts = frozenset(text for v in tagged for text in v.constants)
                root = tags.root(texts)
                codes.append((behind(numbers, name), self._tag_member(root)))
        codes += [(behind(numbers), enter(wanted)) for wanted, numbers in groups.items()]
        if len(codes) < 2:
            return codes[0] if codes else (0, layout.DEAD)
        program = self.tables.program
        return 0, self.tables.choice([program(layout.SET, r, 0, code) for r, code in codes])

    # --- tags ------------------------------------------------------------------------------------

    def _tags_of(self, name: str) -> _Tags:
        tags = self._tags.get(name)
        if tags is None:
            values = dict.fromkeys(
                self._asked(number, name) for number in range(len(self._variants))
            )
            tags = self._tags[name] = _Tags(self, [v for v in values if self._is_tag(v)])
            self._of_tag.update(tags.texts)
        return tags

    def _is_tag(self, value: Value) -> bool:
        return value.kind == AMONG and all(
            isinstance(text, str) and self.next_keys.spelled(text) for text in value.constants
        )

    def _tag_member(self, root: int) -> int:
        """The action on the closing quote of a key whose member is read by a trie of constants."""
        state = self._tag_states.get(root)
        if state is None:
            inner = self.tables.new_states(1)
            self.tables.row(inner)[0x22] = root
            state = self._tag_states[root] = self.states.behind_key(inner)
        return state

    def _behind_tag(self, frame: Any, text: str) -> tuple[int, int]:
        alive = tuple(
            number for number in frame.alive if text in self._asked(number, frame.key).constants
        )
        if not alive:
            return 0, layout.DEAD
        after = self._variant_frame(alive, frame.seen, frame.unnamed, frame.count, None)
        after.gone_before = after.gone_before or frame.gone_before
        return after.register, self._back

    def ways(self, frame: Any) -> Iterator[tuple[bytes, int, int]]:
        """Keys to be tried for the shortest end; see `ObjectRule.ways`.

        A key that all alternatives alive still need comes in any case, so it may come first. Where
        there is none, only keys that one of them needs make an end shorter, unless one more key of
        any kind is asked for.
        """
        missing = [self._needed[number] - frame.seen for number in frame.alive]
        common = frozenset.intersection(*missing)
        names: list[str] = [name for name in self.names if name in common][:1]
        any_key = not names and not all(
            left and self._variants[number].shortest <= frame.count + len(left)
            for number, left in zip(frame.alive, missing, strict=True)
        )
        if not names:
            some = frozenset().union(*missing)
            names = [name for name in self.names if any_key or name in some]
        for name in names:
            if self._may_come(frame, name):
                register, action = self._after_key(frame, name, TRUE, self._member)
                yield self.next_keys.shortest(name), register, action
        if not any_key:
            return
        if self._classes and self._other_may_come(frame, 0):
            text = self.next_keys.shortest_other(0, self.next_keys.known(frame.unnamed))
            if text is not None:
                register, action = self._after_key(frame, 0, TRUE, self._member)
                yield text, register, action


class _Tags:
    """The constants that alternatives ask for as the member of one key."""

    def __init__(self, rule: VariantsRule, values: list[Value]) -> None:
        self.values = set(values)
        tables = rule.tables
        texts = sorted({str(text) for value in values for text in value.constants})
        self.texts = {tables.registers.new_symbol(): text for text in texts}
        self._all = frozenset(texts)
        self._trie: ShrinkingTrie | None = None
        if texts:
            codes = {text: tables.program(layout.STEP, s) for s, text in self.texts.items()}
            spelled = {text: rule.next_keys.spelled(text) or [] for text in texts}
            self._trie = ShrinkingTrie(tables, spelled, codes)

    def root(self, texts: frozenset[Any]) -> int:
        """The first state of a trie of some of the constants."""
        assert self._trie is not None
        return self._trie.without(self._all - texts, frozenset())


def fit_together(conjunctions: list[Any], in_order: bool) -> tuple[list[Any], list[Any]]:
    """Those of some conjunctions that one `VariantsRule` can hold, if it is worth it, and others.

    Conjunctions with obligations, objects left out, or key classes told by tests stay alone, and
    all do where keys have to come ``in_order``.
    """
    simple = [
        c
        for c in conjunctions
        if not in_order
        and not c.somewhere
        and not c.excluded
        and not any(where.inside or where.outside for where, _ in c.universals)
    ]
    if len(simple) < _FEWEST:
        return [], conjunctions
    return simple, [c for c in conjunctions if c not in simple]
