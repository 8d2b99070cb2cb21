"""Run the unit benchmarks, keep what they measured with the machine, and write the README's table.

``python bench/record.py`` measures and writes ``bench/record/units.json`` and the README;
``python bench/record.py --table`` only writes the table again from what was kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fastmask.benchmarking.records import stamp

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench" / "record" / "units.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- units: written by bench/record.py -->", "<!-- units end -->"

#: Rows of the table: what it says, the case, the target in microseconds.
ROWS = (
    ("mask, known row, copied (`fill_next_token_bitmask`)", "test_known_row", 1),
    ("mask, known row, as a view (`next_token_bitmask`)", "test_known_row_as_a_view", None),
    ("mask, first touch of a state, little allowed", "test_first_touch_little_allowed", 8),
    ("mask, first after compiling, little allowed", "test_first_mask[little allowed]", None),
    ("mask, first after compiling, wide open", "test_first_mask[wide open]", 1_500),
    ("mask, every token tried (`naive_mask`)", "test_naive_mask", None),
    ("`accept_token`", "test_accept_token", 0.6),
    ("`fork` after 1,000 tokens", "test_fork", None),
    ("apply to float32 logits, 1 token allowed", "test_apply[1 allowed-float32]", 15),
    ("apply to float32 logits, half allowed", "test_apply[half-float32]", 15),
    ("apply to float32 logits, 96% allowed", "test_apply[96%-float32]", 15),
    ("pattern to first mask", "test_compile_pattern", None),
    ("token trie built", "test_build_trie", 10_000),
    ("vocabulary from `.npz`, trie included", "test_load_vocabulary", 50_000),
    ("`import fastmask` after `import numpy`", "test_import", 350_000),
)


def starts() -> dict[str, float]:
    """Processor seconds of a process that compiles all kernels, and of one that loads them."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FASTMASK_CACHE_DIR": folder}
        seconds = []
        for _ in range(2):
            before = os.times()
            subprocess.run(
                [sys.executable, "-m", "fastmask", "warm-up", "--json"],
                check=True,
                capture_output=True,
                env=environment,
            )
            after = os.times()
            seconds.append(
                after.children_user
                + after.children_system
                - before.children_user
                - before.children_system
            )
    return {"compile_all_kernels": seconds[0], "load_all_kernels": seconds[1]}


def measure() -> dict[str, object]:
    """Run every case of ``bench/test_units.py``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "bench", f"--benchmark-json={path}"],
            cwd=ROOT,
            check=True,
        )
        raw = json.loads(path.read_text())
    cases = {}
    for case in raw["benchmarks"]:
        data = sorted(case["stats"]["data"])
        if "median_seconds" in case["extra_info"]:
            cases[case["name"]] = {"median_us": case["extra_info"]["median_seconds"] * 1e6}
            continue
        cases[case["name"]] = {
            "median_us": case["stats"]["median"] * 1e6,
            "min_us": data[0] * 1e6,
            "p90_us": data[int(len(data) * 0.9)] * 1e6,
            "max_us": data[-1] * 1e6,
            "rounds": len(data),
            "iterations": case["stats"]["iterations"],
        }
    sizes = {case["extra_info"].get("vocabulary_size") for case in raw["benchmarks"]} - {None}
    return {
        **stamp(),
        "vocabulary_size": max(sizes),
        "starts_seconds": starts(),
        "cases": cases,
    }


def table(record: dict[str, object]) -> str:
    """The README's table of a record."""
    about = record["machine"]
    lines = [
        f"{record['vocabulary_size']:,} tokens; {about['cpu']}, {about['cores']} cores; Python "
        f"{about['python']}, NumPy {about['numpy']}, Numba {about['numba']}; {record['date']}. "
        "Medians of calls from Python.",
        "",
        "| what | median | target |",
        "| --- | ---: | ---: |",
    ]
    for what, case, target in ROWS:
        median = record["cases"][case]["median_us"]
        missed = target is not None and median > target
        goal = "" if target is None else f"{_time(target)}{' (missed)' if missed else ''}"
        lines.append(f"| {what} | {_time(median)} | {goal} |")
    seconds = record["starts_seconds"]
    lines += [
        "",
        f"Compiling all kernels, once on a machine: {seconds['compile_all_kernels']:.0f} s of one "
        f"core. Loading them, once in a process: {seconds['load_all_kernels']:.2f} s with all "
        "imports.",
    ]
    return "\n".join(lines)


def _time(microseconds: float) -> str:
    if microseconds < 1_000:
        return f"{microseconds:.3g} us"
    return f"{microseconds / 1_000:.3g} ms"


def write_readme(record: dict[str, object]) -> None:
    """Put the table between its marks."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{table(record)}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only write the table again")
    if not parser.parse_args().table:
        RECORD.write_text(json.dumps(measure(), indent=1) + "\n")
    write_readme(json.loads(RECORD.read_text()))


if __name__ == "__main__":
    main()
