"""The arithmetic around constrained answers: chances, odds, and what masks cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..matcher import GrammarMatcher
    from .loop import Floats

__all__ = [
    "all_attempts_fail",
    "chance_all_valid",
    "expected_attempts",
    "naive_mask_work",
    "sequence_odds",
    "table_mask_work",
]


def chance_all_valid(p: float, n: int) -> float:
    """Chance that ``n`` independent tokens are all right when each is with chance ``p``: p^n."""
    return p**n


def expected_attempts(p: float) -> float:
    """Mean number of tries until one succeeds: 1 / p, the mean of a geometric distribution."""
    return 1 / p


def all_attempts_fail(p: float, k: int) -> float:
    """Chance that ``k`` independent tries all fail: (1 - p)^k."""
    return (1 - p) ** k


def naive_mask_work(n_tokens: int, vocab_size: int, mean_length: float, answers: int = 1) -> float:
    """Character steps to mask ``answers`` texts by trying every token at each step: a n V L.

    Parameters
    ----------
    n_tokens : int
        Tokens of an answer, n.
    vocab_size : int
        Tokens of the vocabulary, V.
    mean_length : float
        Mean characters of a token, L.
    answers : int
        Number of answers, a.
    """
    return answers * n_tokens * vocab_size * mean_length


def table_mask_work(
    n_tokens: int, vocab_size: int, mean_length: float, n_states: int, answers: int = 1
) -> float:
    """Steps to mask by a table: S V L once to fill it, then V a token to read it: S V L + a n V.

    The table holds one row for each of the automaton's S states (Willard and Louf 2023,
    arXiv 2307.09702). Other parameters as in `naive_mask_work`.
    """
    return n_states * vocab_size * mean_length + answers * n_tokens * vocab_size


def sequence_odds(
    model: Callable[[Sequence[int]], Floats], matcher: GrammarMatcher, max_tokens: int
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]]:
    """What masking does to a model's odds, computed exactly by walking every valid answer.

    Masking token by token draws answer x with chance prod_i p(x_i | x_<i) / A(x_<i), where A is the
    belief in allowed tokens at that step; the model's own odds among valid answers are
    prod_i p(x_i | x_<i) / Z. The two differ wherever A does (Park et al. 2024, arXiv 2405.21047).

    Parameters
    ----------
    model : callable
        Takes the token ids so far and gives the probabilities of the next: float64[vocab_size].
    matcher : GrammarMatcher
        Left as it is; forks of it do the walking.
    max_tokens : int
        Longer answers are left out.

    Returns
    -------
    own, masked : dict of token ids to probability
        The model's own odds among the valid answers, and those that masking produces.
    """
    own: dict[tuple[int, ...], float] = {}
    masked: dict[tuple[int, ...], float] = {}
    pending: list[tuple[tuple[int, ...], GrammarMatcher, float, float]] = [
        ((), matcher.fork(), 1.0, 1.0)
    ]
    while pending:
        ids, state, chance, masked_chance = pending.pop()
        if state.is_terminated():
            own[ids], masked[ids] = chance, masked_chance
            continue
        if len(ids) == max_tokens:
            continue
        belief = model(ids)
        allowed = state.allowed_token_ids().tolist()
        total = float(sum(belief[i] for i in allowed))
        for token in allowed:
            if belief[token] > 0:
                following = state.fork()
                following.accept_token(token)
                share = float(belief[token])
                pending.append(
                    ((*ids, token), following, chance * share, masked_chance * share / total)
                )
    everything = sum(own.values())
    return {ids: chance / everything for ids, chance in own.items()}, masked
