"""Tries of keys as states of the tables, written by a kernel (``kernels.keys``).

Every text that is none of the keys falls out of the trie into a string body, if there is one. A
state that is nearly one of the body is modelled on it, so that its row is cut from the body's.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._arrays import I32
from ..kernels import keys as kernel
from ..kernels import layout

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = [
    "KeyBody",
    "copy_state",
    "falling_state",
    "framed_body",
    "guard_keys",
    "insert_keys",
    "key_body",
    "prune_keys",
]


class KeyBody(NamedTuple):
    """The string body that keys without a name are read in.

    Attributes
    ----------
    state, first : int
        The state behind the opening quote, and the first state of the body's automaton.
    calls : int32[n]
        The action of calling each of its states, or going on in it.
    back : int
        Where these calls return to; 0 if there is no call.
    """

    state: int
    first: int
    calls: I32
    back: int


_NO_BODY = KeyBody(0, 0, np.zeros(0, np.int32), 0)


def key_body(
    tables: Tables, state: int, first: int, n_states: int, back: int, rank: int
) -> KeyBody:
    """A string body that returns to ``back``; its automaton's states begin at ``first``."""
    called = first + (np.arange(n_states) << tables.shift)
    calls = tables.programs(layout.PUSH, called, back, rank).astype(np.int32)
    return KeyBody(state, first, calls, back)


def framed_body(tables: Tables, state: int, states: I32) -> KeyBody:
    """A string body that lies in the frame itself, so that nothing is called.

    ``state`` is the one behind the opening quote, of those that its automaton's are laid out in.
    """
    jumps = tables.programs(layout.JUMP, states.astype(np.int64), 0, 0).astype(np.int32)
    return KeyBody(state, int(states[0]), jumps, 0)


def insert_keys(
    tables: Tables, keys: list[tuple[bytes, int]], root: int, body: KeyBody | None = None
) -> tuple[int, I32]:
    """Enter keys, each a text and the action on the quote behind it, into a trie of states.

    Parameters
    ----------
    keys : list of (bytes, int)
    root : int
        The first state of the trie to start from, which stays as it is; 0 for an empty one.
    body : KeyBody, optional
        Where texts go on that are none of the keys.

    Returns
    -------
    root : int
    places : int32[n, 4]
        Of each new state, ``root`` the first: the state before, the byte between, the first key
        below and how many there are (``kernels.keys``).
    """
    texts = b"".join([text for text, _ in keys])
    ends = accumulate([len(text) for text, _ in keys], initial=0)
    offsets = np.array([*ends], np.int32)
    codes = np.array([code for _, code in keys], np.int32)
    first = tables.n_states
    room = min(tables.max_states - first, len(texts) + 1)
    if body is None:
        tables.clear(first + room)
    places = np.empty((room + 1, kernel.PLACE), np.int32)
    inside = body or _NO_BODY
    free = kernel.insert_keys(
        tables.record.words,
        np.frombuffer(bytearray(texts), np.uint8),
        offsets,
        codes,
        inside.calls,
        places.reshape(-1),
        root,
        first << tables.shift,
        inside.state,
        inside.first,
        inside.back,
    )
    if free < 0:
        for array in (tables.actions[first:], tables.roots[first:], tables.models[2 * first :]):
            array[:] = 0
        tables.new_states(room + 1)
    tables.n_states = int(free) >> tables.shift
    if body is not None:
        tables.skip_clearing(tables.n_states)  # every row was written as a whole
    if body is not None and body.back == 0:
        tables.roots[first : tables.n_states] = layout.WALKED
    return first << tables.shift, places[: tables.n_states - first]


def guard_keys(tables: Tables, root: int, places: I32, bits: list[int]) -> None:
    """Have branches of a trie taken only by a step, which knows if a key behind may still come.

    ``root`` and ``places`` are those of `insert_keys`, and the keys those of a plain object, given
    by their bits (``kernels.registers``).
    """
    words, flat, keys = tables.record.words, places.reshape(-1), np.array(bits, np.int64)
    n = int(kernel.guard_keys(words, flat, keys, root, 0, 0))
    symbol, program = tables.registers.new_symbols(n).start, tables.new_programs(n)
    kernel.guard_keys(words, flat, keys, root, symbol, program)


def prune_keys(tables: Tables, root: int, places: I32) -> int:
    """Cut off what leads nowhere in a trie that was just made; its root, or 0 if that does."""
    return int(kernel.prune_keys(tables.record.words, places.reshape(-1), root))


def copy_state(tables: Tables, state: int) -> int:
    """A new state that does all that another one does."""
    copy = tables.new_states(1)
    old, new = state >> tables.shift, copy >> tables.shift
    tables.actions[new] = tables.actions[old]
    tables.models[2 * new : 2 * new + 2] = tables.models[2 * old : 2 * old + 2]
    tables.roots[new] = tables.roots[old]
    return copy


def falling_state(tables: Tables, inside: int, body: KeyBody) -> int:
    """A new state from which every byte goes on in a string body, of which ``inside`` is."""
    state = tables.new_states(1)
    call = int(body.calls[(inside - body.first) >> tables.shift])
    tables.row(state)[:] = np.where(tables.row(inside) != 0, call, 0)
    at = state >> tables.shift
    tables.models[2 * at : 2 * at + 2] = inside, body.back
    tables.roots[at] = layout.MODELLED
    return state
