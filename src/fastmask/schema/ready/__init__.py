"""Automata of formats that take 2 ms to a second to make, as files.

A file holds the table row by row in runs of equal targets: the low bytes of the targets, their high
bytes and the lengths, compressed, and the automaton's digest; 1 to 45 KB each. The tests make every
automaton anew and compare it with its file; `packed` writes one.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from ...automata import Arrays, Dfa

__all__ = ["READY", "packed", "ready"]

#: Names of the automata: of a format, or of the texts that spell its strings in the usual way.
READY = (
    *("idn-email", "idn-hostname", "regex", "regex-texts"),
    *("date-time", "date-time-texts", "time", "time-texts"),
    *("email", "email-texts", "hostname", "hostname-texts", "ipv6", "ipv6-texts"),
    *("uri", "uri-texts", "uri-reference", "uri-reference-texts"),
    *("iri", "iri-texts", "iri-reference", "iri-reference-texts"),
)

_LONGEST_RUN = 255


def packed(dfa: Dfa) -> bytes:
    """The content of the file of an automaton (of fewer than 65,536 states)."""
    import lzma

    cells = dfa.table.reshape(-1)
    begins = np.flatnonzero(np.diff(cells, prepend=-1))
    lengths = np.diff(begins, append=len(cells))
    parts = -(-lengths // _LONGEST_RUN)
    targets = np.repeat(cells[begins], parts)
    runs = np.full(len(targets), _LONGEST_RUN)
    runs[np.cumsum(parts) - 1] = lengths - _LONGEST_RUN * (parts - 1)
    sizes = np.array([*dfa.table.shape, len(runs)], "<i4")
    planes = (dfa.classes, dfa.labels, targets & 0xFF, targets >> 8, runs)
    content = sizes.tobytes() + b"".join(plane.astype(np.uint8).tobytes() for plane in planes)
    return lzma.compress(content + bytes.fromhex(dfa.digest()), preset=9)


def ready(name: str) -> Dfa | None:
    """The automaton of a name, or None if there is no file of it.

    None too where Python was built without the module that decompresses it.
    """
    if name not in READY:
        return None
    try:
        import lzma
    except ImportError:
        return None
    packed = resources.files(__name__).joinpath(f"{name}.xz").read_bytes()
    content = np.frombuffer(lzma.decompress(packed), np.uint8)
    n_states, n_columns, n_runs = content[:12].view("<i4").tolist()
    classes, labels, low, high, runs, digest = np.split(
        content[12:], np.cumsum([256, n_states, n_runs, n_runs, n_runs])
    )
    targets = low.astype(np.int32) | high.astype(np.int32) << 8
    table = np.repeat(targets, runs).reshape(n_states, n_columns)
    arrays = Arrays(classes.copy(), table, 1, labels.astype(np.int32), n_states - 1)
    return Dfa.of_minimal(arrays, digest.tobytes().hex())
