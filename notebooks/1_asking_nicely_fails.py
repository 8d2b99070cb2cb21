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
# # 1. Asking nicely fails
#
# A language model writes text piece by piece. At each step it gives every piece it knows, every
# *token*, a score, and the next token is drawn by these scores. If a program is to read what comes
# out, the whole text has to be right to the last character. This notebook shows how often that
# works when a model is only asked for it.
#
# The model is a toy, so that everything can be checked: it knows 83 tokens and one text that it
# wants to write. It has two weaknesses. It likes to chat first, and its scores are noisy.

# %%
import json

import matplotlib.pyplot as plt
import numpy as np

from fastmask import toy
from fastmask.sampling import (
    chance_all_valid,
    count_outcomes,
    expected_attempts,
    masked_softmax,
    retry,
    sample,
)

print(len(toy.TOKENS), "tokens:", " ".join(repr(token) for token in toy.TOKENS))

# %% [markdown]
# ## One step
#
# The text to be written is `{"age": 42}`. Scores (*logits*) become chances by `exp(score)`, divided
# by the sum of all of them. Before anything is written, these are the likeliest tokens:

# %%
model = toy.ToyModel(toy.AGE_REFERENCE)
chances = masked_softmax(model.logits("", np.random.default_rng(0)))
likeliest = np.argsort(-chances)[:6]

figure, axes = plt.subplots(figsize=(7, 3))
axes.bar([repr(toy.TOKENS[i]) for i in likeliest], chances[likeliest], color="#3b6fb6")
axes.set_ylabel("chance")
axes.set_title("The first token")
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# About one answer in five begins with `Sure`, and everything after that is lost.
#
# ## Two hundred answers
#
# We draw 200 answers and sort them: *valid*; *chatter*, which does not even start with a brace;
# *broken*, which does and goes wrong later. The second task is longer: a person with a name, an age
# and a list of pets.


# %%
def answers(reference, number=200, seed=0):
    rng = np.random.default_rng(seed)
    model = toy.ToyModel(reference).on_tokens(rng)
    return [sample(model, toy.VOCABULARY, rng=rng, max_tokens=40) for _ in range(number)]


def is_age(text):
    digits = text.removeprefix('{"age": ').removesuffix("}")
    return text == f'{{"age": {digits}}}' and digits.isdecimal() and digits.isascii()


found = answers(toy.AGE_REFERENCE)
age = count_outcomes(found, is_age)
print(age)
for answer in found[:12]:
    text = answer.text.decode()
    print("   valid" if is_age(text) else "NOT     ", repr(text))

# %% [markdown]
# Two in three are valid. The person is four times as long:


# %%
def is_person(text):
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return (
        isinstance(value, dict)
        and {"name", "age"} <= set(value) <= {"name", "age", "pets"}
        and isinstance(value["name"], str)
        and type(value["age"]) is int
        and isinstance(value.get("pets", []), list)
        and all(pet in ("cat", "dog") for pet in value.get("pets", []))
    )


found = answers(toy.PERSON_REFERENCE)
person = count_outcomes(found, is_person)
print(person)
for answer in found[:6]:
    text = answer.text.decode()
    print("   valid" if is_person(text) else "NOT     ", repr(text))

# %%
figure, axes = plt.subplots(figsize=(7, 2.6))
left = np.zeros(2)
for kind, color in (("valid", "#4c9f70"), ("chatter", "#e08e2b"), ("broken", "#c0392b")):
    counts = np.array([getattr(age, kind), getattr(person, kind)])
    bars = axes.barh(["age", "person"], counts, left=left, color=color, label=kind)
    axes.bar_label(bars, label_type="center", color="white")
    left += counts
axes.invert_yaxis()
axes.set_xlabel("answers of 200")
axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Why: many small chances multiply
#
# If each token is right with chance *p*, all *n* of them are with chance *p* to the power *n*. A
# model that errs in one token of fifty gets ten tokens right four times in five, and a hundred once
# in seven.

# %%
n = np.arange(1, 501)
figure, axes = plt.subplots(figsize=(7, 3.5))
for p in (0.999, 0.99, 0.98, 0.95):
    axes.plot(n, [chance_all_valid(p, int(k)) for k in n], label=f"p = {p}")
axes.set_xlabel("tokens of the answer, n")
axes.set_ylabel("chance that all are right")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
print("p = 0.98:", *(f"{k} tokens {chance_all_valid(0.98, k):.3f}" for k in (10, 100)))

# %% [markdown]
# ## Asking again
#
# One can look at each answer and ask again if it is wrong. If an answer is valid with chance *p*,
# that takes 1 / *p* tries on average: here one and a half for the age, five and a half for the
# person, and there is no number of tries after which it must have worked.

# %%
for name, outcomes in (("age", age), ("person", person)):
    p = outcomes.valid / 200
    print(f"{name}: valid with chance {p:.3f}, {expected_attempts(p):.2f} tries on average")

rng = np.random.default_rng(0)
model = toy.ToyModel(toy.PERSON_REFERENCE).on_tokens(rng)
result = retry(
    lambda refused: sample(model, toy.VOCABULARY, rng=rng, max_tokens=40).text.decode(),
    lambda text: None if is_person(text) else "this is no person",
    attempts=20,
)
for attempt in result.refused:
    print("refused:", repr(attempt.answer))
print("valid:  ", repr(result.answer))

# %% [markdown]
# Each try costs a whole answer. The next notebook makes wrong tokens impossible instead.
