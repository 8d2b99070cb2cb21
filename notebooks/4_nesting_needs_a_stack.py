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
# # 4. Nesting needs a stack
#
# A machine with a fixed number of states cannot count without end. So it cannot check that every
# bracket is closed: after `[[[` three must follow, after `[[[[` four, and each number would need a
# state of its own. JSON nests, and so do programs and most grammars.
#
# ## A pattern that cannot count

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

import fastmask as fm
from fastmask import toy
from fastmask.sampling import allowed_ids

flat = fm.Grammar.from_regex(r"\[*1\]*")
nested = fm.Grammar.from_gbnf('root ::= "1" | "[" root "]"')


def status(grammar, text):
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(toy.VOCABULARY).compile(grammar))
    if not matcher.accept_bytes(text.encode()):
        return "refused"
    return "complete" if matcher.is_completed() else "open"


for text in ("[[1]]", "[[1]", "[1]]"):
    print(
        f"{text:<6} by the pattern: {status(flat, text):<9} by the grammar: {status(nested, text)}"
    )

# %% [markdown]
# The grammar names a rule, `root`, and uses it inside itself. To follow it, one needs to remember
# which rules are open, and where each of them goes on when the inner one is done. New ones are put
# on top, and the one on top is finished first: a *stack*.
#
# ## The stack as a text grows
#
# Here is JSON as the lesson has it, and what is open after each character of a document.

# %%
print(toy.JSON_SUBSET)
compiled = fm.GrammarCompiler(toy.VOCABULARY).compile_gbnf(toy.JSON_SUBSET)
DOCUMENT = '{"a": [1, {"b": [[2, 3], 4]}], "c": "d"}'
matcher = fm.GrammarMatcher(compiled)
stacks = []
for character in DOCUMENT:
    assert matcher.accept_bytes(character.encode())
    stacks.append([rule for rule in matcher.open_rules() if rule in ("object", "array")])
print("after", DOCUMENT[:16], "are open:", stacks[15])

COLORS = {"object": "#3b6fb6", "array": "#e08e2b"}


def draw_stacks(axes, text, stacks):
    for place, stack in enumerate(stacks):
        for depth, rule in enumerate(stack):
            axes.add_patch(Rectangle((place - 0.5, depth), 1, 0.92, color=COLORS[rule]))
    axes.set_xlim(-0.5, len(text) - 0.5)
    axes.set_ylim(0, max(map(len, stacks)) + 0.3)
    axes.set_xticks(range(len(text)), list(text.replace(" ", "␣")), family="monospace")
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    for rule, color in COLORS.items():
        axes.plot([], [], "s", color=color, markersize=10, label=rule)
    axes.legend(frameon=False, ncols=2, loc="upper left", fontsize=9)


figure, axes = plt.subplots(figsize=(10, 2.6))
draw_stacks(axes, DOCUMENT, stacks)
axes.set_title("What is open after each character, the innermost on top", fontsize=10)

# %% [markdown]
# ## Two kinds of tokens
#
# A table needs one row for each situation, and with a stack there is no end of situations. But most
# tokens do not care. Inside a string, ` the` may come whatever is around it. Only a token that
# *leaves* the innermost container asks what lies below: `]` ends it, and in `]}` the brace is right
# only if an object is waiting there.
#
# So tokens fall into three kinds, for a given top of the stack:
#
# - **context-independent**: accepted whatever lies below;
# - **refused** whatever lies below;
# - **context-dependent**: it depends.
#
# We find them by experiment, with GPT-2's vocabulary: put the same innermost container into other
# surroundings and see whose verdict changes.

# %%
gpt2 = fm.Vocabulary.gpt2()
compiled = fm.GrammarCompiler(gpt2).compile_json()
SURROUNDINGS = ("", "[", '{"k": ', "[[", '[{"k": ', '{"k": [', '{"k": {"k": ', "[[[", '{"k": [[')


def mask_after(text):
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(text.encode()), text
    return allowed_ids(matcher.next_token_bitmask(), gpt2.size)


def innermost(text):
    """A text from its innermost open container on; the string in which it ends, if it does."""
    opened, in_string = [], False
    for place, character in enumerate(text):
        if character == '"':
            in_string = not in_string
        elif not in_string and character in "[{":
            opened.append(place)
        elif not in_string and character in "]}":
            opened.pop()
    return text[opened[-1] :] if opened else text


