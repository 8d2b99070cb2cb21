"""Each figure of the lesson as one function of the public parts of fastmask.

A figure takes the seed of its random numbers, if it draws any, and gives plain numbers. Nothing
here knows what should come out; `expected` does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import toy
from ..bitmask import allocate_token_bitmask
from ..compiler import CompiledGrammar, GrammarCompiler
from ..matcher import GrammarMatcher
from ..sampling import (
    Outcomes,
    Sample,
    all_attempts_fail,
    allowed_ids,
    chance_all_valid,
    count_outcomes,
    count_spellings,
    expected_attempts,
    masked_softmax,
    naive_mask_work,
    sample,
    sequence_odds,
    table_mask_work,
)
from ..vocabulary import Vocabulary

__all__ = ["FIGURES", "answers", "toy_matcher"]

CHOICES = "cat|car|dog"
INTEGER = "-?[0-9]+"
BUDGET = 40

Floats = npt.NDArray[np.float64]


# The toy world: grammars over its vocabulary, answers of its model


@cache
def _compiled(source: str) -> CompiledGrammar:
    compiler = GrammarCompiler(toy.VOCABULARY)
    if source == "age":
        return compiler.compile_regex(toy.AGE_PATTERN)
    if source == "json":
        return compiler.compile_gbnf(toy.JSON_SUBSET)
    schemas = {
        "age schema": toy.AGE_SCHEMA,
        "nullable age": toy.NULLABLE_AGE_SCHEMA,
        "person": toy.PERSON_SCHEMA,
        "payment": toy.PAYMENT_SCHEMA,
    }
    return compiler.compile_json_schema(schemas[source], whitespace="single")


def toy_matcher(source: str) -> GrammarMatcher:
    """A new matcher of one of the lesson's grammars: "age", "json", "person", ..."""
    return GrammarMatcher(_compiled(source))


def answers(reference: str, source: str | None, number: int, seed: int) -> list[Sample]:
    """Answers of the toy model, one after the other from one generator."""
    rng = np.random.default_rng(seed)
    model = toy.ToyModel(reference).on_tokens(rng)
    return [
        sample(
            model,
            toy.VOCABULARY,
            None if source is None else toy_matcher(source),
            rng=rng,
            max_tokens=BUDGET,
        )
        for _ in range(number)
    ]


def _is_age(text: str) -> bool:
    return re.fullmatch(toy.AGE_PATTERN, text) is not None


