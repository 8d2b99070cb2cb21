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
# # 2. Mask, then sample
#
# A model gives every token a score. Before one is drawn, we can take away the tokens that cannot
# lead to a valid text: set their scores to minus infinity. What is left keeps its proportions. This
# is a *mask*, and it is all there is to constrained decoding; the art is in knowing the mask.
#
# ## Four tokens

# %%
import json

import matplotlib.pyplot as plt
import numpy as np

import fastmask as fm
from fastmask import toy
from fastmask.sampling import allowed_ids, count_outcomes, masked_softmax, sample

scores = np.array([2.0, 1.0, 0.5, 0.0])
mask = fm.allocate_token_bitmask(1, 4)
mask[0, 0] = 0b1100  # bit i is token i: only tokens 2 and 3 are allowed
print("before:", masked_softmax(scores).round(3))
print("after: ", masked_softmax(scores, mask).round(3))

# %% [markdown]
# A mask is a row of bits, 32 of them in each integer. For a real vocabulary of 128,000 tokens that
# is 4,000 integers, 16 kB. `apply_token_bitmask_inplace` puts it onto the scores:

# %%
fm.apply_token_bitmask_inplace(scores, mask)
print(scores)

# %% [markdown]
# ## One answer, step by step
#
# The mask comes from a *matcher*. It is made from a pattern and a vocabulary, follows the text, and
# says at each step which tokens may come next.

# %%
compiler = fm.GrammarCompiler(toy.VOCABULARY)
compiled = compiler.compile_regex(toy.AGE_PATTERN)
print("pattern:", toy.AGE_PATTERN)

rng = np.random.default_rng(4)
model = toy.ToyModel(toy.AGE_REFERENCE)
matcher = fm.GrammarMatcher(compiled)
text = ""
while not matcher.is_terminated():
    logits = model.logits(text, rng)
    wanted = toy.TOKENS[int(logits.argmax())] or "END"
    allowed = [toy.TOKENS[i] or "END" for i in matcher.allowed_token_ids()]
    odds = masked_softmax(logits, matcher.next_token_bitmask())
    token = int(rng.choice(odds.size, p=odds))
    matcher.accept_token(token)
    drawn = toy.TOKENS[token] or "END"
    print(f"{text:<12} allowed: {' '.join(allowed)[:44]:<46} wants {wanted!r:<9} drawn {drawn!r}")
    text += toy.TOKENS[token]

# %% [markdown]
# ## What it changes
#
# The first step of the age answer, before and after. `Sure` is gone, and its chance has gone to the
# brace.

# %%
logits = model.logits("", np.random.default_rng(0))
first = fm.GrammarMatcher(compiled).next_token_bitmask()
before, after = masked_softmax(logits), masked_softmax(logits, first)
shown = np.argsort(-before)[:6]
places = np.arange(shown.size)
figure, axes = plt.subplots(figsize=(7, 3))
axes.bar(places - 0.2, before[shown], 0.4, color="#9a9a9a", label="before the mask")
axes.bar(places + 0.2, after[shown], 0.4, color="#3b6fb6", label="after")
axes.set_xticks(places, [repr(toy.TOKENS[i]) for i in shown])
axes.set_ylabel("chance")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Two hundred answers
#
# The same model, the same random numbers, with a mask. For the person the mask comes from a JSON
# Schema; keys may come in any order.

# %%
print(json.dumps(toy.PERSON_SCHEMA, indent=1))
person = compiler.compile_json_schema(toy.PERSON_SCHEMA, whitespace="single")


def is_whole(grammar):
    def check(text):
        reader = fm.GrammarMatcher(grammar)
        return reader.accept_bytes(text.encode()) and reader.is_completed()

    return check


def outcomes(reference, grammar, masked, number=200):
    rng = np.random.default_rng(0)
    model = toy.ToyModel(reference).on_tokens(rng)
    drawn = [
        sample(
            model,
            toy.VOCABULARY,
            fm.GrammarMatcher(grammar) if masked else None,
            rng=rng,
            max_tokens=40,
        )
        for _ in range(number)
    ]
    return drawn, count_outcomes(drawn, is_whole(grammar))


tasks = {"age": (toy.AGE_REFERENCE, compiled), "person": (toy.PERSON_REFERENCE, person)}
rows = {
    f"{task}, {'with' if masked else 'no'} mask": outcomes(*tasks[task], masked)
    for task in tasks
    for masked in (False, True)
}
figure, axes = plt.subplots(figsize=(8, 3))
left = np.zeros(len(rows))
for kind, color in (
    ("valid", "#4c9f70"),
    ("chatter", "#e08e2b"),
    ("broken", "#c0392b"),
    ("cut_off", "#9a9a9a"),
):
    counts = np.array([getattr(result, kind) for _, result in rows.values()])
    bars = axes.barh(list(rows), counts, left=left, color=color, label=kind.replace("_", " "))
    labels = [str(count) if count > 9 else "" for count in counts]
    axes.bar_label(bars, labels, label_type="center", color="white")
    left += counts
axes.invert_yaxis()
axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
axes.spines[["top", "right"]].set_visible(False)
for name, (_, result) in rows.items():
    print(f"{name:<18} {result}")

# %% [markdown]
# Nothing is broken any more. What remains is *cut off*: a few answers had not ended when 40 tokens
# were spent. Every one of them is still the beginning of a valid person:

# %%
for answer in rows["person, with mask"][0]:
    if not answer.finished:
        print(answer.text.decode())

# %% [markdown]
# ## What a mask cannot do
#
# A mask makes the form right, not the content. This model only knows a name, and the schema demands
# an age. So it makes one up:

# %%
drawn, _ = outcomes(toy.NO_AGE_REFERENCE, person, masked=True, number=50)
for answer in [answer for answer in drawn if answer.finished][:8]:
    print(answer.text.decode())

# %% [markdown]
# The mask even knows how hard it had to push: at each step `removed` is the share of the model's
# chances that it took away. Where that is nearly everything, the model wanted to say something that
# the schema has no room for.

# %%
answer = next(answer for answer in drawn if answer.finished)
figure, axes = plt.subplots(figsize=(8, 2.6))
axes.bar(range(len(answer.removed)), answer.removed, color="#c0392b")
names = [toy.TOKENS[i] or "END" for i in answer.token_ids]
axes.set_xticks(range(len(names)), names, rotation=90, family="monospace")
axes.set_ylabel("taken away")
axes.set_title("Share of the model's chances that the mask took, at each token", fontsize=10)
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# The cure is in the schema: let it say that there is no age.

# %%
honest = compiler.compile_json_schema(toy.NULLABLE_AGE_SCHEMA, whitespace="single")
belief = np.full(toy.VOCABULARY.size, -np.inf)
for token, chance in {"null": 0.80, "3": 0.12, "5": 0.08}.items():
    belief[toy.TOKENS.index(token)] = np.log(chance)
for name, grammar in (
    ("an integer", compiler.compile_json_schema(toy.AGE_SCHEMA, whitespace="single")),
    ("an integer or null", honest),
):
    reader = fm.GrammarMatcher(grammar)
    reader.accept_bytes(b'{"age": ')
    allowed = allowed_ids(reader.next_token_bitmask(), belief.size)
    print(f"{name}: the mask takes {masked_softmax(belief)[~allowed].sum():.0%} of the belief")
