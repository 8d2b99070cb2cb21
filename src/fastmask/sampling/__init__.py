"""Drawing tokens under a mask: the loop, its odds, and what became of the answers."""

from ..shortest import Completion, least_bytes, shortest_completion
from .aligned import AlignedSampler
from .batches import sample_batch
from .beams import Beam, beam_search
from .healing import heal, healed_grammar
from .loop import Sample, allowed_ids, masked_softmax, sample, text_of, truncated
from .odds import (
    all_attempts_fail,
    chance_all_valid,
    expected_attempts,
    naive_mask_work,
    sequence_odds,
    table_mask_work,
)
from .outcomes import Outcomes, count_outcomes
from .phases import think_then_answer
from .picard import favourites
from .retry import Attempt, RetryResult, retry
from .speculative import speculative_sample
from .spelling import count_spellings, longest_spelling, spellings
from .steering import Steering
from .tools import tool_call_grammar, tool_call_schema

__all__ = [
    "AlignedSampler",
    "Attempt",
    "Beam",
    "Completion",
    "Outcomes",
    "RetryResult",
    "Sample",
    "Steering",
    "all_attempts_fail",
    "allowed_ids",
    "beam_search",
    "chance_all_valid",
    "count_outcomes",
    "count_spellings",
    "expected_attempts",
    "favourites",
    "heal",
    "healed_grammar",
    "least_bytes",
    "longest_spelling",
    "masked_softmax",
    "naive_mask_work",
    "retry",
    "sample",
    "sample_batch",
    "sequence_odds",
    "shortest_completion",
    "speculative_sample",
    "spellings",
    "table_mask_work",
    "text_of",
    "think_then_answer",
    "tool_call_grammar",
    "tool_call_schema",
    "truncated",
]
