"""Grammar-aligned sampling on SmolLM2: how far each way of drawing is from the model's own odds.

For languages small enough to walk, every answer's chance is computed exactly: the model's own odds
among valid answers, those of plain masking, and those with which the aligned sampler draws after so
many answers. ``python bench/aligned_model.py`` writes ``bench/record/aligned_model.json``. Needs
the extra ``demo-model``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np

from fastmask.benchmarking.records import stamp
from fastmask.cli.progress import clear_progress, show_progress
from fastmask.compiler import GrammarCompiler
from fastmask.integrations.llama_cpp import Model
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import AlignedSampler, masked_softmax, sample, sequence_odds, text_of
from fastmask.trial.model import chat_prompt, load

RECORD = Path(__file__).resolve().parent / "record" / "aligned_model.json"
MOMENTS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MAX_TOKENS = 40

#: Name, what is asked, the answers.
LANGUAGES = (
    (
        "words",
        "Is the sea blue? Answer with one word.",
        "(Yes|No|Maybe|Never|Always|Sometimes)[.]",
    ),
    (
        "legs",
        "How many legs has a spider? Answer with a number and a word.",
        "[0-9]{1,2} (legs|eyes)",
    ),
    (
        "pair",
        "Describe an apple by a JSON list of its color and its size from 1 to 9.",
        r'\["(red|green|blue)", [1-9]\]',
    ),
)


def kl(own: dict, drawn: dict) -> float:
    """Kullback-Leibler divergence of the odds of drawing from the model's own, in nats."""
    return sum(p * math.log(p / drawn[ids]) for ids, p in own.items() if p > 0)


def remembered(model):
    """The model with its logits kept: the languages have a few hundred beginnings."""
    known = {}

    def logits(ids):
        key = tuple(ids)
        if key not in known:
            known[key] = model(key).astype(np.float32)
        return known[key]

    return logits


def by_text(odds: dict, vocabulary) -> Counter:
    texts: Counter = Counter()
    for ids, chance in odds.items():
        texts[text_of(ids, vocabulary).decode()] += chance
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    about = stamp()
    llama, vocabulary = load()
    compiler = GrammarCompiler(vocabulary)
    results = []
    for name, question, pattern in LANGUAGES:
        model = remembered(Model(llama, chat_prompt(llama, question)))
        matcher = GrammarMatcher(compiler.compile_regex(pattern), stop_token_ids=[2])
        show_progress(f"{name}: walking every answer")
        own, masked = sequence_odds(
            lambda ids, m=model: masked_softmax(m(ids)), matcher, MAX_TOKENS
        )
        rng = np.random.default_rng(options.seed)
        sampler = AlignedSampler(model, matcher)
        curve = {}
        counts: Counter = Counter()
        for n in range(options.draws + 1):
            if n in MOMENTS or n == options.draws:
                curve[n] = kl(own, sampler.odds(MAX_TOKENS))
                show_progress(f"{name}: {n} draws, KL {curve[n]:.4f}")
            if n < options.draws:
                answer = sampler.sample(rng, MAX_TOKENS)
                if n >= options.draws // 2:
                    counts[answer.text.decode()] += 1
        rng = np.random.default_rng(options.seed)
        plain: Counter = Counter()
        for _ in range(options.draws // 2):
            answer = sample(model, vocabulary, matcher.fork(), rng=rng, max_tokens=MAX_TOKENS)
            plain[answer.text.decode()] += 1
        texts, drawn = by_text(own, vocabulary), sum(counts.values())
        results.append(
            {
                "name": name,
                "question": question,
                "pattern": pattern,
                "answers": len(own),
                "texts": len(texts),
                "valid_share": sampler.valid_share,
                "kl_plain": kl(own, masked),
                "kl_aligned": curve,
                "distance_of_second_half": {
                    "aligned": sum(abs(texts[t] - counts[t] / drawn) for t in texts) / 2,
                    "plain": sum(abs(texts[t] - plain[t] / drawn) for t in texts) / 2,
                },
                "likeliest": {
                    "own": texts.most_common(3),
                    "plain": by_text(masked, vocabulary).most_common(3),
                },
            }
        )
        clear_progress()
        print(json.dumps(results[-1]))
    options.record.parent.mkdir(parents=True, exist_ok=True)
    document = {**about, "draws": options.draws, "seed": options.seed, "languages": results}
    options.record.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
