"""What the lesson says should come out with seed 0, as far as it says it, and the comparison."""

from __future__ import annotations

from typing import Any

from .. import toy
from .figures import CHOICES, INTEGER

__all__ = ["EXPECTED", "differences"]

EXPECTED: dict[str, Any] = {
    "chance_all_valid": {"10": 0.817, "100": 0.133},
    "mask_step": {"before": [0.579, 0.213, 0.129, 0.078], "after": [0, 0, 0.622, 0.378]},
    "validity": [
        {
            "task": task,
            "constrained": constrained,
            "valid": valid,
            "chatter": chatter,
            "broken": broken,
            "cut_off": cut_off,
        }
        for task, constrained, valid, chatter, broken, cut_off in (
            ("age", False, 133, 37, 30, 0),
            ("age", True, 200, 0, 0, 0),
            ("person", False, 36, 41, 123, 0),
            ("person", True, 195, 0, 0, 5),
        )
    ],
    "dfa_states": {
        CHOICES: {"subset": 8, "minimal": 6},
        INTEGER: {"subset": 3, "minimal": 3},
        toy.AGE_PATTERN: {"subset": 11, "minimal": 11},
    },
    "allowed_tokens": {
        "": ["c", "d", "ca", "cat", "do", "dog"],
        "ca": ["t", "r"],
        "dog": ["END"],
    },
    "mask_table_shape": [11, 83],
    "first_step": {"{": [0.78, 1.0], "Sure": [0.19, 0]},
    "open_containers": ["object", "array", "object"],
    "prefix_status": {
        '{"na': "open",
        '{"nx': "dead",
        '{"name": "Ada"}': "dead",
        '{"age": 3.': "dead",
        '{"age": 01': "dead",
        '{"pets": ["x': "dead",
        '{"name": "Ada", "age": 36}': "complete",
    },
    "forced_choice": {"3": 0.60, "5": 0.40, "removed": 0.80},
    "distortion": {"own": {"Ay": 0.091, "By": 0.909}, "masked": {"Ay": 0.9, "By": 0.1}},
    "tokenizations": {"42": 2, "age": 16, "person": 1536},
    "mask_cost": {
        "naive": 102_400_000,
        "table": 51_200_000,
        "naive_ten": 1_024_000_000,
        "table_ten": 281_600_000,
    },
    "retry": {"attempts_age": 1.50, "all_three_fail": 0.0376, "attempts_person": 5.56},
    "json_mode": {"finished": 47, "cut_off": 3, "most_common": [[toy.NO_AGE_REFERENCE, 44]]},
    "invented_age": {"finished": 37, "cut_off": 13, "ages": [9700]},
    "nullable_age": {"removed_before": 0.80, "removed_after": 0},
    "payment": {"refused_at_byte": 12},
}


def differences(measured: Any, expected: Any, place: str = "") -> list[str]:
    """Where a measured figure is not the expected one.

    Numbers are equal if they round to the same at the decimals that are given, at least two. What
    is measured may hold more than what is expected: more keys, more items at the end of a list.
    """
    if isinstance(expected, dict):
        found = []
        for key, value in expected.items():
            if key not in measured:
                found.append(f"{place}[{key!r}] is missing")
            else:
                found += differences(measured[key], value, f"{place}[{key!r}]")
        return found
    if isinstance(expected, list):
        if len(measured) < len(expected):
            return [f"{place} has {len(measured)} items, not {len(expected)}"]
        pairs = zip(measured, expected, strict=False)
        return [d for i, (m, e) in enumerate(pairs) for d in differences(m, e, f"{place}[{i}]")]
    if isinstance(expected, float):
        decimals = max(2, len(repr(expected).partition(".")[2]))
        same = round(measured, decimals) == round(expected, decimals)
    else:
        same = measured == expected
    return [] if same else [f"{place} is {measured!r}, not {expected!r}"]
