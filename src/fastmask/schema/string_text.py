"""Sets of strings as automata over the texts that spell them: raw characters and escapes.

An automaton over decoded strings (as UTF-8) becomes one over the bytes behind an opening quote, up
to and with the closing one. What comes out accepts exactly the spellings that the policy lets
through of exactly those strings: with ``strings="usual"`` each character raw or as JSON writers
escape it, with ``"any"`` in every escape there is. Half a surrogate pair is never accepted.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product

import numpy as np

from .._arrays import I32, U8
from ..automata import LAST_CODE_POINT, MAX_CELLS, MAX_STATES, Arrays, Dfa, Nfa, any_text
from ..errors import BudgetError
from ..kernels import spelling as _kernels

__all__ = [
    "any_string",
    "any_usual_string",
    "character_spellings",
    "spelled",
    "spellings",
    "without_quote",
]

# Bytes that an escape tells apart, beside the classes of the automaton; all others are alike.
_APART = np.zeros(256, np.int64)
_APART[[*b'"\\/bfnrtu0123456789acdeABCDEF']] = np.arange(1, 30)
_APART[:0x20] = 30

_CELL_LIMIT = 4 * MAX_CELLS  # before columns that are alike are merged
_ADVICE = "use fewer or shorter strings"
_LETTERS = dict(zip('"\\/\b\f\n\r\t', '"\\/bfnrt', strict=True))


def spelled(strings: Dfa, every: bool = False) -> Dfa:
    """The texts of some strings, closing quote included.

    Parameters
    ----------
    strings : Dfa
        Over the UTF-8 of the strings; labels are kept.
    every : bool
        Whether every escape of every character is allowed, not only the usual ones.

    Raises
    ------
    BudgetError
        Past the limits of table cells or of states inside escapes.
    """
    if strings.is_empty:
        return strings
    classes, table = strings.arrays.classes, strings.arrays.table
    n_states, n_columns = table.shape
    kinds, ends = np.unique(strings.labels, return_inverse=True)
    first = n_states + len(kinds) - 1
    closing = np.where(ends > 0, n_states - 1 + ends, 0).astype(np.int32)
    flat = table.reshape(-1)
    escape = np.zeros(n_states, np.int32)
    room = 256 + 2 * n_states
    while True:
        nodes = np.empty(_kernels.NODE_WIDTH * room, np.int32)
        sizes = np.zeros(306, np.int64)
        status = _kernels.escapes(
            classes,
            flat,
            n_states,
            n_columns,
            int(every),
            first,
            escape,
            nodes,
            np.zeros(1 << (2 * room).bit_length(), np.int32),
            np.zeros(_kernels.STATE_WIDTH * n_states, np.int32),
            sizes,
        )
        if status >= 0:
            break
        room *= 4
        if room > 8 * MAX_STATES:
            raise BudgetError("states of escapes", MAX_STATES, _ADVICE)
    n_nodes = int(sizes[0])
    columns, bytes_of = _columns(classes)
    n_out = len(bytes_of)
    total = first + n_nodes
    if total * n_out > _CELL_LIMIT:
        raise BudgetError("automaton table cells", _CELL_LIMIT, _ADVICE)
    out = np.zeros(total * n_out, np.int32)
    _kernels.write_texts(
        classes,
        flat,
        n_states,
        n_columns,
        closing,
        escape,
        nodes,
        first,
        n_nodes,
        bytes_of,
        n_out,
        np.empty(768, np.int32),
        out,
    )
    labels = np.zeros(total, np.int32)
    labels[n_states:first] = kinds[1:]
    return _arranged(columns, out, n_states, first, strings.start, labels)


def _columns(classes: U8) -> tuple[U8, U8]:
    """Columns that tell apart what the automaton or an escape does, and a byte of each."""
    joint = classes * np.int64(32) + _APART
    _, first_bytes, groups = np.unique(joint, return_index=True, return_inverse=True)
    by_byte = np.argsort(first_bytes)
    number = np.empty(len(by_byte), np.uint8)
    number[by_byte] = np.arange(len(by_byte))
    return number[groups], first_bytes[by_byte].astype(np.uint8)


def _arranged(columns: U8, table: I32, n_states: int, first: int, start: int, labels: I32) -> Dfa:
    """The automaton of a table whose states below ``n_states``, and above, are minimal."""
    total = len(labels)
    n_columns = len(table) // total
    classes, sizes = columns.copy(), np.zeros(2, np.int64)
    out_table = np.empty(len(table) + n_columns, np.int32)
    out_labels = np.empty(total + 1, np.int32)
    status = _kernels.arrange(
        table,
        n_columns,
        n_states,
        first,
        total - first,
        start,
        labels,
        classes,
        out_table,
        out_labels,
        np.zeros(1 << (2 * (total - first)).bit_length(), np.int32),
        np.empty(2 * total + 768, np.int32),
        sizes,
    )
    if status == _kernels.NOT_MINIMAL:
        return Dfa(columns, table.reshape(total, n_columns), start, labels)
    rows, merged = sizes.tolist()
    kept = out_table[: rows * merged].reshape(rows, merged)
    kept = kept if rows == total else kept.copy()
    return Dfa.of_minimal(Arrays(classes, kept, 1, out_labels[:rows], rows - 1))


@cache
def any_string() -> Dfa:
    """Every JSON spelling of every string, closing quote included."""
    return spelled(any_text(), True)


@cache
def any_usual_string() -> Dfa:
    """Every usual spelling of every string, closing quote included."""
    return spelled(any_text())


@cache
def character_spellings(every: bool = False) -> Dfa:
    """The texts of one character, without quotes."""
    nfa = Nfa()
    nfa.accept(nfa.char_set(0, ((0, 0xD7FF), (0xE000, LAST_CODE_POINT))))
    return without_quote(spelled(nfa.determinise(), every))


def without_quote(texts: Dfa) -> Dfa:
    """Texts without the quote at their end."""
    return texts.right_quotient(Dfa.literal(b'"'))


def spellings(text: str, every: bool = False, limit: int = 64) -> list[bytes] | None:
    """All texts of one string, without quotes and ascending; None if they are over ``limit``."""
    options = [_spellings_of_character(character, every) for character in text]
    number = 1
    for of_one in options:
        number *= len(of_one)
        if number > limit or number == 0:
            return [] if number == 0 else None
    return sorted(map(b"".join, product(*options)))


@lru_cache(maxsize=4_096)
def _spellings_of_character(character: str, every: bool) -> list[bytes]:
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return []
    found = []
    if code >= 0x20 and character not in '"\\':
        found.append(character.encode())
    if character in _LETTERS:
        found.append(b"\\" + _LETTERS[character].encode())
    if every or code >= 0x7F or (code < 0x20 and character not in _LETTERS):
        units = character.encode("utf-16-be")
        halves = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
        digits = [sorted({d, d.upper()}) for half in halves for d in half]
        for spelling in product(*digits):
            text = "".join(spelling)
            found.append("".join("\\u" + text[i : i + 4] for i in range(0, len(text), 4)).encode())
    return found
