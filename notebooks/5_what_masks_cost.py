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
# # 5. What masks cost
#
# A model writes a token in a few milliseconds, for hundreds of users at once. A mask has to be
# there in time, for each of them, at each token. This notebook compares three ways to make masks,
# first by counting, then by the clock, and shows how the costs grow.
#
# ## By counting
#
# Let the vocabulary have *V* tokens of *L* characters on average, an answer *n* tokens, the machine
# of the pattern *S* states.
#
# - **Naive**: at each step try every token, letter by letter: `n V L` steps an answer.
# - **Table**: try every token in every state once, `S V L` steps; then read a row a token, `V`
#   steps each: `S V L + n V`.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fastmask.benchmarking import engines, plots, sweep, tables, vocabularies
from fastmask.sampling import naive_mask_work, table_mask_work

SHAPE = {"n_tokens": 200, "vocab_size": 128_000, "mean_length": 4}
for answers in (1, 10):
    naive = naive_mask_work(**SHAPE, answers=answers)
    table = table_mask_work(**SHAPE, n_states=50, answers=answers)
    print(f"{answers:>2} answers: naive {naive:>13,} steps, table {table:>11,}")

numbers = np.logspace(-2, 3, 100)  # of answers
figure, axes = plt.subplots(figsize=(7, 3.8))
axes.loglog(numbers, [naive_mask_work(**SHAPE, answers=k) for k in numbers], color="#c0392b")
axes.text(20, 8e9, "naive", color="#c0392b")
for states, style in ((10, ":"), (50, "-"), (1_000, "--")):
    works = [table_mask_work(**SHAPE, n_states=states, answers=k) for k in numbers]
    axes.loglog(numbers, works, style, color="#3b6fb6", label=f"table, {states:,} states")
    crossing = states * 4 / (200 * (4 - 1))
    axes.plot(crossing, naive_mask_work(**SHAPE, answers=crossing), "o", color="#3b6fb6")
axes.set_xlabel("answers")
axes.set_ylabel("steps")
axes.legend(frameon=False)
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# The dots are where the lines cross. Setting both formulas equal gives the number of answers from
# which a table is cheaper: `S L / (n (L - 1))`. With 50 states and 200 tokens that is a third of
# one answer. The vocabulary's size is not in it: it makes both dearer alike.
#
# ## By the clock
#
# Two things change when it is measured.
#
# - A token whose first letter is refused is done with. And tokens that begin alike can be tried
#   together: the vocabulary is kept as a *trie*, a tree in which each branch is a letter, and a
#   refused branch takes all tokens on it away at once.
# - A table of all states is often not needed. A text reaches few of them. fastmask makes a row when
#   a text first reaches its state, and keeps it (*split* into what depends on the stack and what
#   does not, as in notebook 4).
#
# Here they are, measured now, on the vocabularies that this machine has.

# %%
names = list(vocabularies.available())
names = [names[i] for i in sorted({0, len(names) // 2, len(names) - 1})]
measured = []
for name in names:
    vocabulary = vocabularies.load(name)
    engine = engines.make("fastmask", vocabulary)
    for pattern in sweep.ANSWERS:
        found = sweep.naive_against_table(engine, vocabulary, pattern)
        measured.append({"vocabulary": name, "size": vocabulary.size, **found})

HEAD = ("", "naive", "table, naively", "table, by trie", "read", "as reached", "crossings")
print("milliseconds of one answer's masks; the crossings in answers\n")
print(f"{HEAD[0]:<34}" + "".join(f"{name:>16}" for name in HEAD[1:]))
for row in measured:
    label = f"{row['vocabulary']}, {row['pattern']}"
    times = [row[key] / 1e6 for key in ("naive", "table_by_naive", "table", "read", "split")]
    crossings = f"{row['crossing_by_naive']:.2f}, {row['crossing']:.3f}"
    print(f"{label:<34}" + "".join(f"{t:>16.3f}" for t in times) + f"{crossings:>16}")

# %%
plots.draw_crossing({"naive": measured})

# %% [markdown]
# - By trying every token, the table pays after about as many masks as there are states, as the
#   formula says, in every vocabulary alike.
# - By the trie, a table of a pattern that allows little is made in less time than a single naive
#   mask: the crossing lies within the first answer. For sixty states that allow nearly everything
#   the trie helps less.
# - Making rows as they are reached costs about as much as the table where a text sees every state,
#   and much less where it sees few of many. With a stack there is no table of all states at all.
#
# ## How costs grow
#
# What follows was recorded by `fastmask bench curves` and lies in `bench/record`, together with the
# machine it ran on. Each curve lets one size grow, for fastmask and, where they were installed, for
# other engines on the same texts. The exponent *p* of `cost ~ size^p` over the larger half of the
# sizes says how: 0 is no growth, 1 is in proportion.

# %%
path = Path("../bench/record/curves.json")
record = json.loads(path.read_text())
machine = record["machine"]
print(f"{machine['cpu']}, {machine['cores']} cores, load {record['load'][0]}; {record['date']}")
print(f"vocabulary: {record['vocabulary']}; versions: {record['versions']}")

plots.draw_curves(record, "mask")

# %% [markdown]
# This is the mean mask along a text, everything new included. Short texts are all first touches;
# the longer one goes on, the more of its masks were made before, and the mean falls to that of a
# look-up. Below, the same texts a second time: what a server sees that has met the schema before.

# %%
plots.draw_curves(record, "again")

# %% [markdown]
# And what it takes before there is a first mask:

# %%
plots.draw_curves(record, "compile_and_first_mask")

# %% [markdown]
# ## Many at once
#
# A server has many answers under way, each with its own schema. `fill_next_token_bitmasks` writes
# the masks of all of them in one call (recorded by `fastmask bench serving`). To the right, what
# masks add to a model's step when they are made behind it, and when another thread makes them while
# the model works; they depend on the tokens so far alone, so they may.

# %%
path = Path("../bench/record/serving.json")
record = json.loads(path.read_text())
memory = record["memory"]
print(f"memory: vocabulary {memory['vocabulary'] / 1e6:.1f} MB, an answer {memory['matcher']:,.0f}")
print(f"bytes, and {memory['matcher_per_1000_tokens']:,.0f} more each 1,000 tokens")
for name, power in tables.batch_growth(record).items():
    print(f"{name}: the time of a call grows as matchers^{power:.2f}, over the larger half")
plots.draw_serving(record)
