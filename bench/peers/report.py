"""Put the records of `run.py` side by side: ``python bench/peers/report.py [FOLDER]``.

Times are microseconds of the first pass, rows not known before included, unless the row says second
pass. Where an engine refuses a text, its figures are over the tokens it reached.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

RECORDS = Path(__file__).resolve().parents[1] / "record" / "peers"
HEAD = (
    "| set | engine | compile + first mask | mask mean | p50 | p90 | p99 | p99.9 | max "
    "| accept mean | p50 | texts taken |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def load(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a record says about itself, and its times."""
    with np.load(path) as arrays:
        about = json.loads(arrays["about"].tobytes())
        return about, {name: arrays[name] for name in arrays.files if name != "about"}


def row(about: dict[str, Any], arrays: dict[str, np.ndarray], number: int) -> str:
    """A line of the table: one pass over all cases of a set."""
    engine = " ".join(filter(None, (about["engine"], about["variant"])))
    taken = [case for case in about["cases"] if "error" not in case]
    if not taken:
        return (
            f"| {about['set']} | {engine} | refused: {about['cases'][0]['error'][:60]} |" + " |" * 9
        )
    masks, accepts = (
        np.concatenate([arrays[f"{case['case']}/{kind}_ns_{number}"] for case in taken]) / 1_000
        for kind in ("mask", "accept")
    )
    compiled = np.median([case["compile_and_first_mask_s"] for case in taken]) * 1_000
    texts = sum(len(case["text_bytes"]) for case in about["cases"])
    whole = sum(case["refused"].count(-1) for case in taken)
    quantiles = np.quantile(masks, [0.5, 0.9, 0.99, 0.999, 1])
    cells = [masks.mean(), *quantiles, accepts.mean(), np.median(accepts)]
    times = " | ".join(f"{cell:.3g}" for cell in cells)
    label = engine if number == 0 else f"{engine}, second pass"
    return f"| {about['set']} | {label} | {compiled:.3g} ms | {times} | {whole} / {texts} |"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    print(HEAD)
    for path in sorted(folder.glob("*.npz")):
        about, arrays = load(path)
        print(row(about, arrays, 0))
        print(row(about, arrays, 1))


if __name__ == "__main__":
    main()
