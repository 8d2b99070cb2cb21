"""Records as tables in Markdown: legible as they are, and where Markdown is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .clock import growth_exponent
from .curves import MEASURES, exponents, value

__all__ = ["batch_growth", "conditions", "growth_table", "short_sweep", "table"]


def table(record: dict[str, Any]) -> str:
    """All tables of a record of the sweep, the curves, the server or the starts."""
    makers: dict[str, Callable[[dict[str, Any]], str]] = {
        "sweep": _sweep,
        "curves": _curves,
        "serving": _serving,
        "start": _starts,
    }
    return f"{conditions(record)}\n\n{makers[record['what']](record)}"


def conditions(record: dict[str, Any]) -> str:
    """Where and when, in a sentence."""
    machine = record["machine"]
    versions = sorted(
        {f"{n} {v}" for found in record["versions"].values() for n, v in found.items()}
    )
    return (
        f"{machine['cpu']}, {machine['cores']} cores, load {record['load'][0]:g} at the start; "
        f"Python {machine['python']}, {', '.join(versions)}; {record['date']}, commit "
        f"{record['commit']}{'' if record['full'] else '; a short run'}."
    )


def _sweep(record: dict[str, Any]) -> str:
    naive = [
        [
            row["vocabulary"],
            row["pattern"],
            f"{row['states']} / {row['masks']}",
            *[shown(row[k]) for k in ("naive", "table_by_naive", "table", "read", "split")],
            *[f"{row[key]:.2g}" for key in ("crossing_by_naive", "crossing")],
        ]
        for row in record["naive"]
    ]
    head = ["vocabulary", "pattern", "states / masks", "naive", "table, naively", "table, by trie"]
    head += ["table read", "as reached", "crossing, naively", "crossing, by trie"]
    parts = [
        "One answer's masks: every token tried at each step; a table of all states made first, by"
        " trying every token or by walking the trie, and read from; rows made as the text reaches"
        " them. From so many answers a table made first is cheaper than none (crossing):\n",
        _markdown(head, naive),
    ]
    for name in dict.fromkeys(row["vocabulary"] for row in record["masks"]):
        rows = [row for row in record["masks"] if row["vocabulary"] == name]
        lines = []
        for row in rows:
            if "error" in row:
                lines.append([row["state"], row["engine"], row["error"][:40], *[""] * 5])
                continue
            lines.append(
                [
                    row["state"],
                    row["engine"],
                    f"{row['allowed']:,}",
                    *[
                        shown(row[key]["p50"])
                        for key in ("compile_and_first_mask", "first_touch", "again", "accept")
                    ],
                    shown(row["naive"]["p50"]) if row["naive"]["n"] else "",
                ]
            )
        head = ["state", "engine", "allowed", "compile + first mask", "first touch", "again"]
        parts += [
            f"\n{name}, medians:\n",
            _markdown([*head, "accept", "every token tried"], sorted(lines)),
        ]
    applied = [
        [row["vocabulary"], row["engine"], row["kind"], shown(row["apply"]["p50"])]
        for row in record["apply"]
    ]
    parts += [
        "\nA mask onto one row of float32 logits:\n",
        _markdown(["vocabulary", "engine", "mask", "median"], applied),
    ]
    return "\n".join(parts)


def short_sweep(record: dict[str, Any]) -> str:
    """By kind of state, each engine's first touch and repeated mask, on one vocabulary."""
    sizes = {row["size"]: row["vocabulary"] for row in record["masks"]}
    size = min(sizes, key=lambda n: abs(n - 128_000))
    engines = list(record["versions"])
    cells = {
        (row["state"], row["engine"]): f"{shown(row['first_touch']['p50'])}, "
        f"{shown(row['again']['p50'])}"
        for row in record["masks"]
        if row["size"] == size and "again" in row
    }
    states = dict.fromkeys(row["state"] for row in record["masks"])
    lines = [
        [state, *[cells.get((state, name), "refused") for name in engines]] for state in states
    ]
    head = [f"{sizes[size]}: first touch, again", *engines]
    return _markdown(head, lines)


def growth_table(record: dict[str, Any]) -> str:
    """The exponent of growth by axis and engine."""
    growth = exponents(record)
    axes = dict.fromkeys(point["axis"] for point in record["points"])
    engines = list(record["versions"])
    lines = []
    for axis in axes:
        for engine in engines:
            cells = []
            for measure in MEASURES:
                power = growth.get((axis, engine, measure))
                cells.append("" if power is None else f"{power:.2f}")
            if any(cells):
                lines.append([axis, engine, *cells])
    return _markdown(["cost ~ size^p", "engine", *MEASURES.values()], lines)


def _curves(record: dict[str, Any]) -> str:
    lines = []
    for point in record["points"]:
        if "error" in point:
            times = [point["error"][:40], *[""] * len(MEASURES)]
        else:
            times = [shown(value(point, measure)) for measure in MEASURES]
            times.append(shown(point["mask"]["max"]))
        lines.append([point["axis"], f"{point['x']:,}", point["engine"], *times])
    lines.sort(key=lambda line: (line[0], int(line[1].replace(",", "")), line[2]))
    head = ["axis", "size", "engine", *MEASURES.values(), "mask, longest"]
    return f"{growth_table(record)}\n\n{_markdown(head, lines)}"


