"""Which tokens need no look at the stack: counts by state."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fastmask as fm
from fastmask.kernels import layout

BRACKETS = 'root ::= "[" root "]" | "(" root ")" | "x"'
TOKENS = [b"x", b"[", b"(", b"]", b")", b"])", b"x]", b"[x", b"[)", b"y", b""]
VOCABULARY = fm.Vocabulary(TOKENS, eos_token_ids=[10])


def test_counts_by_hand():
    compiled = fm.GrammarCompiler(VOCABULARY).compile_gbnf(BRACKETS)
    matcher = fm.GrammarMatcher(compiled)
    # x [ ( and [x whatever lies below; x] if a bracket does; ] ) ]) [) y and the end never.
    (start,) = compiled.context_counts()
    assert start[2:] == (4, 6, 1)
    assert start.rule == "root"
    assert matcher.accept_bytes(b"[x")
    matcher.next_token_bitmask()
    # Behind the x the frame is left, whatever comes.
    counts = {count[2:] for count in compiled.context_counts()}
    assert counts == {(4, 6, 1), (0, 0, 11)}


@pytest.mark.large
def test_counts_hold_in_all_surroundings():
    """What a state lets through, or refuses, whatever lies below is so wherever it is met."""
    vocabulary = fm.Vocabulary.gpt2()
    compiled = fm.GrammarCompiler(vocabulary).compile_json()
    inner = json.dumps({"key": [1.5, "text", True, {"a": None}]}, indent=1)
    masks: dict[int, list[np.ndarray]] = {}
    for around in ("{}", "[{}]", '{{"k": {}}}', "[[{}, 2], 3]", '{{"k": [{}]}}'):
        matcher = fm.GrammarMatcher(compiled)
        for byte in around.format(inner).encode():
            cells = compiled.arena.record.bound(layout.A_CELLS)
            cell = layout.CELL * int(matcher._words[layout.M_CONFIGURATION])
            assert cells[cell + layout.CELL_NEXT] == layout.NIL
            state = int(cells[cell + layout.CELL_STATE]) >> compiled.tables.shift
            row = np.unpackbits(matcher.next_token_bitmask().view(np.uint8), bitorder="little")
            masks.setdefault(state, []).append(row[: vocabulary.size] != 0)
            assert matcher.accept_bytes(bytes([byte]))
    counts = {count.state: count for count in compiled.context_counts()}
    assert len(masks) > 15
    assert masks.keys() <= counts.keys()
    for state, rows in masks.items():
        count = counts[state]
        assert count.accepted + count.refused + count.dependent == vocabulary.size
        assert count.accepted <= np.logical_and.reduce(rows).sum()
        assert count.refused <= np.logical_not(np.logical_or.reduce(rows)).sum()
    # Inside a string it depends for what may stand behind it alone.
    assert any(c.accepted > 45_000 and c.dependent < 2_000 for c in counts.values())
