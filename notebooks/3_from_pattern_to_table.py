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
# # 3. From pattern to table
#
# How does one know which tokens may come next? Trying each of them at each step would do, and would
# be slow. This notebook makes a table instead: one row for each situation that a text can be in,
# one bit for each token.
#
# ## A pattern is a machine
#
# Take the pattern `cat|car|dog`. Reading a text letter by letter, there is little to remember: not
# the letters read, but what may still follow. Texts after which the same may follow are in the same
# *state*.

# %%
import matplotlib.pyplot as plt
import numpy as np

import fastmask as fm
from fastmask import toy
from fastmask.sampling import allowed_ids

PATTERN = "cat|car|dog"
TOKENS = ["c", "a", "t", "r", "d", "o", "g", "ca", "cat", "do", "dog", "at", "og", "END"]
vocabulary = fm.Vocabulary([token.encode() for token in TOKENS], eos_token_ids=[13])
compiled = fm.GrammarCompiler(vocabulary).compile_regex(PATTERN)


def endings(prefix):
    """Everything that may follow a text: what the state has to know."""
    words = ("cat", "car", "dog")
    return tuple(word[len(prefix) :] for word in words if word.startswith(prefix))


states = {}
for word in ("", "c", "ca", "cat", "car", "d", "do", "dog"):
    states.setdefault(endings(word), []).append(word)
for number, (following, texts) in enumerate(states.items()):
    print(f"state {number}: after {' or '.join(map(repr, texts)):<26} may follow {following}")

# %% [markdown]
# Eight beginnings, six states: after `cat`, `car` and `dog` nothing may follow, so they are one.
# fastmask makes the machine from the pattern in two steps. The *subset construction* follows all
# branches of the pattern at once; *minimising* then merges states that nothing tells apart.

# %%
print(compiled.stats.subset_states, "states, minimised", compiled.stats.minimal_states)

# %%
names = {following: texts[0] or "start" for following, texts in states.items()}
places = {"start": (0, 0), "c": (1, 0.6), "ca": (2, 0.6), "d": (1, -0.6), "do": (2, -0.6)}
places["cat"] = (3, 0)
arrows = [("start", "c", "c"), ("start", "d", "d"), ("c", "ca", "a"), ("d", "do", "o")]
arrows += [("ca", "cat", "t, r"), ("do", "cat", "g")]


def draw_machine(axes):
    for start, end, label in arrows:
        (x0, y0), (x1, y1) = places[start], places[end]
        axes.annotate(
            "",
            (x1, y1),
            (x0, y0),
            arrowprops={"arrowstyle": "->", "shrinkA": 19, "shrinkB": 19, "color": "#555555"},
        )
        axes.text((x0 + x1) / 2, (y0 + y1) / 2 + 0.12, label, ha="center", family="monospace")
    for name, (x, y) in places.items():
        final = name == "cat"
        axes.plot(x, y, "o", markersize=36, color="#cfe3d6" if final else "#dbe5f1", zorder=2)
        label = "cat\ncar\ndog" if final else name
        axes.text(x, y, label, ha="center", va="center", fontsize=8 if final else 10, zorder=3)
    axes.set_xlim(-0.4, 3.4)
    axes.set_ylim(-1.1, 1.1)
    axes.axis("off")


figure, axes = plt.subplots(figsize=(7, 3))
draw_machine(axes)
axes.set_title("The machine of cat|car|dog; the text may end where it is green", fontsize=10)

# %% [markdown]
# ## Tokens jump
#
# Letters move one arrow at a time, tokens several: `ca` goes from the start past `c`. A token is
# allowed in a state if all of its letters find an arrow. The end token is allowed where the text
# may end. Doing that for each state and each token gives the table:

# %%
table = np.array([allowed_ids(row, len(TOKENS)) for row in compiled.mask_table()])
# fastmask numbers states breadth first, letters in order: start, c, d, ca, do, the end.
order = ["start", "c", "d", "ca", "do", "cat"]
print("rows, tokens:", table.shape)


def draw_table(axes, table, rows, columns, size=9):
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=size, family="monospace")
    axes.set_yticks(range(len(rows)), rows, family="monospace")
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white")
    axes.tick_params(which="minor", length=0)


figure, axes = plt.subplots(figsize=(8, 3))
draw_table(axes, table, [*order[:-1], "cat, ..."], TOKENS)
axes.set_ylabel("after")
axes.set_title("Allowed tokens, by state", fontsize=10)

# %% [markdown]
# Each row is right, as trying every token shows:

# %%
for text in ("", "c", "ca", "dog"):
    tried = allowed_ids(fm.naive_mask(compiled, text, vocabulary), len(TOKENS))
    found = table[order.index({"": "start", "dog": "cat"}.get(text, text))]
    assert (tried == found).all()
    print(f"{text!r:<6} {[TOKENS[i] for i in np.flatnonzero(found)]}")

# %% [markdown]
# ## The age
#
# The pattern `\{"age": [0-9]+\}` over the toy vocabulary of 83 tokens. A loop in the pattern is an
# arrow back to the same state: after the first digit, any number of digits leads nowhere new. So a
# small table is enough for endlessly many texts.

# %%
compiled = fm.GrammarCompiler(toy.VOCABULARY).compile_regex(toy.AGE_PATTERN)
table = np.array([allowed_ids(row, len(toy.TOKENS)) for row in compiled.mask_table()])
rows = [toy.AGE_REFERENCE[:n] or "(nothing)" for n in range(9)] + ['{"age": 4', '{"age": 4}']
used = np.flatnonzero(table.any(axis=0))
figure, axes = plt.subplots(figsize=(9, 4))
draw_table(axes, table[:, used], rows, [toy.TOKENS[i] or "END" for i in used], 8)
axes.set_title(
    f"{table.shape[0]} states; the {used.size} of {table.shape[1]} tokens that are ever allowed",
    fontsize=10,
)

# %% [markdown]
# ## A real vocabulary
#
# The same with GPT-2's 50,257 tokens. Most rows are nearly empty. A row where free text may follow
# is nearly full:

# %%
gpt2 = fm.Vocabulary.gpt2()
compiler = fm.GrammarCompiler(gpt2)
figure, axes = plt.subplots(figsize=(8, 3.5))
for pattern, color in ((toy.AGE_PATTERN, "#3b6fb6"), (r'\{"name": "[^"\\]*"\}', "#e08e2b")):
    compiled = compiler.compile_regex(pattern)
    counts = [allowed_ids(row, gpt2.size).sum() for row in compiled.mask_table()]
    axes.semilogy(counts, "o-", color=color, label=pattern)
    kilobytes = compiled.mask_table().nbytes / 1000
    print(f"{pattern}: {len(counts)} states, a table of {kilobytes:.0f} kB")
axes.set_xlabel("state")
axes.set_ylabel("tokens allowed")
axes.legend(frameon=False)
axes.grid(axis="y", alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# With the table, a mask is a look-up: find the row of the state, copy it. And the matcher need not
# remember the text, only the number of its state.
#
# But can every format be written as such a machine? Brackets in brackets cannot. That is the next
# notebook.
