"""Tables and a picture of what ``peers/maskbench.py`` recorded."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastmask.benchmarking.plots import save
from fastmask.benchmarking.records import decoded, spread

COMPLETE = -1  # a text that was accepted whole, as peers/worker.py writes it
#: Engines whose common schemas make a table of their own: those that compile most of them.
WIDE = ("fastmask", "llguidance", "xgrammar")
_QUANTILES = ("p50", "mean", "p99", "p99.9", "max")


@dataclass
class Record:
    """What one engine did; times in nanoseconds, in the order of schemas and texts."""

    about: dict[str, Any]
    masks: np.ndarray
    accepts: np.ndarray
    counts: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Record:
        with np.load(path) as arrays:
            about = json.loads(arrays["about"].tobytes())
            masks, accepts = decoded(arrays["masks"]), decoded(arrays["accepts"])
            return cls(about, masks, accepts, arrays["counts"])

    @property
    def engine(self) -> str:
        return self.about["engine"]

    @property
    def measured(self) -> set[str]:
        """Names of schemas that were compiled and taken to the end."""
        return {row["name"] for row in self.about["schemas"] if row["status"] == "ok"}

    def times(self, names: Collection[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Microseconds of masks and acceptances, milliseconds to the first mask, of schemas."""
        mask_parts, accept_parts, first = [], [], []
        text = mask = accept = 0
        for row in self.about["schemas"]:
            n_texts = len(row.get("verdicts", ()))
            n_masks, n_accepts = self.counts[text : text + n_texts].sum(axis=0, dtype=int)
            if row["name"] in names and "first_mask_ns" in row:
                mask_parts.append(self.masks[mask : mask + n_masks])
                accept_parts.append(self.accepts[accept : accept + n_accepts])
                first.append(row["first_mask_ns"] / 1e6)
            text, mask, accept = text + n_texts, mask + n_masks, accept + n_accepts
        nothing = [np.zeros(0)]
        return (
            np.concatenate(mask_parts or nothing) / 1e3,
            np.concatenate(accept_parts or nothing) / 1e3,
            np.array(first),
        )

    def outcome(self) -> dict[str, int]:
        """How many schemas and tests ended how."""
        found = dict.fromkeys(
            ("schemas", "compiled", "refused", "limits", "failed", "passed"), 0
        ) | dict.fromkeys(("tests", "valid_refused", "invalid_accepted", "disagreements"), 0)
        for row in self.about["schemas"]:
            found["schemas"] += 1
            found["refused"] += row["status"] == "refused"
            found["limits"] += row["status"] in ("time", "memory")
            found["failed"] += row["status"] in ("crash", "error")
            found["compiled"] += "first_mask_ns" in row
            pairs = list(zip(row["valid"], row.get("verdicts", ()), strict=False))
            if row["status"] == "time":  # the last text was not decided
                pairs = pairs[:-1]
            found["tests"] += len(pairs)
            wrong = [valid for valid, verdict in pairs if valid != (verdict == COMPLETE)]
            found["valid_refused"] += sum(wrong)
            found["invalid_accepted"] += len(wrong) - sum(wrong)
            found["passed"] += row["status"] == "ok" and not wrong
            found["disagreements"] += row.get("disagreements", 0)
        return found


def load_all(folder: Path) -> list[Record]:
    """All records, fastmask's first."""
    records = [Record.load(path) for path in sorted(folder.glob("*.npz"))]
    return sorted(records, key=lambda record: (record.engine != "fastmask", record.engine))


def far(records: list[Record], engines: tuple[str, ...] | None = None) -> list[Record]:
    """The records of these engines that came to most schemas of the largest sample."""
    sample = max(record.about["sample"] for record in records)
    return [
        record
        for record in records
        if len(record.about["schemas"]) >= 0.7 * sample
        and (engines is None or record.engine.partition("+")[0] in engines)
    ]


def common(records: list[Record], engines: tuple[str, ...] | None = None) -> set[str]:
    """Schemas that all of these engines finish, of those that came to most."""
    chosen = far(records, engines)
    return set.intersection(*(record.measured for record in chosen)) if chosen else set()


def apart(records: list[Record]) -> str:
    """Which engines were not in the run with the largest sample."""
    sample = max(record.about["sample"] for record in records)
    others = [
        f"{r.engine} ({r.about['date']}, {r.about['sample']} schemas, commit {r.about['commit']})"
        for r in records
        if r.about["sample"] < sample
    ]
    return f"\nRun apart, on fewer schemas: {', '.join(others)}." if others else ""


