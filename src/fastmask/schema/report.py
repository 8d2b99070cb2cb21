"""What becomes of each keyword of a schema, and which keywords leave it without any value.

Reports and conflicts are worked out only when somebody asks: compiling needs neither.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BudgetError, GrammarError, UnsatisfiableGrammarError
from .constants import NUMBER, STRING, exact
from .keywords import ASSERTED_FORMATS, DRAFTS, Draft
from .references import Documents, Resource, escaped
from .spelling import counted_strings, needs_counter, number_language
from .strings import language_of

if TYPE_CHECKING:
    from .formulas import Formulas
    from .policy import Policy

__all__ = ["SchemaReport", "check_limits", "reachable_schemas", "report_of", "unsatisfiable"]

_CONFLICT_QUESTIONS = 400
_FEW_REMAINDERS = 1_000
_ANNOTATIONS = frozenset(
    "title description default examples example deprecated readOnly writeOnly $comment $vocabulary "
    "contentEncoding contentMediaType contentSchema".split()
)
_STRUCTURE = frozenset("$schema $id id $anchor $dynamicAnchor $recursiveAnchor".split())
_ELSEWHERE = frozenset(("definitions", "$defs"))

# Pointer, keyword, why.
Entry = tuple[str, str, str]


class SchemaReport(NamedTuple):
    """What a grammar does with a schema: lists of (JSON pointer, keyword, why).

    Attributes
    ----------
    enforced : list
        Held exactly.
    relaxed : list
        Left out, because ``unsupported="relax"`` was asked for and it could not be held.
    narrowed : list
        Held, and more than that: the text policy writes some values in fewer ways.
    annotations : list
        Says nothing about which values are allowed.
    """

    enforced: list[Entry]
    relaxed: list[Entry]
    narrowed: list[Entry]
    annotations: list[Entry]

    def __str__(self) -> str:
        lines = []
        for name, entries in zip(self._fields, self, strict=True):
            lines.append(f"{name}: {len(entries)}")
            if name != "enforced":
                lines += [
                    f"  {path or '#'} {keyword}{': ' if why else ''}{why}"
                    for path, keyword, why in entries
                ]
        return "\n".join(lines)


def report_of(formulas: Formulas) -> SchemaReport:
    """The report on a schema; ``narrowed`` is for whoever writes the texts to fill."""
    report = SchemaReport([], [], [], [])
    for path, node, draft in reachable_schemas(formulas.documents):
        for keyword in node:
            place = path + escaped(keyword)
            error = formulas.left_out.get((id(node), keyword))
            if error is not None:
                report.relaxed.append((place, keyword, str(error)))
                continue
            why = _why_annotation(formulas, node, keyword, draft)
            if why is not None:
                report.annotations.append((place, keyword, why))
            elif keyword not in _STRUCTURE and keyword not in _ELSEWHERE:
                report.enforced.append((place, keyword, ""))
    return report


def _why_annotation(
    formulas: Formulas, node: dict[str, Any], keyword: str, draft: Draft
) -> str | None:
    """Why a keyword is only an annotation; None if it is more than that."""
    if draft.ref_alone and "$ref" in node and keyword not in {"$ref", *_ELSEWHERE, "$schema"}:
        return f"beside $ref it means nothing in draft {draft.name}"
    if keyword in _ANNOTATIONS:
        return ""
    if keyword == "format" and "format" in draft.shapes:
        if formulas.is_asserted(node[keyword]):
            return None
        known = node[keyword] in ASSERTED_FORMATS
        return "formats are not asserted" if known else f"unknown format {node[keyword]!r}"
    if keyword in draft.shapes:
        if keyword in {"then", "else"} and "if" not in node:
            return "without if it means nothing"
        if keyword in {"minContains", "maxContains"} and "contains" not in node:
            return "without contains it means nothing"
        return None
    if any(keyword in other.shapes for other in DRAFTS.values()):
        return f"no keyword of draft {draft.name}"
    close = difflib.get_close_matches(keyword, draft.effective, 1, 0.85)
    return f"unknown keyword; is {close[0]} meant?" if close else "unknown keyword"


def check_limits(formulas: Formulas, policy: Policy) -> None:
    """Refuse now what no automaton and no counter holds, and not when a text comes to it.

    Raises
    ------
    BudgetError
        A large ``minLength`` next to a pattern that lets some lengths through and others not, or a
        ``multipleOf`` of too many digits.
    """
    documents = formulas.documents
    reachable = documents.reachable() if documents.limits else set()
    for node, keyword in documents.limits:
        if id(node) not in reachable:
            continue
        place = formulas.place(node, documents.resource_of(node, documents.root), ())
        with _located(documents.pointer(node, keyword)):
            if keyword == "minLength" and len(node) > 1 and place.types >> STRING & 1:
                for strings in formulas.conjunctions(place, STRING):
                    if needs_counter(strings):
                        counted_strings(strings, formulas, policy)
            elif keyword == "multipleOf" and place.types >> NUMBER & 1:
                for numbers in formulas.conjunctions(place, NUMBER):
                    if any(exact(step).numerator > _FEW_REMAINDERS for step in numbers.multiples):
                        number_language(numbers, policy, formulas.spellings)


def check_patterns(documents: Documents) -> None:
    """Raise `BudgetError` for the first pattern that takes too much by itself, with its place."""
    reachable = documents.reachable()
    for node, keyword, pattern in documents.patterns:
        if id(node) not in reachable:
            continue
        tokens = (keyword, pattern) if keyword == "patternProperties" else (keyword,)
        with _located(documents.pointer(node, *tokens)), suppress(GrammarError):
            language_of("pattern", pattern)


@contextmanager
def _located(path: str) -> Iterator[None]:
    """Say in a `BudgetError` which part of the schema it is about."""
    try:
        yield
    except BudgetError as error:
        raise BudgetError(error.what, error.limit, error.advice, path) from None


def reachable_schemas(documents: Documents) -> Iterator[tuple[str, dict[str, Any], Draft]]:
    """Pointer, node and draft of every schema that the root applies, in document order."""
    reachable = documents.reachable()
    for uri, root in documents.documents:
        stack: list[tuple[str, Any, Resource]] = [(f"{uri}#", root, documents.resource_at(uri))]
        while stack:
            path, value, resource = stack.pop()
            if isinstance(value, dict):
                resource = documents.resource_of(value, resource)
                if id(value) in reachable:
                    reachable.discard(id(value))
                    yield path, value, resource.draft
                children = [(escaped(str(name)), child) for name, child in value.items()]
            elif isinstance(value, list | tuple):
                children = [(f"/{i}", child) for i, child in enumerate(value)]
            else:
                continue
            stack.extend((path + token, child, resource) for token, child in reversed(children))


def unsatisfiable(formulas: Formulas) -> UnsatisfiableGrammarError:
    """The error for a schema that no value satisfies, with the keywords that see to it."""
    try:
        conflict = _conflict(formulas)
    except (BudgetError, GrammarError):
        conflict = []
    places = [path for path, _ in conflict]
    # What leads to another keyword of the conflict, and the types beside it, go without saying.
    named = [p for p in places if not any(other.startswith(f"{p}/") for other in places)]
    telling = [p for p in named if not p.endswith("/type")]
    named = telling if len(telling) > 1 else named
    named.sort(key=lambda path: -path.count("/"))
    if not named:
        return UnsatisfiableGrammarError("the schema allows no value at all")
    joined = " against ".join(named)
    return UnsatisfiableGrammarError(
        f"the schema allows no value at all{': ' if len(named) > 1 else ' because of '}{joined}"
    )


def _conflict(formulas: Formulas) -> list[tuple[str, str]]:
    """A smallest set of keywords that already allows no value: pointers and keywords.

    Leaving out a keyword only ever allows more, so keywords are left out in blocks, halved where
    the block is needed (delta debugging, Zeller and Hildebrandt 2002).
    """
    places = [
        (path + escaped(keyword), node, keyword)
        for path, node, draft in reachable_schemas(formulas.documents)
        for keyword in node
        if keyword in draft.effective
    ]
    asked = 0

    def is_empty(kept: list[Any]) -> bool:
        nonlocal asked
        asked += 1
        if asked > _CONFLICT_QUESTIONS:
            raise BudgetError("questions about a conflict", _CONFLICT_QUESTIONS, "")
        wanted = {(id(node), keyword) for _, node, keyword in kept}
        left_out = {
            (id(node), keyword): _LEFT_OUT
            for _, node, keyword in places
            if (id(node), keyword) not in wanted
        }
        without = formulas.without(left_out)
        return not without.emptiness.holds_something(without.root)

    kept = list(places)
    size = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if is_empty(rest):
                kept = rest
            else:
                start += size
        if size == 1:
            break
        size //= 2
    return [(path, keyword) for path, _, keyword in kept]


_LEFT_OUT = GrammarError("left out to find a conflict")
