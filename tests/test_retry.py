"""Validate and retry, and that its counts follow the two formulas."""

from __future__ import annotations

import numpy as np
import pytest

from fastmask.sampling import Attempt, RetryResult, all_attempts_fail, expected_attempts, retry


def test_the_message_is_fed_back():
    seen = []

    def generate(refused):
        seen.append([attempt.message for attempt in refused])
        return len(refused)

    found = retry(generate, lambda answer: None if answer == 2 else f"{answer} is too small", 5)
    assert found == RetryResult(2, (Attempt(0, "0 is too small"), Attempt(1, "1 is too small")))
    assert found.attempts == 3
    assert seen == [[], ["0 is too small"], ["0 is too small", "1 is too small"]]


def test_the_budget():
    found = retry(lambda refused: "x", lambda answer: "never", attempts=2)
    assert found.answer is None
    assert found.attempts == 2
    with pytest.raises(ValueError, match="at least 1"):
        retry(lambda refused: "x", lambda answer: None, attempts=0)


def test_counts_follow_the_formulas():
    rng = np.random.default_rng(0)
    p = 0.665
    runs = [
        retry(lambda _: rng.random(), lambda x: None if x < p else "no", 1000) for _ in range(4000)
    ]
    assert np.mean([run.attempts for run in runs]) == pytest.approx(expected_attempts(p), abs=0.05)
    failed = np.mean([run.attempts > 3 for run in runs])
    assert failed == pytest.approx(all_attempts_fail(p, 3), abs=0.012)
