"""Random schemas and instances over so few words that keywords keep meeting one another."""

from __future__ import annotations

import random

KEYS = ("a", "b", "ab", "c", "1")
STRINGS = ("", "a", "b", "ab", "aab", "c", "1", "\u00e9")
NUMBERS = (0, 1, 2, 3, 6, -1, -4, 0.5, 1.5, 2.0, 2.5)
PATTERNS = ("^a", "b$", "a", "^(a|b)$", "^a+b*$", "^.$", "^$", "^ab?$", "c|1", "^[a-c]{2,3}$")
DIVISORS = (1, 2, 3, 0.5, 1.5, 4)
CONSTANTS = (None, True, False, 1, 0, "a", "ab", 2.0, [], {}, [1], ["a", 1], {"a": 1}, {"a": "b"})
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
MODERN = ("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems")


class SchemaMaker:
    """Random schemas of one draft.

    Parameters
    ----------
    rng : random.Random
    draft : {"4", "6", "7", "2019-09", "2020-12"}
    """

    def __init__(self, rng: random.Random, draft: str = "2020-12") -> None:
        self.rng = rng
        self.draft = draft
        self.year = int(draft[:4])
        self.definitions = "$defs" if self.year >= 2019 else "definitions"

    def document(self, depth: int):
        """A schema with definitions that refer to each other."""
        self.names = [f"d{i}" for i in range(self.rng.randint(0, 3))]
        node = self.schema(depth)
        if self.names:
            defined = {name: self.schema(depth - 1, in_place=False) for name in self.names}
            if not isinstance(node, dict):
                node = {"allOf": [node if self.year >= 6 else {}]}
            if "$ref" in node and self.year <= 7:
                node = {"allOf": [node]}
            node[self.definitions] = defined
        if isinstance(node, dict):
            node["$schema"] = {
                "4": "http://json-schema.org/draft-04/schema#",
                "6": "http://json-schema.org/draft-06/schema#",
                "7": "http://json-schema.org/draft-07/schema#",
                "2019-09": "https://json-schema.org/draft/2019-09/schema",
                "2020-12": "https://json-schema.org/draft/2020-12/schema",
            }[self.draft]
        return node

    def schema(self, depth: int, in_place: bool = True):
        """A schema; ``in_place`` False: without references to itself on the same value."""
        rng = self.rng
        if rng.random() < 0.08 and self.year >= 6:
            return rng.random() < 0.6
        node = {}
        writers = list(self._scalar_writers())
        if depth > 0:
            writers += 2 * list(self._deep_writers())
            if in_place:
                writers += 2 * list(self._combinators())
        for writer in rng.sample(writers, min(len(writers), rng.choice((1, 1, 2, 2, 3, 4)))):
            writer(node, depth - 1)
        if in_place and self.names and rng.random() < 0.15:
            node["$ref"] = f"#/{self.definitions}/{rng.choice(self.names)}"
        return node

    def schemas(self, depth: int, most: int = 3):
        return [self.schema(depth) for _ in range(self.rng.randint(1, most))]

    def _scalar_writers(self):
        rng = self.rng

        def types(node, depth):
            names = rng.sample(TYPES, rng.choice((1, 1, 1, 2, 3)))
            node["type"] = names[0] if len(names) == 1 else names

        def enum(node, depth):
            node["enum"] = rng.sample(CONSTANTS, rng.randint(1, 4))

        def const(node, depth):
            node["const"] = rng.choice(CONSTANTS)

        def bounds(node, depth):
            name = rng.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
            if self.year == 4 and name.startswith("exclusive"):
                node[name[9:].lower()] = rng.choice(NUMBERS)
                node[name] = rng.random() < 0.7
            else:
                node[name] = rng.choice(NUMBERS)

        def multiple(node, depth):
            node["multipleOf"] = rng.choice(DIVISORS)

        def length(node, depth):
            node[rng.choice(("minLength", "maxLength"))] = rng.randint(0, 3)

        def pattern(node, depth):
            node["pattern"] = rng.choice(PATTERNS)

        yield from (types, types, types, enum, bounds, multiple, length, pattern)
        if self.year >= 6:
            yield const

    def _deep_writers(self):
        rng = self.rng

        def properties(node, depth):
            keys = rng.sample(KEYS, rng.randint(1, 3))
            node["properties"] = {key: self.schema(depth) for key in keys}

        def patterns(node, depth):
            keys = rng.sample(PATTERNS, rng.randint(1, 2))
            node["patternProperties"] = {key: self.schema(depth) for key in keys}

        def additional(node, depth):
            node["additionalProperties"] = rng.random() < 0.3 or (
                False if rng.random() < 0.5 else self.schema(depth)
            )

        def names(node, depth):
            node["propertyNames"] = self.schema(depth)

        def required(node, depth):
            node["required"] = rng.sample(KEYS, rng.randint(1, 2))

        def key_count(node, depth):
            node[rng.choice(("minProperties", "maxProperties"))] = rng.randint(0, 3)

        def dependencies(node, depth):
            node["dependencies"] = {
                key: self.schema(depth) if rng.random() < 0.5 else rng.sample(KEYS, 1)
                for key in rng.sample(KEYS, 1)
            }

        def dependent(node, depth):
            if rng.random() < 0.5:
                node["dependentRequired"] = {rng.choice(KEYS): rng.sample(KEYS, rng.randint(1, 2))}
            else:
                node["dependentSchemas"] = {rng.choice(KEYS): self.schema(depth)}

        def items(node, depth):
            if self.year < 2020 and rng.random() < 0.4:
                node["items"] = self.schemas(depth)
                if rng.random() < 0.6:
                    node["additionalItems"] = self.schema(depth)
            else:
                node["items"] = self.schema(depth)

        def prefix(node, depth):
            node["prefixItems"] = self.schemas(depth)

        def contains(node, depth):
            node["contains"] = self.schema(depth)
            if self.year >= 2019 and rng.random() < 0.5:
                node["minContains"] = rng.randint(0, 2)
            if self.year >= 2019 and rng.random() < 0.5:
                node["maxContains"] = rng.randint(0, 2)

        def item_count(node, depth):
            node[rng.choice(("minItems", "maxItems"))] = rng.randint(0, 3)

        def unique(node, depth):
            node["uniqueItems"] = True

        def unevaluated(node, depth):
            node[rng.choice(("unevaluatedProperties", "unevaluatedItems"))] = (
                False if rng.random() < 0.6 else self.schema(depth)
            )

        yield from (properties, properties, patterns, additional, required, key_count)
        yield from (dependencies, items, item_count, unique)
        if self.year >= 6:
            yield from (names, contains)
        if self.year >= 2019:
            yield from (dependent, unevaluated, unevaluated)
        if self.year >= 2020:
            yield prefix

    def _combinators(self):
        def many(name):
            def write(node, depth):
                node[name] = self.schemas(depth)

            return write

        def negation(node, depth):
            node["not"] = self.schema(depth)

        def condition(node, depth):
            node["if"] = self.schema(depth)
            for name in ("then", "else"):
                if self.rng.random() < 0.7:
                    node[name] = self.schema(depth)

        yield from (many("allOf"), many("anyOf"), many("oneOf"), many("oneOf"), negation)
        if self.year >= 7:
            yield condition


