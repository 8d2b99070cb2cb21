"""Turn what was recorded into tables and pictures: ``python bench/report.py``.

Reads ``bench/record/``, writes ``bench/record/RESULTS.md`` and its pictures, and the README's
section of results. What has not been recorded is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import big_schemas
import mask_profile
import maskbench_figures as maskbench
import peers_figures as peers

from fastmask.benchmarking.plots import draw as draw_record
from fastmask.benchmarking.tables import conditions, short_sweep, table

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "bench" / "record"
RESULTS = RECORDS / "RESULTS.md"
README = ROOT / "README.md"
PARTS = {
    "sweep": "Masks over real vocabularies",
    "curves": "How costs grow",
    "serving": "Many matchers",
    "start": "Starts",
}
BEGIN, END = "<!-- results: written by bench/report.py -->", "<!-- results end -->"


def maskbench_section(draw: bool) -> tuple[str, str]:
    """MaskBench: the full section, and the README's part."""
    records = maskbench.load_all(RECORDS / "maskbench")
    if not records:
        return "", ""
    conditions = maskbench.conditions(records)
    wide = maskbench.common(records, maskbench.WIDE)
    if draw:
        maskbench.draw(records, wide, RECORDS / "maskbench.png")
    names = ", ".join(record.engine for record in maskbench.far(records, maskbench.WIDE))
    parts = [
        "## MaskBench\n",
        conditions,
        "\nWhat became of schemas and tests (a test is wrong where the last mask does not say what"
        " the data's verdict is; schemas past an engine's total of seconds were not tried):\n",
        maskbench.outcomes_table(records),
        maskbench.apart(records),
        "\nOver the schemas that each engine compiles:\n",
        maskbench.times_table(records, None),
        f"\nOver the {len(wide):,} schemas that all of {names} compile, which came to most:\n",
        maskbench.times_table(records, wide),
        "\n![Masks and first masks](maskbench.png)\n",
    ]
    short = [
        f"MaskBench, {conditions}",
        f"Times over the {len(wide):,} schemas that all of {names} compile.\n",
        maskbench.short_table(records, wide),
    ]
    return "\n".join(parts), "\n".join(short)


def bench_section(name: str, title: str, draw: bool) -> str:
    """A part of ``fastmask bench``."""
    path = RECORDS / f"{name}.json"
    if not path.is_file():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    pictures = draw_record(record, RECORDS) if draw else sorted(RECORDS.glob(f"{name}-*.png"))
    shown = "\n".join(f"\n![{picture.stem}]({picture.name})" for picture in pictures)
    return f"\n\n## {title}\n\n{table(record)}\n{shown}\n"


def plain_section(name: str, title: str, shown: Callable[[dict[str, Any]], str]) -> str:
    """A record without pictures."""
    path = RECORDS / f"{name}.json"
    if not path.is_file():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    return f"\n\n## {title}\n\n{conditions(record)}\n\n{shown(record)}\n"


def sections(draw: bool = True) -> tuple[str, str]:
    """The text of RESULTS.md and of the README's section."""
    full, short = maskbench_section(draw)
    full += plain_section("mask_profile", "Where the time of a mask goes", mask_profile.table)
    full += plain_section("peers", "JSON, SQL and C", peers.table)
    full += plain_section("big_schemas", "Big schemas", big_schemas.table)
    for name, title in PARTS.items():
        full += bench_section(name, title, draw)
    path = RECORDS / "sweep.json"
    if path.is_file():
        sweep = json.loads(path.read_text(encoding="utf-8"))
        where = conditions(sweep)
        short += (
            f"\n\nMasks by kind of state, medians (XGrammar makes most as it compiles); {where}"
        )
        short += f"\n\n{short_sweep(sweep)}"
        short += "\n\n![By size of the vocabulary](bench/record/sweep-states.png)"
        short += "\n\nTrying every token, against a table made first, against rows made as they are"
        short += " reached; the crossings in answers:"
        short += "\n\n![Naive against table](bench/record/sweep-crossing.png)"
    return "# Results\n\nWritten by `bench/report.py` from the records beside it.\n\n" + full, short


def main() -> None:
    full, short = sections()
    RESULTS.write_text(full, encoding="utf-8")
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{short}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