def conditions(records: list[Record]) -> str:
    """On what and where all of it was measured."""
    about = records[0].about
    machine = about["machine"]
    versions = sorted(
        {f"{name} {v}" for record in records for name, v in record.about["versions"].items()}
    )
    return (
        f"{about['sample']:,} of the {about['schemas_there']:,} schemas of {about['source']} (seed "
        f"{about['seed']}), {about['vocabulary']} ({about['vocabulary_size']:,} tokens); limits "
        f"{about['seconds_limit']:g} s and {about['memory_limit_bytes'] >> 20:,} MiB a schema, "
        f"{about['budget_s']:g} s an engine; {machine['cpu']}, {machine['cores']} cores, load "
        f"{about['load'][0]:g} at the start; Python {machine['python']}, {', '.join(versions)}; "
        f"{about['date']}, commit {about['commit']}."
    )


def outcomes_table(records: list[Record]) -> str:
    """What became of schemas and tests."""
    lines = [
        "| engine | schemas tried | compiled | refused | over a limit | failed | all tests right "
        "| tests | valid refused | invalid accepted | masks against accept | peak memory, MiB "
        "| ready, MiB | other threads, s |",
        "| --- |" + " ---: |" * 13,
    ]
    for record in records:
        found = record.outcome()
        helpers = sum(row.get("helpers_ns", 0) for row in record.about["schemas"]) / 1e9
        cells = [*found.values(), record.about["peak_bytes"] >> 20]
        cells.append((record.about["ready_bytes"] or 0) >> 20)
        shown = " | ".join(f"{cell:,}" for cell in cells)
        lines.append(f"| {record.engine} | {shown} | {helpers:.1f} |")
    return "\n".join(lines)


def times_table(records: list[Record], names: set[str] | None) -> str:
    """Times over these schemas, or over what each engine compiles."""
    lines = [
        "| engine | schemas | compile + first mask, ms: p50 | mean | p99 | p99.9 | max | masks "
        "| mask, us: p50 | mean | p99 | p99.9 | max | accept, us: p50 | mean | p99 "
        "| mask + accept, us a token |",
        "| --- |" + " ---: |" * 16,
    ]
    for record in records:
        chosen = record.measured if names is None else names
        if not chosen <= record.measured or not chosen:
            continue
        masks, accepts, first = record.times(chosen)
        cells = [f"{len(first):,}", *_shown(first), f"{masks.size:,}", *_shown(masks)]
        cells += _shown(accepts, ("p50", "mean", "p99"))
        cells.append(_three(masks.mean() + accepts.mean()))
        lines.append(f"| {record.engine} | {' | '.join(cells)} |")
    return "\n".join(lines)


def short_table(records: list[Record], names: set[str]) -> str:
    """The few columns of the README."""
    lines = [
        "| engine | schemas with all tests right | valid refused, invalid accepted "
        "| compile + first mask, ms: p50, mean, p99 | mask, us: p50, mean, p99, p99.9, max "
        "| accept, us: p50 | peak memory, MiB |",
        "| --- |" + " ---: |" * 6,
    ]
    for record in records:
        found = record.outcome()
        right = f"{found['passed']:,} of {found['schemas']:,}"
        wrong = f"{found['valid_refused']:,}, {found['invalid_accepted']:,}"
        times = ["", "", ""]
        if names and names <= record.measured:
            masks, accepts, first = record.times(names)
            times = [
                ", ".join(_shown(first, ("p50", "mean", "p99"))),
                ", ".join(_shown(masks)),
                *_shown(accepts, ("p50",)),
            ]
        peak = f"{record.about['peak_bytes'] >> 20:,}"
        lines.append(f"| {record.engine} | {' | '.join([right, wrong, *times, peak])} |")
    return "\n".join(lines)


def draw(records: list[Record], names: set[str], path: Path) -> None:
    """How large a share of masks, and of first masks, takes longer than how long."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, record in enumerate(r for r in records if names <= r.measured):
        masks, _, first = record.times(names)
        for axes, values in ((left, masks), (right, first)):
            ordered = np.sort(values)[::-1]
            shares = (np.arange(ordered.size) + 1) / ordered.size
            axes.loglog(
                ordered,
                shares,
                drawstyle="steps-post",
                label=record.engine,
                color="black" if record.engine == "fastmask" else f"C{place - 1}",
                linewidth=2 if record.engine == "fastmask" else 1.2,
            )
    for axes, title, x_label, y_label in (
        (left, "Masks", "microseconds", "share of masks that take longer"),
        (right, "Compile and first mask", "milliseconds", "share of schemas that take longer"),
    ):
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.grid(which="major", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, fontsize=8)
    figure.suptitle(f"Over the {len(names):,} schemas that these engines all compile")
    save(figure, path)


def _shown(values: np.ndarray, keys: tuple[str, ...] = _QUANTILES) -> list[str]:
    found = spread(values)
    return [_three(found[key]) for key in keys]


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
