"""The lesson on structured output that fastmask began with: its figures and plots, recomputed."""

from __future__ import annotations

from .expected import EXPECTED, differences
from .figures import FIGURES, answers, toy_matcher

__all__ = ["EXPECTED", "FIGURES", "answers", "differences", "toy_matcher"]
