"""The table of what ``peers/run.py`` recorded."""

from __future__ import annotations

import statistics
from typing import Any

NAMES = {"json": "JSON", "sql": "SQL", "c": "C"}
_HEAD = (
    "| texts | engine | compile + first mask, ms | mask, us: mean | p50 | p90 | p99 | p99.9 | max "
    "| accept, us: mean | p50 | masks again, us: mean | p99.9 | texts accepted |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: "
    "| ---: |"
)


def turns_of(record: dict[str, Any], name: str, engine: str) -> list[dict[str, Any]]:
    """What an engine did with a set, each turn."""
    return [w for w in record["walks"] if (w["set"], w["engine"]) == (name, engine)]


def median(turns: list[dict[str, Any]], number: int, kind: str, figure: str) -> float:
    """The median over the turns of a figure of one pass."""
    return statistics.median(turn["passes"][number][kind][figure] for turn in turns)


def row(record: dict[str, Any], name: str, engine: str) -> str:
    """A line of the table."""
    turns = turns_of(record, name, engine)
    start = f"| {NAMES[name]} | {engine} |"
    if "refused" in turns[0]:
        return f"{start} refused: {turns[0]['refused'][:60]} |" + " |" * 11
    if not turns[0]["passes"]:
        return f"{start} no first mask in {record['patience']:.0f} s |" + " |" * 11
    cells = [statistics.median(turn["first_mask_ms"] for turn in turns)]
    cells += [median(turns, 0, "mask", f) for f in ("mean", "p50", "p90", "p99", "p99.9", "max")]
    cells += [median(turns, 0, "accept", f) for f in ("mean", "p50")]
    shown = [f"{cell:,.0f}" if cell >= 1000 else f"{cell:.3g}" for cell in cells]
    if len(turns[0]["passes"]) > 1:
        shown += [f"{median(turns, 1, 'mask', figure):.3g}" for figure in ("mean", "p99.9")]
    else:
        shown += ["", ""]
    whole = f"{turns[0]['passes'][0]['whole']} of {turns[0]['texts']}"
    if "over_limit" in turns[0]:
        whole += f" in {record['seconds']:.0f} s"
    return f"{start} {' | '.join(shown)} | {whole} |"


def ratios(record: dict[str, Any]) -> str:
    """How many times faster fastmask is than the better peer, by set."""
    said = []
    for name in dict.fromkeys(walk["set"] for walk in record["walks"]):
        own = turns_of(record, name, "fastmask")
        if not own:
            continue
        parts = []
        for figure, words in (("mean", "on average"), ("p99.9", "at p99.9")):
            peers = [
                median(turns_of(record, name, engine), 0, "mask", figure)
                for engine in record["versions"]
                if engine != "fastmask"
                and all(turn.get("passes") for turn in turns_of(record, name, engine))
            ]
            if peers:
                parts.append(f"{min(peers) / median(own, 0, 'mask', figure):.3g} times {words}")
        said.append(f"{NAMES[name]}: {', '.join(parts)}")
    return "; ".join(said)


def table(record: dict[str, Any]) -> str:
    """The table, and what it says in a sentence."""
    sets = dict.fromkeys(walk["set"] for walk in record["walks"])
    lines = [row(record, name, engine) for name in sets for engine in record["versions"]]
    return (
        "First masks of a matcher over each text, in texts' order, by one compiled grammar that "
        f"begins with nothing known; medians of {record['turns']} turns, engine after engine. "
        "Where an engine refuses a text its figures are of the tokens it reached.\n\n"
        f"{_HEAD}\n" + "\n".join(lines) + "\n\nfastmask against the better peer in each figure, "
        f"first masks: {ratios(record)}."
    )
