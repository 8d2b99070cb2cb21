"""Drawing tokens under a mask: the loop, its odds, and what became of the answers."""

from .aligned import AlignedSampler
from .loop import Sample, allowed_ids, masked_softmax, sample, truncated
from .odds import (
    all_attempts_fail,
    chance_all_valid,
    count_spellings,
    expected_attempts,
    naive_mask_work,
    sequence_odds,
    table_mask_work,
)
from .outcomes import Outcomes, count_outcomes
from .retry import Attempt, RetryResult, retry

__all__ = [
    "AlignedSampler",
    "Attempt",
    "Outcomes",
    "RetryResult",
    "Sample",
    "all_attempts_fail",
    "allowed_ids",
    "chance_all_valid",
    "count_outcomes",
    "count_spellings",
    "expected_attempts",
    "masked_softmax",
    "naive_mask_work",
    "retry",
    "sample",
    "sequence_odds",
    "table_mask_work",
    "truncated",
]
