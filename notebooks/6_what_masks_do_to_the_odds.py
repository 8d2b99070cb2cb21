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
# # 6. What masks do to the odds
#
# A mask never lets an invalid text through, and never stops a valid one. But the *odds* between
# valid texts are no longer the model's own. This notebook shows how far off they can be, and a
# sampler that gets them right.
#
# ## Two steps
#
# A model writes `A` or `B`, then `x` or `y`. We only want answers that end in `y`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import fastmask as fm
from fastmask import toy
from fastmask.sampling import AlignedSampler, count_spellings, sample, sequence_odds, spellings

tokens = ["A", "B", "x", "y", ""]
following = {
    (): [0.9, 0.1, 0, 0, 0],
    (0,): [0, 0, 0.99, 0.01, 0],
    (1,): [0, 0, 0.1, 0.9, 0],
}


def model(ids):
    """Chances of the next token: A, B, x, y, end."""
    return np.array(following.get(tuple(ids), [0, 0, 0, 0, 1.0]))


vocabulary = fm.Vocabulary([token.encode() for token in tokens], eos_token_ids=[4])
compiled = fm.GrammarCompiler(vocabulary).compile_regex("[AB]y")
own, masked = sequence_odds(model, fm.GrammarMatcher(compiled), max_tokens=3)
for name, odds in (("the model's own", own), ("with a mask", masked)):
    print(name, {"".join(tokens[i] for i in ids): round(p, 3) for ids, p in odds.items()})

# %% [markdown]
# The model would write `Ay` with chance 0.9 x 0.01 = 0.009, and `By` with 0.1 x 0.9 = 0.09. So
# among valid answers `By` is ten times as likely. A mask turns that around: at the first step both
# `A` and `B` can still lead to a valid answer, so nothing is taken away, and `A` is drawn nine
# times in ten. At the second step only `y` is left, and the model's dislike of it is forgotten.
#
# A picture of it: the width of a branch is its chance.

# %%
BLUE, ORANGE, GREY = "#3b6fb6", "#e08e2b", "#d0d0d0"
figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for axes, title, weights in (
    (panels[0], "The model left alone", {"Ax": 0.891, "Ay": 0.009, "Bx": 0.01, "By": 0.09}),
    (panels[1], "With a mask", {"Ay": 0.9, "By": 0.1}),
):
    bottom = 0.0
    for name, weight in weights.items():
        color = GREY if name.endswith("x") else BLUE if name == "Ay" else ORANGE
        axes.bar(1, weight, bottom=bottom, color=color, width=0.9)
        if weight > 0.02:
            axes.text(1, bottom + weight / 2, f"{name}  {weight:.3g}", ha="center", va="center")
        bottom += weight
    axes.bar(0, 0.9, color="#f0f0f0", width=0.9)
    axes.bar(0, 0.1, bottom=0.9, color="#e0e0e0", width=0.9)
    axes.text(0, 0.45, "A  0.9", ha="center", va="center")
    axes.text(0, 0.95, "B  0.1", ha="center", va="center")
    axes.set_xticks([0, 1], ["first token", "answer"])
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("chance")

# %% [markdown]
# ## Learning what a beginning is worth
#
# To draw with the right odds one has to know, at `A`, how seldom it ends well: the *expected
# future*, 0.01 for `A` and 0.9 for `B`. It cannot be read off the model without looking ahead. But
# it can be learnt: each answer drawn tells how much of the chance along its way was lost. This is
# grammar-aligned sampling (Park et al. 2024).


# %%
def scores(ids):
    """The model's chances as scores; no chance is minus infinity."""
    with np.errstate(divide="ignore"):
        return np.log(model(ids))


sampler = AlignedSampler(scores, fm.GrammarMatcher(compiled))
rng = np.random.default_rng(0)
shares, bounds, hits = [], [], 0
for number in range(1, 4_001):
    hits += sampler.sample(rng).text == b"Ay"
    shares.append(hits / number)
    bounds.append(sampler.valid_share)

figure, axes = plt.subplots(figsize=(8, 3.5))
axes.semilogx(range(1, 4_001), shares, color="black", label="share of Ay among the answers so far")
axes.axhline(own[0, 3, 4], color=BLUE, linestyle="--", label="the model's own odds")
axes.axhline(masked[0, 3, 4], color=ORANGE, linestyle="--", label="with a mask alone")
axes.set_xlabel("answers drawn")
axes.set_ylim(0, 1)
axes.legend(frameon=False, loc="center right")
axes.spines[["top", "right"]].set_visible(False)
print(f"after 4,000 answers: {shares[-1]:.3f}; the model's own odds: {own[0, 3, 4]:.3f}")
print(f"the model's own chance of a valid answer: {bounds[-1]:.3f} (exactly: 0.099)")

# %% [markdown]
# The first answer is drawn as a mask would draw it. After a few the sampler knows what `A` is
# worth. It pays with memory for the beginnings it has seen, and it needs several answers to one
# prompt.
#
# ## How much is thrown away
#
# The share of the model's belief that a mask takes away at a step tells how much the two odds
# differ. Here is the toy model writing a person without knowing an age, 50 answers, with the mean
# share at each token:

# %%
compiler = fm.GrammarCompiler(toy.VOCABULARY)
person = compiler.compile_json_schema(toy.PERSON_SCHEMA, whitespace="single")
figure, axes = plt.subplots(figsize=(8, 3))
for reference, label, color in (
    (toy.PERSON_REFERENCE, "a model that knows the age", BLUE),
    (toy.NO_AGE_REFERENCE, "a model that does not", ORANGE),
):
    rng = np.random.default_rng(0)
    writer = toy.ToyModel(reference).on_tokens(rng)
    removed = np.full((50, 40), np.nan)
    for row in removed:
        answer = sample(writer, toy.VOCABULARY, fm.GrammarMatcher(person), rng=rng, max_tokens=40)
        row[: len(answer.removed)] = answer.removed
    there = (~np.isnan(removed)).sum(axis=0) >= 10  # ten answers are that long
    axes.plot(np.nanmean(removed[:, there], axis=0), "o-", color=color, markersize=4, label=label)
axes.set_xlabel("token of the answer")
axes.set_ylabel("belief taken away, mean")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Many spellings
#
# There is one more way in which a mask changes the odds. The same text can be spelt with different
# tokens, and a mask allows all of them. A model was trained on the one spelling that its tokenizer
# makes.

# %%
for text in ("42", toy.AGE_REFERENCE, toy.PERSON_REFERENCE):
    print(f"{count_spellings(text.encode(), toy.VOCABULARY):>6,} spellings of {text}")
for ids in list(spellings(toy.AGE_REFERENCE.encode(), toy.VOCABULARY))[:5]:
    print(" | ".join(toy.TOKENS[i] for i in ids))

# %% [markdown]
# With GPT-2's 50,257 tokens there are many more. The longer a text, the more its chance is spread
# over spellings that no tokenizer would have made:

# %%
gpt2 = fm.Vocabulary.gpt2()
texts = [toy.PERSON_REFERENCE[:n] for n in range(1, len(toy.PERSON_REFERENCE) + 1, 3)]
counts = [count_spellings(text.encode(), gpt2) for text in texts]
figure, axes = plt.subplots(figsize=(7, 3))
axes.semilogy([len(text) for text in texts], counts, "o-", color="black", markersize=4)
axes.set_xlabel("characters of the person")
axes.set_ylabel("spellings, GPT-2")
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)
