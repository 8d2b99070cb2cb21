"""The vocabulary: which bytes each token id stands for, which ids end a text, which are special.

The tokens are kept as one run of bytes and their offsets, ready for kernels; a Python ``bytes`` is
made only for a token that is asked for.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import io
import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .._arrays import I32, U8
from ..errors import FormatError, VocabularyError
from .resolve import Ids, resolve
from .store import StoredVocabulary, read_vocabulary, write_vocabulary
from .tokens import TokenSequence, TokenTable
from .trie import LONGEST_TOKEN, TokenTrie, build_trie

__all__ = ["Vocabulary"]

_SHOWN_ENDS = 4
_DIGEST_PREFIX = b"fastmask vocabulary 1;"


class Vocabulary:
    """The tokens a model can write, by id.

    Parameters
    ----------
    tokens : sequence of bytes
        The bytes each id stands for in a text; the name of a special token; empty for an unused
        id.
    eos_token_ids : int or iterable of int, optional
        Ids that end a text, allowed exactly where the text may end. If not given, tokens with a
        known name such as ``</s>`` or ``<|endoftext|>`` are looked for.
    special_token_ids : int or iterable of int, optional
        Ids that text never produces. Default: none beside the end ids.
    vocab_size : int, optional
        Width of the model's logits, if it is not the number of tokens. Ids past the tokens are
        padding and never allowed; tokens past the width are dropped if special or empty.

    Attributes
    ----------
    token_bytes : uint8[n_bytes], token_offsets : int32[size + 1]
        Bytes of token ``t`` are ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``.
    is_text : uint8[size]
        1 for the ids that stand for their bytes: neither special, nor an end, nor empty.
    eos_token_ids, special_token_ids : tuple of int
        Ascending.

    Raises
    ------
    VocabularyError
        No end id; an id out of range; a token that is not bytes; text tokens past ``vocab_size``.

    Notes
    -----
    A vocabulary never changes and may be used from any number of threads.
    """

    __slots__ = (
        "_digest",
        "_trie",
        "eos_token_ids",
        "is_text",
        "special_token_ids",
        "token_bytes",
        "token_offsets",
    )

    token_bytes: U8
    token_offsets: I32
    is_text: U8
    eos_token_ids: tuple[int, ...]
    special_token_ids: tuple[int, ...]
    _digest: str | None
    _trie: TokenTrie | None

    def __init__(
        self,
        tokens: Sequence[bytes],
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> None:
        table = TokenTable.of(tokens)
        self._set(resolve(table, eos_token_ids, special_token_ids, vocab_size))

    # What a vocabulary is made of

    @property
    def size(self) -> int:
        """Number of ids, which is the width of the model's logits."""
        return self.token_offsets.size - 1

    @property
    def vocab_size(self) -> int:
        """The same as ``size``."""
        return self.size

    @property
    def tokens(self) -> TokenSequence:
        """The bytes of every id, empty for unused ids and padding."""
        return TokenSequence(self.token_bytes, self.token_offsets)

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides masks."""
        if self._digest is None:
            ends = np.array(self.eos_token_ids, "<i4")
            special = np.array(self.special_token_ids, "<i4")
            digest = hashlib.sha256(_DIGEST_PREFIX)
            for part in (self.token_offsets.astype("<i4"), self.token_bytes, special, ends):
                digest.update(part.size.to_bytes(8, "little"))
                digest.update(part.data)
            self._digest = digest.hexdigest()
        return self._digest

    @property
    def trie(self) -> TokenTrie:
        """The trie of all text tokens, built when first asked for."""
        # Two threads may both build it: the one that is kept equals the other.
        if self._trie is None:
            ids = np.flatnonzero(self.is_text)
            self._trie = build_trie(self.token_bytes, self.token_offsets, ids)
        return self._trie

    @property
    def missing_bytes(self) -> bytes:
        """Bytes that some text token contains but none consists of, ascending.

        A text that needs one of them can be written only through the longer tokens around it.
        """
        alone = np.zeros(256, np.bool_)
        roots = np.flatnonzero(self.trie.depth == 0)
        alone[self.trie.byte[roots[self.trie.token[roots] != -1]]] = True
        return np.flatnonzero(self._contained() & ~alone).astype(np.uint8).tobytes()

    @property
    def absent_bytes(self) -> bytes:
        """Bytes that no text token contains, ascending; no text with one of them can be written."""
        return np.flatnonzero(~self._contained()).astype(np.uint8).tobytes()

    def _contained(self) -> npt.NDArray[np.bool_]:
        return np.bincount(self.trie.byte, minlength=256) > 0

    def ids_of(self, token: bytes) -> list[int]:
        """All ids with exactly these bytes, special names included, ascending."""
        ids = np.flatnonzero(np.diff(self.token_offsets) == len(token))
        places = self.token_offsets[ids][:, None] + np.arange(len(token))
        same = self.token_bytes[places] == np.frombuffer(token, np.uint8)
        return [int(i) for i in ids[same.all(axis=1)]]

    # Equality and printing

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        shown = self.eos_token_ids[:_SHOWN_ENDS]
        ends = ", ".join(f"{i} {self.tokens[i].decode(errors='backslashreplace')}" for i in shown)
        more = ", ..." if len(self.eos_token_ids) > _SHOWN_ENDS else ""
        return (
            f"<Vocabulary: {self.size:,} ids, {int(self.is_text.sum()):,} of them text, "
            f"{len(self.special_token_ids):,} special; ends at {ends}{more}; "
            f"digest {self.digest[:12]}>"
        )

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary and its trie to an ``.npz`` file, under exactly this name."""
        write_vocabulary(path, self._stored(self.trie))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | IO[bytes],
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """Read a file of ``save``, or an ``.npz`` of plain arrays.

        Parameters
        ----------
        path : path or binary file
            The plain arrays are ``bytes`` uint8, ``offsets`` int32[n + 1], ``special`` bool[n] and
            ``eos`` int32.
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the file says.

        Raises
        ------
        FormatError
            Not such a file, of another format version, or damaged.
        """
        stored = read_vocabulary(path)
        special = np.flatnonzero(stored.special).tolist()
        table = TokenTable(stored.token_bytes, stored.token_offsets, special, stored.eos.tolist())
        self = cls._of(table, eos_token_ids, special_token_ids, vocab_size)
        if eos_token_ids is None and special_token_ids is None and vocab_size is None:
            if stored.digest not in (None, self.digest):
                raise FormatError("the vocabulary's tokens do not fit its digest")
            if stored.trie is not None:
                if not stored.trie.fits(np.flatnonzero(self.is_text), self.size):
                    raise FormatError("the vocabulary's trie does not fit its tokens")
                self._trie = stored.trie
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        stream = io.BytesIO()
        write_vocabulary(stream, self._stored(self._trie))
        return _from_bytes, (stream.getvalue(),)

    def _stored(self, trie: TokenTrie | None) -> StoredVocabulary:
        special = np.zeros(self.size, np.bool_)
        special[list(self.special_token_ids)] = True
        ends = np.array(self.eos_token_ids, np.int32)
        return StoredVocabulary(
            self.token_bytes, self.token_offsets, special, ends, self.digest, trie
        )

    # Where vocabularies come from

    @classmethod
    def gpt2(
        cls,
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The embedded vocabulary of GPT-2: 50,257 tokens, one end token (see ``NOTICE``).

        Parameters
        ----------
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of GPT-2's own. Without them each call in a process
            returns the same object.
        """
        gpt2 = _gpt2()
        if eos_token_ids is None and special_token_ids is None and vocab_size is None:
            return gpt2
        table = TokenTable(
            gpt2.token_bytes, gpt2.token_offsets, gpt2.special_token_ids, gpt2.eos_token_ids
        )
        return cls._of(table, eos_token_ids, special_token_ids, vocab_size)

    @classmethod
    def from_huggingface(
        cls,
        tokenizer_or_path: Any,
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a Hugging Face tokenizer: byte-level BPE, or byte fallback and U+2581.

        Parameters
        ----------
        tokenizer_or_path : path, tokenizers.Tokenizer, or a fast tokenizer of transformers
            A path names a ``tokenizer.json`` or its folder; ``generation_config.json`` and the like
            beside it tell the end ids, ``config.json`` the width of the logits.
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the tokenizer says.

        Raises
        ------
        VocabularyError
            No end token; a tokenizer whose tokens are no plain pieces of text, such as WordPiece.
        FormatError
            A damaged file.
        """
        from .sources.huggingface import read_huggingface

        table = read_huggingface(tokenizer_or_path)
        return cls._of(table, eos_token_ids, special_token_ids, vocab_size)

    @classmethod
    def from_tiktoken(
        cls,
        encoding_or_path: Any,
        *,
        special_tokens: Mapping[str, int] | None = None,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a tiktoken encoding.

        Parameters
        ----------
        encoding_or_path : tiktoken.Encoding, or path of a ``.tiktoken`` file
        special_tokens : mapping of name to id, optional
            Special tokens beside the source's: a file has none, they stand in its user's code.
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the encoding says.
        """
        from .sources.tiktoken import read_tiktoken

        table = read_tiktoken(encoding_or_path, special_tokens)
        return cls._of(table, eos_token_ids, special_token_ids, vocab_size)

    @classmethod
    def from_sentencepiece(
        cls,
        model_or_path: Any,
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a SentencePiece model.

        Parameters
        ----------
        model_or_path : path, bytes of a model, or sentencepiece.SentencePieceProcessor
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the model says.
        """
        from .sources.sentencepiece import read_sentencepiece

        table = read_sentencepiece(model_or_path)
        return cls._of(table, eos_token_ids, special_token_ids, vocab_size)

    @classmethod
    def from_mistral(
        cls,
        tokenizer_or_path: Any,
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a tokenizer of Mistral's.

        Parameters
        ----------
        tokenizer_or_path : path, or a tokenizer of mistral-common
            A path names a ``tekken.json`` or a SentencePiece model.
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the tokenizer says.
        """
        from .sources.mistral import read_mistral

        table = read_mistral(tokenizer_or_path)
        return cls._of(table, eos_token_ids, special_token_ids, vocab_size)

    @classmethod
    def from_gguf(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_token_ids: Ids | None = None,
        special_token_ids: Ids | None = None,
        vocab_size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a model in a GGUF file; the weights are not read.

        Parameters
        ----------
        path : path
        eos_token_ids, special_token_ids, vocab_size
            As for ``Vocabulary``, in place of what the file says.
        """
        from .sources.gguf import read_gguf

        return cls._of(read_gguf(path), eos_token_ids, special_token_ids, vocab_size)

    # Making one

    @classmethod
    def _of(
        cls,
        table: TokenTable,
        eos_token_ids: Ids | None,
        special_token_ids: Ids | None,
        vocab_size: int | None,
    ) -> Vocabulary:
        self = cls.__new__(cls)
        self._set(resolve(table, eos_token_ids, special_token_ids, vocab_size))
        return self

    def _set(self, table: TokenTable) -> None:
        self.token_bytes = table.token_bytes
        self.token_offsets = table.token_offsets
        self.eos_token_ids = tuple(table.end_ids)
        self.special_token_ids = tuple(table.special_ids or ())
        lengths = np.diff(table.token_offsets)
        self.is_text = (lengths > 0).astype(np.uint8)
        self.is_text[list(self.special_token_ids)] = 0
        self.is_text[list(self.eos_token_ids)] = 0
        if (too_long := np.flatnonzero((lengths > LONGEST_TOKEN) & (self.is_text > 0))).size:
            raise VocabularyError(
                f"token {too_long[0]} has {lengths[too_long[0]]:,} bytes; a token of text may have "
                f"{LONGEST_TOKEN:,}"
            )
        self._digest = None
        self._trie = None


def _from_bytes(data: bytes) -> Vocabulary:
    """Undo ``Vocabulary.__reduce__``."""
    return Vocabulary.load(io.BytesIO(data))


@functools.cache
def _gpt2() -> Vocabulary:
    file = importlib.resources.files(__package__).joinpath("data", "gpt2.npz")
    with file.open("rb") as stream:
        return Vocabulary.load(stream)
