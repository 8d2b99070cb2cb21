"""JSON Schema by algebra: from a schema to formulas, conjunctions and facts about them."""
