"""Measuring: masks over real vocabularies, growth, many matchers, cold starts, other engines.

Every part gives plain data that says on which machine it was measured; drawing is apart. Engines
are driven through one adapter each, the same for all that is measured.
"""
