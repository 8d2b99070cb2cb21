"""`JsonSchema`: a schema with its options, as a leaf of a grammar."""

from __future__ import annotations

import json
import marshal
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import BudgetError, GrammarError, GrammarSyntaxError
from .automaton import SchemaAutomaton
from .json_text import parsed, written
from .normalise import normalise
from .policy import Policy
from .report import SchemaReport, check_limits, check_patterns, report_of, unsatisfiable

if TYPE_CHECKING:
    from ..tables import Tables
    from .formulas import Formulas

__all__ = ["JsonSchema", "check_schema"]

#: A repetition of a pattern, a thousand times or of what is repeated already.
_LARGE_COUNT = re.compile(r"\{\d*,?\d{4,}\}|\d\}[^{}\"]*\)\{\d")
_USUAL: dict[str, Any] = Policy.__init__.__kwdefaults__ or {}


class JsonSchema:
    """A schema, read and checked; a value equal to another with the same text and options.

    Parameters
    ----------
    schema : dict, bool, str, bytes, pydantic model or dataclass
    formats : {"assert", "annotate"}
    draft : str, optional
    documents : mapping of str to schema, optional
    unsupported : {"error", "relax"}
    **policy
        Options of `Policy`.

    Raises
    ------
    GrammarSyntaxError, UnsupportedFeatureError, UnsatisfiableGrammarError, BudgetError
    """

    def __init__(
        self,
        schema: Any,
        *,
        formats: str = "assert",
        draft: str | None = None,
        documents: Mapping[str, Any] | None = None,
        unsupported: str = "error",
        **policy: Any,
    ) -> None:
        for name, value, allowed in (
            ("formats", formats, ("assert", "annotate")),
            ("unsupported", unsupported, ("error", "relax")),
        ):
            if value not in allowed:
                raise GrammarError(f"{name} is {' or '.join(map(repr, allowed))}, not {value!r}")
        others = _by_uri(documents)
        self._bytes: bytes | None = None
        self.policy = Policy(**policy)
        self.schema = schema_value(schema)
        self.options = {
            "formats": formats,
            "draft": draft,
            "documents": others,
            "unsupported": unsupported,
            **{name: value for name, value in policy.items() if value != _USUAL[name]},
        }
        self.formulas = normalise(
            self.schema,
            draft=draft or "2020-12",
            documents=others,
            formats=formats,
            unsupported=unsupported,
        )
        try:
            is_empty = not self.formulas.emptiness.holds_something(self.formulas.root)
        except BudgetError:
            check_patterns(self.formulas.documents)  # if one alone is too much, say which
            raise
        if is_empty:
            raise unsatisfiable(self.formulas)
        text = schema if isinstance(schema, str) else self.text
        check_limits(self.formulas, self.policy)
        if self.formulas.documents.patterns and _LARGE_COUNT.search(text):
            check_patterns(self.formulas.documents)

    @cached_property
    def report(self) -> SchemaReport:
        """What becomes of each keyword."""
        report = report_of(self.formulas)
        report.narrowed.extend(self.policy.narrowed())
        return report

    @property
    def policy_key(self) -> Any:
        """The options of the text policy."""
        return self.policy.key

    @cached_property
    def text(self) -> str:
        """The schema as JSON text."""
        return written(self.schema)

    def build(self, tables: Tables, state: int) -> Formulas:
        """Have ``tables`` make the automaton, which begins in ``state``; the formulas it is of."""
        if self.formulas.is_worn:
            self.formulas = self.formulas.without({})
        automaton = SchemaAutomaton(tables, self.formulas, self.policy)
        tables.defer(state, automaton.write_root)
        return self.formulas

    def to_bytes(self) -> bytes:
        """Schema and options as bytes."""
        if self._bytes is None:
            options = written(self.options)
            self._bytes = f'{{"schema": {self.text}, "options": {options}}}'.encode()
        return self._bytes

    @classmethod
    def from_bytes(cls, data: bytes) -> JsonSchema:
        """The schema out of `to_bytes`."""
        content = parsed(data)
        return cls(content["schema"], **content["options"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSchema) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())


def check_schema(schema: Any, **options: Any) -> SchemaReport:
    """What fastmask does with a schema, keyword by keyword; no vocabulary is needed.

    Parameters
    ----------
    schema : dict, bool, str, bytes, pydantic model or dataclass
    **options
        As for `Grammar.from_json_schema`.

    Raises
    ------
    GrammarSyntaxError, UnsupportedFeatureError, UnsatisfiableGrammarError, BudgetError
        As `Grammar.from_json_schema` does.
    """
    return JsonSchema(schema, **options).report


def _by_uri(documents: Any) -> dict[str, Any]:
    """Other documents as JSON values."""
    if documents is None:
        return {}
    if not isinstance(documents, Mapping) or not all(isinstance(uri, str) for uri in documents):
        raise GrammarError("documents is a mapping of URIs to schemas")
    return {uri: schema_value(document) for uri, document in documents.items()}


def schema_value(schema: Any) -> Any:
    """A schema as JSON values, from any form it may be given in."""
    if isinstance(schema, dict | bool):
        try:
            # What callers do to a dict later does not concern the grammar.
            return marshal.loads(marshal.dumps(schema))
        except ValueError:
            return schema
    if isinstance(schema, str | bytes | bytearray):
        try:
            return parsed(schema)
        except RecursionError:
            raise BudgetError(
                "levels of nesting", sys.getrecursionlimit(), "use $ref for deep schemas"
            ) from None
        except ValueError as error:
            text = schema if isinstance(schema, str) else None
            position = error.pos if isinstance(error, json.JSONDecodeError) else None
            raise GrammarSyntaxError(
                f"the schema is not JSON: {error}", text=text, position=position
            ) from None
    if hasattr(schema, "model_json_schema"):
        return schema.model_json_schema()
    if hasattr(schema, "__dataclass_fields__"):
        try:
            from pydantic import TypeAdapter
        except ImportError:
            raise ImportError(
                "schemas of dataclasses are made by pydantic: pip install 'fastmask[pydantic]'"
            ) from None
        return TypeAdapter(schema).json_schema()
    raise GrammarSyntaxError(
        f"a schema is a dict, a bool, JSON text, a pydantic model or a dataclass, "
        f"not {type(schema).__name__}",
        path="#",
    )