def _is_person(text: str) -> bool:
    """The person schema, written out once more as plain Python."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    if not isinstance(value, dict) or not {"name", "age"} <= set(value) <= {"name", "age", "pets"}:
        return False
    pets = value.get("pets", [])
    return (
        isinstance(value["name"], str)
        and isinstance(value["age"], int)
        and not isinstance(value["age"], bool)
        and isinstance(pets, list)
        and all(pet in ("cat", "dog") for pet in pets)
    )


@cache
def _outcomes(task: str, constrained: bool, seed: int) -> Outcomes:
    reference, is_valid = {
        "age": (toy.AGE_REFERENCE, _is_age),
        "person": (toy.PERSON_REFERENCE, _is_person),
    }[task]
    found = answers(reference, task if constrained else None, 200, seed)
    return count_outcomes(found, is_valid)


def _beliefs(of: Mapping[str, float]) -> Floats:
    """Logits over the toy vocabulary that give these tokens these probabilities, others none."""
    logits = np.full(toy.VOCABULARY.size, -np.inf)
    for token, belief in of.items():
        logits[toy.TOKENS.index(token)] = np.log(belief)
    return logits


def _removed(logits: Floats, matcher: GrammarMatcher) -> float:
    belief = masked_softmax(logits)
    return float(belief[~allowed_ids(matcher.next_token_bitmask(), belief.size)].sum())


# The figures


def chances(seed: int) -> dict[str, float]:
    """Chance that all of n tokens are right when each is with 0.98: p^n."""
    return {str(n): chance_all_valid(0.98, n) for n in (10, 100)}


def mask_step(seed: int) -> dict[str, list[float]]:
    """Four logits, of which a mask leaves the last two."""
    logits = [2, 1, 0.5, 0]
    row = allocate_token_bitmask(1, 4)
    row[0, 0] = 0b1100
    before, after = masked_softmax(logits), masked_softmax(logits, row)
    return {"before": before.tolist(), "after": after.tolist()}


def validity(seed: int) -> list[dict[str, Any]]:
    """What becomes of 200 answers of each task, without and with a mask."""
    rows = []
    for task in ("age", "person"):
        for constrained in (False, True):
            found = _outcomes(task, constrained, seed)
            rows.append(
                {
                    "task": task,
                    "constrained": constrained,
                    "valid": found.valid,
                    "chatter": found.chatter,
                    "broken": found.broken,
                    "cut_off": found.cut_off,
                }
            )
    return rows


def dfa_states(seed: int) -> dict[str, dict[str, int]]:
    """States of the subset construction and of the minimal automaton, the dead one not counted."""
    tokens = [token.encode() for token in ("c", "a", "t", "r", "d", "o", "g")]
    small = Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    found = {}
    for pattern, vocabulary in (
        (CHOICES, small),
        (INTEGER, toy.VOCABULARY),
        (toy.AGE_PATTERN, toy.VOCABULARY),
    ):
        stats = GrammarCompiler(vocabulary).compile_regex(pattern).stats
        found[pattern] = {"subset": stats.subset_states, "minimal": stats.minimal_states}
    return found


def allowed_tokens(seed: int) -> dict[str, list[str]]:
    """Tokens allowed by ``cat|car|dog`` after three texts, over fourteen tokens."""
    tokens = ["c", "a", "t", "r", "d", "o", "g", "ca", "cat", "do", "dog", "at", "og", "END"]
    vocabulary = Vocabulary([token.encode() for token in tokens], eos_token_ids=[13])
    matcher = GrammarMatcher(GrammarCompiler(vocabulary).compile_regex(CHOICES))
    found = {}
    for text in ("", "ca", "dog"):
        matcher.reset()
        matcher.accept_bytes(text.encode())
        found[text] = [tokens[i] for i in matcher.allowed_token_ids()]
    return found


def mask_table_shape(seed: int) -> list[int]:
    """States of the age pattern by tokens of the toy vocabulary."""
    table = _compiled("age").mask_table()
    return [table.shape[0], toy.VOCABULARY.size]


def first_step(seed: int) -> dict[str, list[float]]:
    """Belief in the likeliest first tokens of the age answer, before and after the mask."""
    logits = toy.ToyModel(toy.AGE_REFERENCE).logits("", np.random.default_rng(seed))
    before = masked_softmax(logits)
    after = masked_softmax(logits, toy_matcher("age").next_token_bitmask())
    likeliest = [i for i in np.argsort(-before) if before[i] >= 0.01]
    return {toy.TOKENS[i]: [float(before[i]), float(after[i])] for i in likeliest}


def open_containers(seed: int) -> list[str]:
    """What the pushdown stack holds inside nested JSON, outermost first."""
    matcher = toy_matcher("json")
    matcher.accept_bytes(b'{"a": [1, {"b": ')
    return [rule for rule in matcher.open_rules() if rule in ("object", "array")]


def prefix_status(seed: int) -> dict[str, str]:
    """Whether beginnings of a person can still become one: open, dead or complete."""
    found = {}
    for prefix in (
        '{"na',
        '{"nx',
        '{"name": "Ada"}',
        '{"age": 3.',
        '{"age": 01',
        '{"pets": ["x',
        '{"name": "Ada", "age": 36}',
    ):
        matcher = toy_matcher("person")
        if not matcher.accept_bytes(prefix.encode()):
            found[prefix] = "dead"
        else:
            found[prefix] = "complete" if matcher.is_completed() else "open"
    return found


def forced_choice(seed: int) -> dict[str, float]:
    """A model that mostly believes in null, made to write an integer."""
    logits = _beliefs({"null": 0.80, "3": 0.12, "5": 0.08})
    matcher = toy_matcher("age")
    matcher.accept_bytes(b'{"age": ')
    after = masked_softmax(logits, matcher.next_token_bitmask())
    found = {digit: float(after[toy.TOKENS.index(digit)]) for digit in ("3", "5")}
    return {**found, "removed": _removed(logits, matcher)}


def two_step_model(token_ids: Any) -> Floats:
    """A or B, then x or y, then the end: the model that masking distorts."""
    following = {
        (): [0.9, 0.1, 0, 0, 0],
        (0,): [0, 0, 0.99, 0.01, 0],
        (1,): [0, 0, 0.1, 0.9, 0],
    }
    return np.array(following.get(tuple(token_ids), [0, 0, 0, 0, 1.0]))


def distortion(seed: int) -> dict[str, dict[str, float]]:
    """The model's own odds among answers that end in y, and what token-by-token masking makes."""
    tokens = ["A", "B", "x", "y", ""]
    vocabulary = Vocabulary([token.encode() for token in tokens], eos_token_ids=[4])
    matcher = GrammarMatcher(GrammarCompiler(vocabulary).compile_regex("[AB]y"))
    own, masked = sequence_odds(two_step_model, matcher, max_tokens=3)
    return {
        name: {"".join(tokens[i] for i in ids): odds for ids, odds in sorted(found.items())}
        for name, found in (("own", own), ("masked", masked))
    }


