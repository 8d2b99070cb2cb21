"""Readers of tokenizer formats, one a module: each makes a ``TokenTable``."""
