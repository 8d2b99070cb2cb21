"""What all engines are measured on: grammars, and texts that they accept.

Nothing here imports an engine, and everything comes out of a seed, so that each engine, in a
process and an environment of its own, sees the same.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GRAMMARS = ROOT / "tests" / "grammars"


@dataclass(frozen=True)
class Case:
    """A grammar in the notations that engines read, and texts that it accepts."""

    name: str
    grammar: dict[str, Any]  # "json": True, "gbnf": text, or "schema": value
    texts: list[str]


def cases(name: str) -> Iterator[Case]:
    """The cases of a set: ``json``, ``sql``, ``c``."""
    if name == "json":
        yield Case("json", {"json": True}, json_documents())
    else:
        grammar = (GRAMMARS / f"{name}.gbnf").read_text(encoding="utf-8")
        yield Case(name, {"gbnf": grammar}, grammar_texts(name))


def grammar_texts(name: str) -> list[str]:
    """Texts that a grammar of ``tests/grammars`` accepts."""
    content = (GRAMMARS / f"{name}.texts").read_text(encoding="utf-8").removesuffix("\n")
    parts = (part.partition("\n") for part in f"\n{content}".split("\n=== ")[1:])
    texts = [text for verdict, _, text in parts if verdict == "accept"]
    statements = GRAMMARS / f"{name}.statements"
    if statements.exists():
        texts += statements.read_text(encoding="utf-8").splitlines()
    return [text for text in texts if text]


# --- JSON documents

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
STYLES: tuple[dict[str, Any], ...] = (
    {"separators": (",", ":")},
    {},
    {"indent": 2},
)
_ASCII = (
    "the of order customer shipping total amount status pending address street city country "
    "invoice payment method created updated description quantity price weight colour notes"
).split()
_CJK = [
    "東京",
    "注文",
    "住所",
    "合計金額",
    "配送",
    "客户",
    "状态",
    "数量",
    "价格",
    "説明",
    "備考",
    "你好",
]


def json_documents() -> list[str]:
    """Documents of 1 to 100 kB: compact, spaced, pretty-printed; ASCII, and CJK inside strings."""
    documents = []
    for number, size in enumerate(SIZES):
        for kind, style in enumerate(STYLES):
            words = (_ASCII, _CJK)[(number + kind) % 2]
            value = _value_of_size(random.Random(len(documents)), words, size)
            documents.append(json.dumps(value, ensure_ascii=False, **style))
    return documents


def _value_of_size(chooser: random.Random, words: list[str], size: int) -> list[Any]:
    records: list[Any] = []
    while len(json.dumps(records, ensure_ascii=False).encode()) < size:
        records.append(_record(chooser, words))
    return records


def _record(chooser: random.Random, words: list[str]) -> dict[str, Any]:
    def phrase(least: int, most: int) -> str:
        joined = " ".join(chooser.choice(words) for _ in range(chooser.randint(least, most)))
        return joined + chooser.choice(["", "", ".", "!", ' "', "\n", "\\"])

    def scalar() -> Any:
        return chooser.choice(
            [
                chooser.randint(0, 10**6),
                round(chooser.uniform(-1e3, 1e3), chooser.randint(1, 6)),
                chooser.choice([1e-9, 6.02e23, 0, -1]),
                chooser.choice([True, False, None]),
                phrase(1, 3),
            ]
        )

    return {
        "id": chooser.randint(1, 10**9),
        "name": phrase(1, 4),
        "active": chooser.random() < 0.5,
        "text": phrase(5, 40),
        "tags": [chooser.choice(words) for _ in range(chooser.randint(0, 5))],
        chooser.choice(_ASCII): scalar(),
        "nested": {
            chooser.choice(words): [scalar() for _ in range(chooser.randint(0, 4))],
            "position": {"x": scalar(), "y": [[scalar()], {}]},
        },
    }