def kinds(text):
    """For each token: 0 refused, 1 accepted whatever is below, 2 depends and fits, 3 does not."""
    inner = innermost(text)
    verdicts = np.array([mask_after(outside + inner) for outside in SURROUNDINGS])
    here = mask_after(text)
    depends = verdicts.any(axis=0) & ~verdicts.all(axis=0)
    return np.where(depends, np.where(here, 2, 3), np.where(here, 1, 0))


for text in ("[1", '[{"k": [1', '[{"k": "some'):
    found = kinds(text)
    print(
        f"after {text!r:<14} independent {np.sum(found == 1):>6,}   "
        f"dependent {np.sum(found >= 2):>4,}   refused {np.sum(found == 0):>6,}"
    )
    for kind, label in ((2, "depend and fit"), (3, "depend and do not fit")):
        print("   ", label, [gpt2.tokens[i].decode() for i in np.flatnonzero(found == kind)[:12]])

# %% [markdown]
# Of fifty thousand tokens a handful depends on the stack. So that is how masks are made (Dong et
# al. 2024): the rows of the independent tokens are kept in a table, one for each top of the stack,
# and the few others are tried against the stack that is there.
#
# ## All of it in one picture
#
# Above, the stack as a document grows. Below, for a choice of tokens, what they are at each place.

# %%
TEXT = '{"a": [1, {"b": [[2, "c"], 4]}]}'
SHOWN = [*'{ } }} [ ] ]] ]} ], }, " ", "},{" ": , : 1 - null name'.split(), " true", " the"]
ids = [next(i for i in gpt2.ids_of(token.encode()) if gpt2.is_text[i]) for token in SHOWN]
columns = np.array([kinds(TEXT[: place + 1])[ids] for place in range(len(TEXT))]).T

reader = fm.GrammarMatcher(fm.GrammarCompiler(toy.VOCABULARY).compile_gbnf(toy.JSON_SUBSET))
stacks = []
for character in TEXT:
    reader.accept_bytes(character.encode())
    stacks.append([rule for rule in reader.open_rules() if rule in COLORS])

figure, (above, below) = plt.subplots(
    2, 1, figsize=(10, 7.2), height_ratios=(1.3, 4), sharex=True, layout="constrained"
)
draw_stacks(above, TEXT, stacks)
above.set_title("The stack", fontsize=10)
palette = np.array([[240, 240, 240], [76, 159, 112], [224, 142, 43], [248, 221, 184]]) / 255
below.imshow(palette[columns], aspect="auto")
below.set_yticks(
    range(len(SHOWN)), [token.replace(" ", "␣") for token in SHOWN], family="monospace"
)
below.set_xticks(range(len(TEXT)), list(TEXT.replace(" ", "␣")), family="monospace")
below.set_xticks(np.arange(len(TEXT) + 1) - 0.5, minor=True)
below.set_yticks(np.arange(len(SHOWN) + 1) - 0.5, minor=True)
below.grid(which="minor", color="white")
below.tick_params(which="minor", length=0)
below.set_xlabel("the text so far ends with")
below.set_title("The next token", fontsize=10)
labels = ("refused", "accepted, whatever is below", "accepted, by what is below")
labels += ("refused, by what is below",)
for color, label in zip(palette, labels, strict=True):
    below.plot([], [], "s", color=color, markersize=10, label=label)
below.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False, fontsize=9)
below.set_xlim(-0.5, len(TEXT) - 0.5)

# %% [markdown]
# Read a column from above: after `[[2` the top is an array in which a number was begun. More digits
# may come whatever is below (green), a comma and a bracket too. `]]` is right since below is
# another array; `]}` is not. Inside a string, brackets are letters like any others.
#
# ## Deep is not dear
#
# The matcher does not copy the stack. It keeps stacks as shared cells, gives each of them a number,
# and its whole state is one such number. A text nested 10,000 deep costs as much a step as a flat
# one:

# %%
for depth in (10, 100, 1_000, 10_000):
    matcher = fm.GrammarMatcher(compiled)
    matcher.accept_bytes(b"[" * depth)
    matcher.next_token_bitmask()
    comma, one = gpt2.ids_of(b",")[0], gpt2.ids_of(b"1")[0]
    matcher.accept_token(one)
    for token in (comma, one) * 3:  # rows are made when they are first reached
        matcher.next_token_bitmask()
        matcher.accept_token(token)
    started = time.perf_counter()
    for token in (comma, one) * 50:
        matcher.next_token_bitmask()
        matcher.accept_token(token)
    microseconds = (time.perf_counter() - started) / 100 * 1e6
    print(f"{depth:>6,} deep: {microseconds:.1f} us a step")
