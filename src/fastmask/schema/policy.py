"""How values may be written: the options of ``Grammar.from_json_schema`` that are about text."""

from __future__ import annotations

from typing import Any

from ..errors import GrammarError

__all__ = ["Policy"]

_CHOICES = {
    "whitespace": ("formatted", "any", "single", "none"),
    "property_order": ("any", "schema"),
    "numbers": ("plain", "any"),
    "strings": ("usual", "any"),
}


class Policy:
    """The text policy of one schema.

    Parameters
    ----------
    whitespace : {"formatted", "any", "single", "none"}
    property_order : {"any", "schema"}
    separators : tuple of str, optional
        What stands between items and behind keys, as in `json.dumps`; nothing else may.
    indent : int or str, optional
        Write as `json.dumps` with this indent does, and no other way.
    numbers : {"plain", "any"}
    strings : {"usual", "any"}
    surrounding_whitespace : bool
        Whether a gap may stand before and after the root value.

    Raises
    ------
    GrammarError
        An option that is none of these.
    """

    __slots__ = (
        "indent",
        "item_separator",
        "key_separator",
        "numbers",
        "property_order",
        "strings",
        "surrounding_whitespace",
        "whitespace",
    )

    def __init__(
        self,
        *,
        whitespace: str = "formatted",
        property_order: str = "any",
        separators: tuple[str, str] | None = None,
        indent: int | str | None = None,
        numbers: str = "plain",
        strings: str = "usual",
        surrounding_whitespace: bool = False,
    ) -> None:
        given = {
            "whitespace": whitespace,
            "property_order": property_order,
            "numbers": numbers,
            "strings": strings,
        }
        for name, value in given.items():
            if value not in _CHOICES[name]:
                allowed = ", ".join(map(repr, _CHOICES[name]))
                raise GrammarError(f"{name} is one of {allowed}, not {value!r}")
        self.whitespace = whitespace
        self.property_order = property_order
        self.numbers = numbers
        self.strings = strings
        self.surrounding_whitespace = surrounding_whitespace
        self.indent = _indent(indent)
        self.item_separator: bytes | None = None
        self.key_separator: bytes | None = None
        if separators is None and self.indent is not None:
            separators = (",", ": ")
        if separators is not None:
            if not isinstance(separators, tuple | list) or len(separators) != 2:
                raise GrammarError(f"separators are those of items and of keys, not {separators!r}")
            self.item_separator = _separator(separators[0], ",")
            self.key_separator = _separator(separators[1], ":")

    @property
    def layout(self) -> tuple[bytes, bytes, bytes]:
        """What has to stand before the first item of a container, between two, and behind a key.

        Indents are those of the root's items.
        """
        line = b"" if self.indent is None else b"\n" + self.indent
        return line, (self.item_separator or b",") + line, self.key_separator or b":"

    @property
    def key(self) -> tuple[Any, ...]:
        """All options, as something hashable."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def narrowed(self) -> list[tuple[str, str, str]]:
        """What of JSON's freedom of writing is given up, as entries of a report."""
        entries = []
        if self.item_separator is not None or self.whitespace != "any":
            how = "fixed" if self.item_separator is not None else repr(self.whitespace)
            entries.append(("", "whitespace", f"white space is {how}"))
        if self.property_order == "schema":
            entries.append(("", "property_order", "keys stand in the order of the schema"))
        if self.numbers == "plain":
            entries.append(("", "numbers", "integers are digits only, bounded numbers are plain"))
        if self.strings == "usual":
            entries.append(
                ("", "strings", "constrained strings take raw characters and usual escapes")
            )
        return entries

    def __repr__(self) -> str:
        return f"Policy({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def _indent(indent: Any) -> bytes | None:
    if indent is None:
        return None
    text = " " * indent if isinstance(indent, int) and not isinstance(indent, bool) else indent
    if not isinstance(text, str) or text.strip(" \t\n\r"):
        raise GrammarError(f"indent is a number of spaces or white space itself, not {indent!r}")
    return text.encode()


def _separator(text: Any, sign: str) -> bytes:
    if not isinstance(text, str) or text.strip(" \t\n\r") != sign:
        raise GrammarError(f"a separator is {sign!r} with white space around it, not {text!r}")
    return text.encode()
