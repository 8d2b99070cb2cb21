"""Keys that an object does not name, in classes of those that all its patterns treat alike.

For each way the tests of patterns can turn out there is one automaton of keys, cut from the product
of all tests' automata. So a class costs a relabelling, and many patterns that overlap cost what
their product does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..automata import Dfa, any_text, product
from ..errors import BudgetError
from .strings import class_language
from .values import FALSE, TRUE, KeyClass, Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["OtherClass", "OtherKeys", "other_keys"]

_MOST_CLASSES = 4_096
_FEW = 64


class OtherClass(NamedTuple):
    """Keys without a name that all tests treat alike.

    Attributes
    ----------
    language : Dfa or None
        None for all keys there are.
    member : Value
        The formula of their members.
    passed : set of Test
        The tests that they pass.
    label : int
        What they are labelled with in `OtherKeys.joint`.
    """

    language: Dfa | None
    member: Value
    passed: set[Any]
    label: int = 0

    def is_in(self, where: KeyClass) -> bool:
        """Whether they are among some keys of a formula."""
        return _is_in(self.passed, where)


class OtherKeys(NamedTuple):
    """All keys without a name that may come.

    Attributes
    ----------
    classes : list of OtherClass
    joint : Dfa or None
        The keys of all classes, labelled by class; None where one class is all keys there are.
    few : sequence of str
        Keys that are in no class since they better have names: there are few of their kind.
    """

    classes: list[OtherClass]
    joint: Dfa | None = None
    few: Sequence[str] = ()

    def language(self, which: tuple[int, ...]) -> Dfa | None:
        """The keys of some classes, labelled by the class's number plus 1 where they are many."""
        if len(which) == 1 or self.joint is None:
            return self.classes[which[0]].language
        labels = [0] * (int(self.joint.labels.max()) + 1)
        for number in which:
            labels[self.classes[number].label] = number + 1
        return self.joint.relabelled(labels)


def other_keys(automaton: SchemaAutomaton, conjunction: Any) -> OtherKeys:
    """The keys that a conjunction over objects does not name.

    Raises
    ------
    BudgetError
        If the tests of patterns turn out in more than 4,096 ways.
    """
    formulas = automaton.formulas
    tests: dict[Any, None] = {}
    for where, _ in (*conjunction.universals, *conjunction.somewhere):
        tests.update(dict.fromkeys((*where.inside, *where.outside)))
    if not tests:
        value = formulas.conjunction(*(wanted for _, wanted in conjunction.universals), TRUE)
        return OtherKeys([]) if automaton.is_empty(value) else _all_keys(automaton, value, set())
    joint, sets = product([any_text(), *(class_language(formulas, test) for test in tests)])
    if len(sets) > _MOST_CLASSES + 1:
        raise BudgetError("classes of keys", _MOST_CLASSES, "use fewer patterns that overlap")
    # Ways with the same member that meet the same obligations are one class.
    groups: dict[Any, tuple[Value, set[Any]]] = {}
    group_of: list[Any] = [None]
    for bits in sets[1:]:
        passed = {test for i, test in enumerate(tests, 1) if bits >> i & 1}
        value = TRUE
        for where, wanted in conjunction.universals:
            if _is_in(passed, where):
                value = formulas.conjunction(value, wanted)
        meets = tuple(_is_in(passed, where) for where, _ in conjunction.somewhere)
        group_of.append((value, meets))
        if value is not FALSE and not automaton.is_empty(value):
            groups.setdefault((value, meets), (value, passed))
    if len(sets) == 2 and groups:
        return _all_keys(automaton, *next(iter(groups.values())))
    labels = {group: label for label, group in enumerate(groups, 1)}
    joint = joint.relabelled([labels.get(group, 0) for group in group_of])
    classes: list[OtherClass] = []
    few: list[str] = []
    for label, (value, passed) in enumerate(groups.values(), 1):
        language = joint.relabelled([i == label for i in range(len(groups) + 1)])
        spelled = automaton.spelled_keys(language)
        if spelled.size_up_to(_FEW) < _FEW:
            # What is left of such a class would depend on which of its keys came.
            few += [key.decode() for key in spelled.strings(_FEW)]
        else:
            classes.append(OtherClass(language, value, passed, label))
    return OtherKeys(classes, joint, few)


def _all_keys(automaton: SchemaAutomaton, member: Value, passed: set[Any]) -> OtherKeys:
    """Those of an object for which all keys are alike."""
    spelled = automaton.spelled_keys(any_text())
    if spelled.is_finite:
        return OtherKeys([], None, [key.decode() for key in spelled.strings(_FEW)])
    return OtherKeys([OtherClass(None, member, passed)])


def _is_in(passed: set[Any], where: KeyClass) -> bool:
    """Whether a key that is not named is in a class, told by the tests it passes."""
    return passed.issuperset(where.inside) and passed.isdisjoint(where.outside)
