"""Strict tool use: a call names a tool, and its arguments fit that tool's input schema.

The language of all calls is a union of objects, one a tool, whose name is a constant: once the name
is written only that tool's arguments are left. With the name last the union stays open until then;
the algebra of schemas keeps the tools apart that fit what was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import GrammarError
from ..grammar.core import Grammar

__all__ = ["tool_call_grammar", "tool_call_schema"]

_SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters")


def tool_call_schema(
    tools: Sequence[Mapping[str, Any]],
    *,
    name_key: str = "name",
    arguments_key: str = "arguments",
    several: bool = False,
) -> dict[str, Any]:
    """A JSON Schema of calls of some tools.

    Parameters
    ----------
    tools : sequence of mapping
        Each with a ``name`` and a JSON Schema of its arguments as ``input_schema``, ``inputSchema``
        or ``parameters`` (without one it takes none), alone or as the ``function`` of another
        mapping: the shapes in which hosted models take tools.
    name_key, arguments_key : str
        How the two members of a call are named.
    several : bool
        Whether the text is an array of one or more calls instead of one call.

    Returns
    -------
    dict
        For ``Grammar.from_json_schema``, or any validator.

    Raises
    ------
    GrammarError
        No tool, one without a name, or two of one name.

    Examples
    --------
    >>> weather = {"name": "weather", "input_schema": {"type": "object"}}
    >>> tool_call_schema([weather])["properties"]["name"]
    {'const': 'weather'}
    """
    if isinstance(tools, Mapping):
        raise GrammarError("tools are a list, not one tool; write [tool]")
    calls = []
    names = set()
    for number, tool in enumerate(tools):
        described = tool.get("function", tool)
        name = described.get("name")
        if not isinstance(name, str):
            raise GrammarError(f"tool {number} has no name")
        if name in names:
            raise GrammarError(f"two tools are named {name!r}")
        names.add(name)
        arguments = next((described[key] for key in _SCHEMA_KEYS if key in described), None)
        if arguments is None:
            arguments = {"type": "object", "additionalProperties": False}
        elif isinstance(arguments, Mapping):
            # A resource of its own, so that "#/$defs/..." means the tool's own definitions.
            arguments = {"$id": f"urn:tool:{number}", **arguments}
        calls.append(
            {
                "type": "object",
                "properties": {name_key: {"const": name}, arguments_key: arguments},
                "required": [name_key, arguments_key],
                "additionalProperties": False,
            }
        )
    if not calls:
        raise GrammarError("there is no tool to call")
    call = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {"type": "array", "items": call, "minItems": 1} if several else call


def tool_call_grammar(
    tools: Sequence[Mapping[str, Any]],
    *,
    name_key: str = "name",
    arguments_key: str = "arguments",
    several: bool = False,
    **options: Any,
) -> Grammar:
    """The grammar of calls of some tools.

    Parameters
    ----------
    tools, name_key, arguments_key, several
        See `tool_call_schema`.
    **options
        Of `Grammar.from_json_schema`.

    Raises
    ------
    GrammarError
        Of either.
    """
    schema = tool_call_schema(
        tools, name_key=name_key, arguments_key=arguments_key, several=several
    )
    return Grammar.from_json_schema(schema, **options)