def random_instance(rng: random.Random, depth: int = 3):
    """A JSON value out of the same vocabulary."""
    kind = rng.random()
    if depth > 0 and kind < 0.3:
        return {key: random_instance(rng, depth - 1) for key in rng.sample(KEYS, rng.randint(0, 3))}
    if depth > 0 and kind < 0.5:
        return [random_instance(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if kind < 0.7:
        return rng.choice(STRINGS)
    return rng.choice(NUMBERS) if kind < 0.88 else rng.choice(CONSTANTS)


def mutated(rng: random.Random, value, steps: int = 1):
    """A copy of a JSON value with something changed in it."""
    for _ in range(steps):
        value = _mutated(rng, value)
    return value


def _mutated(rng, value):
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        choice = rng.random()
        rest = {k: v for k, v in value.items() if k != key}
        if choice < 0.25:
            return rest
        if choice < 0.45:
            return {**value, rng.choice(KEYS): random_instance(rng, 1)}
        return {**value, key: _mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        choice = rng.random()
        if choice < 0.2:
            return value[:at] + value[at + 1 :]
        if choice < 0.4:
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], _mutated(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice((value + 1, value - 1, -value, value / 2, value * 2))
    if isinstance(value, str) and rng.random() < 0.5:
        return rng.choice((value + "a", value[1:], value[:-1], value * 2))
    return random_instance(rng, 1)