def batch_growth(record: dict[str, Any]) -> dict[str, float]:
    """The exponent of a batch call's time against the number of matchers, one thread, by engine."""
    found = {}
    for engine in record["versions"]:
        rows = [
            row
            for row in record["batches"]
            if (row["engine"], row["threads"]) == (engine, 1) and "a_row" in row
        ]
        sizes = [row["size"] for row in rows]
        power = growth_exponent(sizes, [row["size"] * row["a_row"]["p50"] for row in rows])
        if power is not None:
            found[engine] = power
    return found


def _serving(record: dict[str, Any]) -> str:
    batches = [
        [
            row["engine"],
            f"{row['threads']}",
            f"{row['size']:,}",
            *(
                [shown(row["a_row"][key]) for key in ("p50", "mean", "p99")]
                if "a_row" in row
                else [row["error"], "", ""]
            ),
        ]
        for row in record["batches"]
    ]
    parts = [
        "Filling a batch of mixed schemas, time a row:\n",
        _markdown(["engine", "threads", "matchers", "p50", "mean", "p99"], batches),
    ]
    growth = batch_growth(record)
    if growth:
        parts += [
            "\nA call's time grows as matchers^p, over the larger half: "
            + ", ".join(f"{name} {power:.2f}" for name, power in growth.items())
            + "."
        ]
    if record.get("side_by_side"):
        side_by_side = [
            [
                f"{row['size']:,}",
                *(shown(row[key]) for key in ("one_thread", "two_threads")),
                f"{row['gain']:.2f}",
                f"{row['processor_gain']:.2f}",
            ]
            for row in record["side_by_side"]
        ]
        parts += [
            "\nTwo batches by fastmask, each with matchers and a bitmask of its own, one after the"
            " other or on two threads; time a row, and what two threads gain by the clock, and by"
            " processor time (waits left out):\n",
            _markdown(
                ["matchers", "one thread", "two threads", "gain", "by processor time"],
                side_by_side,
            ),
        ]
    if record["ahead"]:
        ahead = [
            [f"{row['size']:,}", *[f"{row[key]:.2f} ms" for key in ("model", "after", "ahead")]]
            for row in record["ahead"]
        ]
        parts += [
            "\nA step of a model of 5 ms, masks made behind it or while it works (medians):\n",
            _markdown(["matchers", "model alone", "masks after", "masks ahead"], ahead),
        ]
    if "memory" in record:
        memory = record["memory"]
        schemas = memory["schemas"]
        lines = [
            [f"vocabulary of {record['vocabulary_size']:,} tokens", size(memory["vocabulary"])],
            [
                "compiled schema, median",
                size(sorted(s["compiled"] for s in schemas)[len(schemas) // 2]),
            ],
            ["compiled schema, largest", size(max(s["compiled"] for s in schemas))],
            ["and after its text, largest", size(max(s["after_its_text"] for s in schemas))],
            *([["any JSON, after many texts", size(memory["json"])]] if "json" in memory else []),
            ["matcher", size(memory["matcher"])],
            ["matcher, and each 1,000 tokens", size(memory["matcher_per_1000_tokens"])],
        ]
        parts += ["\nMemory:\n", _markdown(["what", "bytes"], lines)]
    return "\n".join(parts)


def _starts(record: dict[str, Any]) -> str:
    parts = (
        "read_file",
        "import",
        "vocabulary",
        "compile",
        "first_mask",
        "to_first_mask",
        "process",
    )
    lines = []
    kinds = dict.fromkeys((row["engine"], row["kind"]) for row in record["starts"])
    for engine, kind in kinds:
        rows = [r for r in record["starts"] if (r["engine"], r["kind"]) == (engine, kind)]
        medians = [sorted(row[part] for row in rows)[len(rows) // 2] for part in parts]
        lines.append([engine, kind, f"{len(rows)}", *[shown(1e9 * second) for second in medians]])
    head = ["engine", "process", "starts", "read file", "import", "vocabulary", "compile"]
    return _markdown([*head, "first mask", "import to first mask", "whole process"], lines)


def shown(nanoseconds: float) -> str:
    """A time in a unit that suits it."""
    for unit, factor in (("us", 1e3), ("ms", 1e6)):
        if nanoseconds < 999.5 * factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def size(n_bytes: float) -> str:
    """Bytes in a unit that suits them."""
    return f"{n_bytes:,.0f} B" if n_bytes < 10_000 else f"{n_bytes / 1e6:,.3g} MB"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns in line: the first two to the left, the others to the right."""
    rows = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rules = [("-" * w if i < 2 else "-" * (w - 1) + ":") for i, w in enumerate(widths)]
    return "\n".join([lines[0], f"| {' | '.join(rules)} |", *lines[1:]])
