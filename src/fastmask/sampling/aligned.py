"""Grammar-aligned sampling: draws that come to follow the model's own odds among valid answers.

Masking token by token draws an answer with chance prod_i p(x_i | x_<i) / A(x_<i), where A is the
belief in allowed tokens: a beginning that looks likely but seldom ends well is drawn far too often.
Park et al. 2024 (arXiv 2405.21047) weigh each token with the *expected future* of the beginning it
makes, the chance that the model, left alone, would go on to a valid answer:

    c(x) = sum over tokens t of p(t | x) c(x t),   c(a valid answer) = 1,   c(a refused one) = 0

Drawing t with chance p(t | x) c(x t) / c(x) is exact. The futures are not known; they start at 1
where nothing was drawn yet, and every answer makes those along its path smaller and closer. What
was never drawn needs no node: c(x) = A(x) - sum over what was drawn of p(t | x) (1 - c(x t)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import MatcherError
from ..matcher import GrammarMatcher
from .loop import Floats, Sample, allowed_ids, masked_softmax, text_of

__all__ = ["AlignedSampler"]


@dataclass(slots=True)
class _Beginning:
    """A beginning of answers: the futures of the tokens drawn after it."""

    future: float = 1.0
    children: dict[int, _Beginning] = field(default_factory=dict)


class AlignedSampler:
    """Draws answers and learns from each how seldom its beginning ends well.

    Parameters
    ----------
    model : callable
        Takes the token ids drawn so far and gives the logits of the next: float[n]. The same ids
        should give the same logits.
    matcher : GrammarMatcher
        Where answers begin; forks of it do the work.
    max_beginnings : int
        Beginnings to remember. When there are so many, longer ones than those known keep a future
        of 1, the value that plain masking assumes for all.
    temperature : float
        Of the model's odds, see `masked_softmax`.

    Attributes
    ----------
    n_beginnings : int
        Beginnings remembered so far.
    """

    def __init__(
        self,
        model: Callable[[Sequence[int]], Any],
        matcher: GrammarMatcher,
        *,
        max_beginnings: int = 1_000_000,
        temperature: float = 1.0,
    ) -> None:
        self._model = model
        self._matcher = matcher
        self._max_beginnings = max_beginnings
        self._temperature = temperature
        self._root = _Beginning()
        self.n_beginnings = 1

    @property
    def valid_share(self) -> float:
        """The model's own chance to write a valid answer: an upper bound, ever closer."""
        return self._root.future

    def sample(self, rng: np.random.Generator, max_tokens: int = 256) -> Sample:
        """Draw one answer.

        Parameters
        ----------
        rng : numpy.random.Generator
            One `numpy.random.Generator.choice` over all ids a step.
        max_tokens : int
            Budget of tokens, a stop token included. An answer that is cut off teaches nothing of
            what would have come after it.

        Raises
        ------
        MatcherError
            The model gives no valid answer a chance.
        """
        matcher = self._matcher.fork()
        drawn: list[int] = []
        removed: list[float] = []
        path: list[tuple[_Beginning, Floats, float]] = []
        node: _Beginning | None = self._root
        while not matcher.is_terminated() and len(drawn) < max_tokens:
            belief = masked_softmax(self._model(drawn), None, self._temperature)
            allowed = allowed_ids(matcher.next_token_bitmask(), belief.size)
            weights = np.where(allowed, belief, 0.0)
            allowed_share = float(weights.sum())
            removed.append(1.0 - allowed_share)
            if node is not None:
                path.append((node, belief, allowed_share))
                for token, child in node.children.items():
                    weights[token] *= child.future
            total = weights.sum()
            if not total > 0:
                raise MatcherError("the model gives no valid answer a chance from here")
            token = int(rng.choice(weights.size, p=weights / total))
            node = None if node is None else self._child(node, token)
            drawn.append(token)
            matcher.accept_token(token)
        for parent, belief, allowed_share in reversed(path):
            lost = sum(belief[t] * (1.0 - c.future) for t, c in parent.children.items())
            parent.future = max(0.0, allowed_share - float(lost))
        text = text_of(drawn, matcher.compiled.vocabulary)
        return Sample(tuple(drawn), text, matcher.is_terminated(), tuple(removed))

    def odds(self, max_tokens: int) -> dict[tuple[int, ...], float]:
        """The chance with which it would draw each answer now, by walking every answer.

        Parameters
        ----------
        max_tokens : int
            Longer answers are left out.

        Returns
        -------
        dict of token ids to probability
            At first what plain masking draws, in the end the model's own odds (`sequence_odds`).
        """
        found: dict[tuple[int, ...], float] = {}
        pending: list[tuple[tuple[int, ...], GrammarMatcher, _Beginning | None, float]] = [
            ((), self._matcher.fork(), self._root, 1.0)
        ]
        while pending:
            ids, state, node, chance = pending.pop()
            if state.is_terminated():
                found[ids] = chance
                continue
            if len(ids) == max_tokens:
                continue
            belief = masked_softmax(self._model(ids), None, self._temperature)
            allowed = state.allowed_token_ids().tolist()
            children = {} if node is None else node.children
            weights = {
                token: float(belief[token]) * (children[token].future if token in children else 1.0)
                for token in allowed
            }
            total = sum(weights.values())
            for token, weight in weights.items():
                if weight > 0:
                    following = state.fork()
                    following.accept_token(token)
                    pending.append(
                        ((*ids, token), following, children.get(token), chance * weight / total)
                    )
        return found

    def _child(self, node: _Beginning, token: int) -> _Beginning | None:
        child = node.children.get(token)
        if child is None and self.n_beginnings < self._max_beginnings:
            child = node.children[token] = _Beginning()
            self.n_beginnings += 1
        return child