def tokenizations(seed: int) -> dict[str, int]:
    """Ways to spell three texts with toy tokens."""
    texts = {"42": "42", "age": toy.AGE_REFERENCE, "person": toy.PERSON_REFERENCE}
    return {name: count_spellings(text.encode(), toy.VOCABULARY) for name, text in texts.items()}


def mask_cost(seed: int) -> dict[str, float]:
    """Work of 200 tokens over a vocabulary of 128,000, by the two formulas."""
    shape = (200, 128_000, 4)
    return {
        "naive": naive_mask_work(*shape),
        "table": table_mask_work(*shape, n_states=50),
        "naive_ten": naive_mask_work(*shape, answers=10),
        "table_ten": table_mask_work(*shape, n_states=50, answers=10),
    }


def retry(seed: int) -> dict[str, float]:
    """Tries until an answer is valid without a mask: 1/p, and (1-p)^3."""
    age = _outcomes("age", False, seed).valid / 200
    person = _outcomes("person", False, seed).valid / 200
    return {
        "attempts_age": expected_attempts(age),
        "all_three_fail": all_attempts_fail(age, 3),
        "attempts_person": expected_attempts(person),
    }


def json_mode(seed: int) -> dict[str, Any]:
    """Any JSON, by a model that has no age to give."""
    found = answers(toy.NO_AGE_REFERENCE, "json", 50, seed)
    finished = [answer.text.decode() for answer in found if answer.finished]
    common = [list(pair) for pair in Counter(finished).most_common(3)]
    return {"finished": len(finished), "cut_off": 50 - len(finished), "most_common": common}


def invented_age(seed: int) -> dict[str, Any]:
    """The person schema makes the same model invent an age."""
    found = answers(toy.NO_AGE_REFERENCE, "person", 50, seed)
    finished = [json.loads(answer.text) for answer in found if answer.finished]
    ages = [person["age"] for person in finished]
    return {"finished": len(finished), "cut_off": 50 - len(finished), "ages": ages}


def nullable_age(seed: int) -> dict[str, float]:
    """Belief thrown away at the age: as an integer, and as an integer or null."""
    logits = _beliefs({"null": 0.80, "3": 0.12, "5": 0.08})
    found = {}
    for name, source in (("removed_before", "age schema"), ("removed_after", "nullable age")):
        matcher = toy_matcher(source)
        matcher.accept_bytes(b'{"age": ')
        found[name] = _removed(logits, matcher)
    return found


def payment(seed: int) -> dict[str, int]:
    """The byte at which an amount of nothing is refused."""
    matcher = toy_matcher("payment")
    text = b'{"amount": 0, "currency": "USD"}'
    accepted = 0
    while accepted < len(text) and matcher.accept_bytes(text[accepted : accepted + 1]):
        accepted += 1
    return {"refused_at_byte": accepted}


#: Every figure by its name in the report.
FIGURES: dict[str, Callable[[int], Any]] = {
    "chance_all_valid": chances,
    "mask_step": mask_step,
    "validity": validity,
    "dfa_states": dfa_states,
    "allowed_tokens": allowed_tokens,
    "mask_table_shape": mask_table_shape,
    "first_step": first_step,
    "open_containers": open_containers,
    "prefix_status": prefix_status,
    "forced_choice": forced_choice,
    "distortion": distortion,
    "tokenizations": tokenizations,
    "mask_cost": mask_cost,
    "retry": retry,
    "json_mode": json_mode,
    "invented_age": invented_age,
    "nullable_age": nullable_age,
    "payment": payment,
}
