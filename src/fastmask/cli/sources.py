"""What several commands ask for: a grammar and a vocabulary."""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, GrammarError, VocabularyError

if TYPE_CHECKING:
    from ..grammar.core import Grammar
    from ..vocabulary import Vocabulary

__all__ = [
    "add_grammar_options",
    "add_vocabulary_option",
    "byte_vocabulary",
    "chosen_grammar",
    "chosen_vocabulary",
    "read",
    "schema_options",
    "schema_text",
]


#: Options of `Grammar.from_json_schema` that have a few values, the default first.
_SCHEMA_CHOICES = {
    "whitespace": ("formatted", "none", "single", "any"),
    "property_order": ("any", "schema"),
    "numbers": ("plain", "any"),
    "strings": ("usual", "any"),
    "formats": ("assert", "annotate"),
    "unsupported": ("error", "relax"),
}


def add_grammar_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """One grammar, from one of the front ends; gives the group, for more ways to name one."""
    group = parser.add_argument_group("the grammar, one of")
    one = group.add_mutually_exclusive_group(required=True)
    one.add_argument("--pattern", help="a regular expression that the whole text must match")
    one.add_argument("--gbnf", metavar="FILE", help="a GBNF or EBNF grammar; - is standard input")
    one.add_argument("--lark", metavar="FILE", help="a Lark grammar")
    one.add_argument("--choice", action="append", metavar="TEXT", help="one of these; repeatable")
    one.add_argument("--any-json", action="store_true", help="any JSON value")
    one.add_argument("--schema", metavar="FILE", help="a JSON Schema")
    parser.add_argument(
        "--dialect", choices=("python", "ecma"), help="of --pattern (default: python)"
    )
    parser.add_argument(
        "--root",
        metavar="RULE",
        help="the rule to start with (default: root for --gbnf, start for --lark)",
    )
    schema = parser.add_argument_group("how a schema is read and written")
    for name, values in _SCHEMA_CHOICES.items():
        schema.add_argument(
            f"--{name.replace('_', '-')}", choices=values, help=f"default: {values[0]}"
        )
    schema.add_argument("--draft", help="where $schema is absent (default: 2020-12)")
    schema.add_argument(
        "--documents",
        metavar="FILE",
        help="a JSON object of other documents by URI, for references to them",
    )
    return one


def schema_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of a schema that were given."""
    named = {name: getattr(options, name) for name in (*_SCHEMA_CHOICES, "draft")}
    given = {name: value for name, value in named.items() if value is not None}
    if options.documents is not None:
        given["documents"] = _documents(options.documents)
    return given


def _documents(path: str) -> dict[str, Any]:
    """Schemas by URI, from a JSON object in a file."""
    try:
        documents = json.loads(read(path))
    except ValueError as problem:
        raise FormatError(f"{path} is not JSON: {problem}") from None
    if not isinstance(documents, dict):
        raise FormatError(f"{path} is not a JSON object of schemas by URI")
    return documents


def add_vocabulary_option(parser: argparse.ArgumentParser) -> None:
    """The vocabulary whose tokens are masked."""
    parser.add_argument(
        "--vocabulary",
        default="gpt2",
        metavar="NAME",
        help="gpt2 (embedded, the default), toy, bytes, or a file: .npz, tokenizer.json, "
        ".tiktoken, .model, .gguf",
    )


def schema_text(options: argparse.Namespace) -> bytes:
    """The schema that the options name, read once: standard input has no second reading."""
    if not hasattr(options, "schema_text"):
        options.schema_text = read(options.schema)
    text: bytes = options.schema_text
    return text


def chosen_grammar(options: argparse.Namespace) -> Grammar:
    """The grammar that the options name.

    Raises
    ------
    GrammarError
        Also for an option that this kind of grammar does not have.
    """
    from ..grammar.core import Grammar

    _refuse_idle(options)
    if options.pattern is not None:
        return Grammar.from_regex(options.pattern, dialect=options.dialect or "python")
    root = {} if options.root is None else {"root": options.root}
    if options.gbnf is not None:
        return Grammar.from_gbnf(_text(options.gbnf), **root)
    if options.lark is not None:
        start = {} if options.root is None else {"start": options.root}
        return Grammar.from_lark(_text(options.lark), **start)
    if options.choice is not None:
        return Grammar.from_choices(options.choice)
    if options.schema is not None:
        return Grammar.from_json_schema(schema_text(options), **schema_options(options))
    return Grammar.json()


def _refuse_idle(options: argparse.Namespace) -> None:
    """Refuse options that would change nothing."""
    if options.dialect is not None and options.pattern is None:
        raise GrammarError("--dialect is for --pattern alone")
    if options.root is not None and options.gbnf is None and options.lark is None:
        raise GrammarError("--root is for --gbnf and --lark alone")
    if options.schema is None:
        for name in (*_SCHEMA_CHOICES, "draft", "documents"):
            if getattr(options, name) is not None:
                raise GrammarError(f"--{name.replace('_', '-')} is for --schema alone")


def _text(path: str) -> str:
    """A file of text."""
    try:
        return read(path).decode()
    except UnicodeDecodeError as problem:
        raise FormatError(f"{path} is not UTF-8: byte {problem.start} cannot be read") from None


def chosen_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name, or from that file."""
    from ..vocabulary import Vocabulary

    if name == "gpt2":
        return Vocabulary.gpt2()
    if name == "toy":
        from .. import toy

        return toy.VOCABULARY
    if name == "bytes":
        return byte_vocabulary()
    readers = {
        ".npz": "load",
        ".json": "from_huggingface",
        ".tiktoken": "from_tiktoken",
        ".model": "from_sentencepiece",
        ".gguf": "from_gguf",
    }
    reader = getattr(Vocabulary, readers.get(Path(name).suffix, ""), None)
    if reader is None:
        raise VocabularyError(
            f"{name!r} is neither gpt2, toy or bytes nor a file that ends in {', '.join(readers)}"
        )
    vocabulary: Vocabulary = reader(name)
    return vocabulary


@cache
def byte_vocabulary() -> Vocabulary:
    """256 tokens of one byte each and an end token: a text's bytes are its token ids."""
    from ..vocabulary import Vocabulary

    return Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_token_ids=[256])


def read(path: str) -> bytes:
    """A file's content; ``-`` is standard input."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
