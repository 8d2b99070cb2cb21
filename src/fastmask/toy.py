"""A toy world small enough to check by hand: 83 tokens and a model that copies a reference text.

The model likes to chat before it answers and now and then slips; both weaknesses are numbers. With
a seed everything repeats exactly, so counts of good and bad answers can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

    VOCABULARY: Vocabulary

__all__ = [
    "AGE_PATTERN",
    "AGE_REFERENCE",
    "AGE_SCHEMA",
    "END",
    "JSON_SUBSET",
    "NO_AGE_REFERENCE",
    "NULLABLE_AGE_SCHEMA",
    "PAYMENT_SCHEMA",
    "PERSON_REFERENCE",
    "PERSON_SCHEMA",
    "TOKENS",
    "VOCABULARY",
    "ToyModel",
    "text_of",
]

_SINGLE = "{}[]\":, -.!'\n0123456789abcdefghijklmnopqrstuvwxyzABDEGPSU"
_LONGER = (
    *("Sure", " Here", '"age"', "age", '": ', ": ", ", ", '"}', "42", "17", "20", "null", "true"),
    *("false", '"name"', "name", "Ada", '"amount"', "amount", '"currency"', "currency", '"USD"'),
    *("USD", "EUR", "GBP"),
)

#: Text of each token by id; the last is the end token, which adds none.
TOKENS: tuple[str, ...] = (*_SINGLE, *_LONGER, "")
#: Id of the end token.
END = len(TOKENS) - 1

AGE_REFERENCE = '{"age": 42}'
PERSON_REFERENCE = '{"name": "Ada", "age": 36, "pets": ["cat"]}'
NO_AGE_REFERENCE = '{"name": "Ada"}'

AGE_PATTERN = r'\{"age": [0-9]+\}'
PERSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "pets": {"type": "array", "items": {"enum": ["cat", "dog"]}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
AGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
    "additionalProperties": False,
}
NULLABLE_AGE_SCHEMA: dict[str, Any] = {
    **AGE_SCHEMA,
    "properties": {"age": {"type": ["integer", "null"]}},
}
PAYMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "minimum": 0.01},
        "currency": {"enum": ["USD", "EUR", "GBP"]},
    },
    "required": ["amount", "currency"],
    "additionalProperties": False,
}
#: Any JSON value without escapes and exponents; one space at most after a colon or a comma.
JSON_SUBSET = r"""
root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (member ("," " "? member)*)? "}"
member ::= string ":" " "? value
array ::= "[" (value ("," " "? value)*)? "]"
string ::= "\"" [^"\\\x00-\x1f]* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)?
"""


@cache
def _vocabulary() -> Vocabulary:
    from .vocabulary import Vocabulary

    return Vocabulary([token.encode() for token in TOKENS], eos_token_ids=[END])


def __getattr__(name: str) -> Any:
    """Make `VOCABULARY` when it is first asked for."""
    if name == "VOCABULARY":
        return _vocabulary()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def text_of(token_ids: Sequence[int]) -> str:
    """The text that toy tokens spell."""
    return "".join(TOKENS[i] for i in token_ids)


class ToyModel:
    """A language model that wants to write one reference text.

    Parameters
    ----------
    reference : str
        The text it copies.
    skill : float
        Logits given to every token that continues the reference, plus 0.5 for each character of the
        token after its first; to the end token when the reference is written out.
    noise : float
        Standard deviation of the normal noise on every logit.
    chatter : float
        Logits given to ``Sure`` as the first token.
    tokens : sequence of str
        Text of each token by id, ``Sure`` among them, the end token last.
    """

    def __init__(
        self,
        reference: str,
        skill: float = 8,
        noise: float = 1,
        chatter: float = 6,
        tokens: Sequence[str] = TOKENS,
    ) -> None:
        self.reference = reference
        self.skill = skill
        self.noise = noise
        self.chatter = chatter
        self.tokens = tokens

    def logits(self, text: str, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Logits of the next token after ``text``: float64[number of tokens].

        Takes one random number for each token from ``rng``, in one call. The model counts its place
        in the reference from the first ``{`` of the text; before there is one it stands at the
        start.
        """
        logits = rng.normal(0, self.noise, len(self.tokens))
        start = text.find("{")
        started = start >= 0
        remaining = self.reference[len(text) - start :] if started else self.reference
        if not text:
            logits[self.tokens.index("Sure")] += self.chatter
        for token_id, token in enumerate(self.tokens[:-1]):
            if remaining.startswith(token):
                logits[token_id] += self.skill + 0.5 * (len(token) - 1)
        if started and not remaining:
            logits[-1] += self.skill
        return logits

    def on_tokens(
        self, rng: np.random.Generator
    ) -> Callable[[Sequence[int]], npt.NDArray[np.float64]]:
        """The model as a function of the token ids so far, as `sampling.sample` calls it."""
        return lambda ids: self.logits("".join(self.tokens[i] for i in ids), rng)
