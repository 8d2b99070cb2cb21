"""Small files of every tokenizer format, made here, and what becomes of them."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest

from fastmask.errors import FastmaskError, FormatError, VocabularyError
from fastmask.vocabulary import Vocabulary
from fastmask.vocabulary.sources import byte_level_bytes

BYTE_LEVEL = {"type": "ByteLevel"}
FALLBACK = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def added(token_id, content, special=False):
    return {"id": token_id, "content": content, "special": special}


def hf(vocab, *added_tokens, decoder=BYTE_LEVEL, kind="BPE", **rest):
    """The content of a tokenizer.json."""
    model = {"type": kind, "vocab": vocab, "merges": [], **rest.pop("model", {})}
    return {"model": model, "added_tokens": added_tokens, "decoder": decoder, **rest}


def save_json(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def from_hf(tmp_path):
    def read(content, **overrides):
        path = save_json(tmp_path / "tokenizer.json", content)
        return Vocabulary.from_huggingface(path, **overrides)

    return read


# Hugging Face: bytes


def test_the_spelling_of_bytes_is_gpt2s():
    """Radford et al.'s construction, step by step."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    printable += range(ord("®"), ord("ÿ") + 1)
    spelled = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in spelled:
            spelled[byte] = chr(256 + len(spelled) - len(printable))
    for byte, character in spelled.items():
        assert byte_level_bytes(character) == bytes([byte])
    assert byte_level_bytes("".join(spelled[byte] for byte in range(256))) == bytes(range(256))


@pytest.mark.parametrize("piece", ["a b", "\n", "\x7f", "\xa0", "\xad", "\uff5c", "Ġ \uff5c"])
def test_a_piece_with_a_character_that_spells_no_byte_is_plain_text(piece):
    assert byte_level_bytes(piece) == piece.encode()


def test_byte_level(from_hf):
    vocabulary = from_hf(
        hf({"a": 0, "Ġa": 1, "Ċ": 2, "Ã©": 3, "ł": 4}, added(6, "<|endoftext|>", special=True))
    )
    assert vocabulary.tokens == [b"a", b" a", b"\n", "é".encode(), b"\xa0", b"", b"<|endoftext|>"]
    assert (vocabulary.eos_token_ids, vocabulary.special_token_ids) == ((6,), (6,))
    assert vocabulary.is_text.tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_byte_level_without_a_decoder_but_a_pre_tokenizer(from_hf):
    before = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, BYTE_LEVEL]}
    content = hf({"Ġa": 0}, added(1, "</s>", True), decoder=None, pre_tokenizer=before)
    assert from_hf(content).tokens == [b" a", b"</s>"]


def test_added_tokens_are_plain_text_in_the_byte_level_family(from_hf):
    vocabulary = from_hf(hf({"Ã©": 0}, added(1, "Ã©"), added(2, "  "), added(3, "</s>", True)))
    assert vocabulary.tokens == ["é".encode(), "Ã©".encode(), b"  ", b"</s>"]
    assert vocabulary.is_text.tolist() == [1, 1, 1, 0]


def test_added_tokens_are_decoded_in_the_byte_fallback_family(from_hf):
    """Gemma's runs of spaces are added tokens, spelled with U+2581."""
    vocabulary = from_hf(
        hf(
            {"▁a": 0, "<0x0A>": 1, "<0xe9>": 2, "<0xZZ>": 3, "a▁": 4, "<0x0A>▁": 5},
            *(added(6, "▁▁"), added(7, "<▁>", special=True), added(8, "</s>", special=True)),
            decoder=FALLBACK,
        )
    )
    assert vocabulary.tokens == [
        *(b" a", b"\n", b"\xe9", b"<0xZZ>", b"a ", b"<0x0A> ", b"  ", "<▁>".encode(), b"</s>")
    ]
    assert vocabulary.special_token_ids == (7, 8)


def test_byte_fallback_without_a_decoder(from_hf):
    content = hf({"▁a": 0, "<0x0A>": 1}, added(2, "</s>", True), decoder=None)
    content["model"]["byte_fallback"] = True
    assert from_hf(content).tokens == [b" a", b"\n", b"</s>"]


def test_without_byte_fallback_a_byte_name_is_text(from_hf):
    decoder = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}
    vocabulary = from_hf(hf({"_a": 0, "<0x0A>": 1}, added(2, "</s>", True), decoder=decoder))
    assert vocabulary.tokens == [b" a", b"<0x0A>", b"</s>"]


def test_unigram(from_hf):
    vocab = [["<unk>", 0.0], ["</s>", 0.0], ["▁the", -3.5], ["é", -9.0]]
    decoder = {"type": "Metaspace", "replacement": "▁"}
    content = hf(
        vocab, added(1, "</s>", True), decoder=decoder, kind="Unigram", model={"unk_id": 0}
    )
    vocabulary = from_hf(content)
    assert vocabulary.tokens == [b"<unk>", b"</s>", b" the", "é".encode()]
    assert vocabulary.special_token_ids == (0, 1)


def test_the_unknown_token_is_special(from_hf):
    content = hf({"a": 0, "<unk>": 1}, added(2, "</s>", True), model={"unk_token": "<unk>"})
    assert from_hf(content).special_token_ids == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (hf({"a": 0}, kind="WordPiece"), "a WordPiece tokenizer"),
        (hf({"a": 0}, kind="WordLevel"), "a WordLevel tokenizer"),
        (hf({"a</w>": 0}, model={"end_of_word_suffix": "</w>"}), "with end_of_word_suffix '</w>'"),
        (hf({"a": 0}, model={"continuing_subword_prefix": "##"}), "continuing_subword_prefix '##'"),
        (hf({"a": 0}, decoder=None), "has no decoder"),
        (hf({"a": 0}, decoder={"type": "BPEDecoder", "suffix": "</w>"}), "decoder .*BPEDecoder"),
        (hf({"a": 0}, decoder={"type": "Strip", "start": 1}), "decoder .*Strip"),
        (
            hf({"a": 0}, decoder={"type": "Replace", "pattern": {"Regex": "x"}, "content": ""}),
            "decoder .*Regex",
        ),
    ],
)
def test_tokenizers_whose_tokens_are_no_plain_text(from_hf, content, message):
    with pytest.raises(VocabularyError, match=message):
        from_hf(content, eos_token_ids=0)


# Hugging Face: which tokens are special, which end


def test_added_tokens_by_flag_and_by_name(from_hf):
    names = ["<unused0>", "<reserved>", "<reserved_9>", "<think>", "unused1", "[unused2]", "<mask>"]
    content = hf({}, *(added(i, name) for i, name in enumerate(names)), added(7, "</s>", True))
    vocabulary = from_hf(content)
    assert vocabulary.special_token_ids == (0, 1, 2, 7)
    assert vocabulary.tokens == [*(name.encode() for name in names), b"</s>"]
    overridden = from_hf(content, special_token_ids=[3, 7])
    assert overridden.special_token_ids == (3, 7)
    assert overridden.is_text.tolist() == [1, 1, 1, 0, 1, 1, 1, 0]


ENDS = [added(i, name, True) for i, name in enumerate(["<eos>", "<end_of_turn>", "<other>"])]


@pytest.mark.parametrize(
    ("files", "ends"),
    [
        ({}, (0, 1)),
        ({"generation_config": {"eos_token_id": [2, 1]}}, (1, 2)),
        ({"generation_config": {"eos_token_id": 2}}, (2,)),
        ({"generation_config": {}}, (0, 1)),
        ({"tokenizer_config": {"eos_token": "<other>"}}, (2,)),
        ({"tokenizer_config": {"eos_token": {"content": "<eos>"}}}, (0,)),
        ({"tokenizer_config": {"eos_token": None}}, (0, 1)),
        ({"special_tokens_map": {"eos_token": {"content": "<other>"}}}, (2,)),
        ({"config": {"eos_token_id": 2}}, (2,)),
        ({"config": {"text_config": {"eos_token_id": [0]}}}, (0,)),
        (
            {"generation_config": {"eos_token_id": 1}, "tokenizer_config": {"eos_token": "<eos>"}},
            (0, 1),
        ),
        ({"tokenizer_config": {"eos_token": "<nowhere>"}}, (0, 1)),
    ],
)
def test_ends_told_by_the_files_beside(tmp_path, files, ends):
    path = save_json(tmp_path / "tokenizer.json", hf({}, *ENDS))
    for name, content in files.items():
        save_json(tmp_path / f"{name}.json", content)
    assert Vocabulary.from_huggingface(path).eos_token_ids == ends
    assert Vocabulary.from_huggingface(str(tmp_path)).eos_token_ids == ends
    assert Vocabulary.from_huggingface(path, eos_token_ids=[1]).eos_token_ids == (1,)


def test_files_beside_a_file_of_another_name_are_not_its_own(tmp_path):
    path = save_json(tmp_path / "my.json", hf({}, *ENDS))
    save_json(tmp_path / "generation_config.json", {"eos_token_id": 2})
    assert Vocabulary.from_huggingface(path).eos_token_ids == (0, 1)


def test_the_width_of_the_logits(tmp_path):
    content = hf({"a": 4, "b": 5}, *ENDS, added(6, "<image>", True))
    save_json(tmp_path / "tokenizer.json", content)
    assert Vocabulary.from_huggingface(tmp_path).size == 7
    save_json(tmp_path / "config.json", {"vocab_size": 64})
    padded = Vocabulary.from_huggingface(tmp_path)
    assert (padded.size, padded.is_text.sum()) == (64, 2)
    assert Vocabulary.from_huggingface(tmp_path, vocab_size=6).size == 6
    save_json(tmp_path / "config.json", {"text_config": {"vocab_size": 6}})
    assert Vocabulary.from_huggingface(tmp_path).tokens[-1] == b"b"
    save_json(tmp_path / "config.json", {"vocab_size": 5})
    with pytest.raises(VocabularyError, match="5 b'b'"):
        Vocabulary.from_huggingface(tmp_path)


def test_no_end_in_a_tokenizer(from_hf):
    with pytest.raises(VocabularyError, match="no end token"):
        from_hf(hf({"a": 0, "</s>": 1}))


@pytest.mark.parametrize(
    "content",
    [
        *(
            "nonsense",
            "[]",
            "{}",
            '{"model": {}}',
            '{"model": {"vocab": {"a": "b"}, "merges": []}, "decoder": {"type": "ByteLevel"}}',
        ),
        json.dumps(hf({"a": -1})),
        json.dumps(hf({"a": 10**15})),
        json.dumps(hf({"a": 0}, {"id": 1})),
        json.dumps(hf({"\ud800": 0})),
        "[" * 100_000,
    ],
)
def test_damaged_json(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=r"tokenizer\.json|token ids from"):
        Vocabulary.from_huggingface(tmp_path / "tokenizer.json", eos_token_ids=0)


def test_damaged_files_beside(tmp_path):
    save_json(tmp_path / "tokenizer.json", hf({}, *ENDS))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FormatError, match=r"config\.json"):
        Vocabulary.from_huggingface(tmp_path)


# tiktoken


def tiktoken_file(path, tokens):
    lines = [base64.b64encode(token) + b" %d" % rank for token, rank in tokens.items()]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_tiktoken_file(tmp_path):
    path = tiktoken_file(tmp_path / "some.tiktoken", {b"a": 0, b"\xff": 1, b"a\n": 3})
    names = {"<|endoftext|>": 5, "<|endofprompt|>": 6, "<|reserved|>": 6}
    vocabulary = Vocabulary.from_tiktoken(path, special_tokens=names)
    assert vocabulary.tokens == [
        *(b"a", b"\xff", b"", b"a\n", b"", b"<|endoftext|>", b"<|endofprompt|>")
    ]
    assert (vocabulary.eos_token_ids, vocabulary.special_token_ids) == ((5,), (5, 6))
    assert np.flatnonzero(vocabulary.is_text).tolist() == [0, 1, 3]


def test_a_tiktoken_file_has_no_end_of_its_own(tmp_path):
    path = tiktoken_file(tmp_path / "some.tiktoken", {b"a": 0, b"</s>": 1})
    with pytest.raises(VocabularyError, match="no end token"):
        Vocabulary.from_tiktoken(path)
    assert Vocabulary.from_tiktoken(path, eos_token_ids=1).eos_token_ids == (1,)


@pytest.mark.parametrize("content", [b"YQ== x", b"YQ==", b"Y$== 0", b"YQ== -1", b"\xff\xfe"])
def test_damaged_tiktoken_files(tmp_path, content):
    (tmp_path / "some.tiktoken").write_bytes(b"YQ== 0\n" + content)
    with pytest.raises(FormatError):
        Vocabulary.from_tiktoken(tmp_path / "some.tiktoken", eos_token_ids=0)


# SentencePiece


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def sentencepiece_model(pieces, **trainer):
    """A model of (text, type) pieces; type 0 is left out, which means normal."""
    score = varint(2 << 3 | 5) + struct.pack("<f", -1.5)
    model = b"".join(
        field(1, field(1, text.encode()) + score + (field(3, kind) if kind else b""))
        for text, kind in pieces
    )
    settings = b"".join(field(int(number[1:]), value) for number, value in trainer.items())
    return model + field(2, settings + field(1, b"corpus.txt"))


PIECES = [
    *(("<unk>", 2), ("<s>", 3), ("</s>", 3), ("▁the", 0), ("▁", 1), ("<0x0A>", 6), ("\n", 1)),
    *(("▁▁▁", 4), ("[DOC]", 4), ("<unused7>", 4), ("gone", 5), ("é", 1)),
]
PIECE_BYTES = [
    *(b"<unk>", b"<s>", b"</s>", b" the", b" ", b"\n", b"\n", b"   ", b"[DOC]", b"<unused7>"),
    *(b"gone", "é".encode()),
]


def test_sentencepiece(tmp_path):
    model = sentencepiece_model(PIECES)
    vocabulary = Vocabulary.from_sentencepiece(model)
    assert vocabulary.tokens == PIECE_BYTES
    assert vocabulary.special_token_ids == (0, 1, 2, 9, 10)
    assert vocabulary.eos_token_ids == (2,)
    assert vocabulary.ids_of(b"\n") == [5, 6]
    (tmp_path / "m.model").write_bytes(model)
    assert Vocabulary.from_sentencepiece(tmp_path / "m.model") == vocabulary
    assert Vocabulary.from_mistral(str(tmp_path / "m.model")) == vocabulary


def test_the_end_of_a_sentencepiece_model():
    assert Vocabulary.from_sentencepiece(sentencepiece_model(PIECES, _42=1)).eos_token_ids == (1,)
    none = sentencepiece_model(PIECES, _42=2**64 - 1)  # -1: switched off
    assert Vocabulary.from_sentencepiece(none).eos_token_ids == (2,)  # by its name
    with pytest.raises(VocabularyError, match="no end token"):
        Vocabulary.from_sentencepiece(sentencepiece_model([("<unk>", 2), ("a", 1), ("b", 1)]))


@pytest.mark.parametrize(
    "model",
    [b"", b"\x0a", b"nonsense", b"\x0a\x05ab", field(2, b""), sentencepiece_model([("x", 6)])],
)
def test_damaged_sentencepiece_models(model):
    with pytest.raises(FormatError):
        Vocabulary.from_sentencepiece(model)


# Mistral


def tekken(**rest):
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for i, token in enumerate([b"a", b"\xff", b"ab", b"beyond"])
    ]
    config = {"default_vocab_size": 8, "default_num_special_tokens": 5, "version": "v3"}
    return {"config": config, "vocab": vocab, **rest}


def test_tekken(tmp_path):
    vocabulary = Vocabulary.from_mistral(save_json(tmp_path / "tekken.json", tekken()))
    assert vocabulary.tokens == [
        *(b"<unk>", b"<s>", b"</s>", b"[INST]", b"[/INST]", b"a", b"\xff", b"ab")
    ]
    assert vocabulary.special_token_ids == (0, 1, 2, 3, 4)
    assert vocabulary.eos_token_ids == (2,)


def test_tekken_with_names_of_its_own(tmp_path):
    names = ["<unk>", "</s>", "[IMG]"]
    special = [{"rank": i, "token_str": name, "is_control": i != 2} for i, name in enumerate(names)]
    path = save_json(tmp_path / "tekken.json", tekken(special_tokens=special))
    vocabulary = Vocabulary.from_mistral(path)
    assert vocabulary.tokens[:5] == [*(b"<unk>", b"</s>", b"[IMG]", b"<SPECIAL_3>", b"<SPECIAL_4>")]
    assert vocabulary.special_token_ids == (0, 1, 2, 3, 4)
    assert vocabulary.eos_token_ids == (1,)


def test_damaged_tekken(tmp_path):
    content = tekken()
    del content["vocab"][2]
    with pytest.raises(FormatError, match=r"tekken\.json"):
        Vocabulary.from_mistral(save_json(tmp_path / "tekken.json", content))


# GGUF


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_string(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    head = struct.pack("<IIQ", 9, 8 if isinstance(value[0], str) else 5, len(value))
    if isinstance(value[0], str):
        return head + b"".join(map(gguf_string, value))
    return head + struct.pack(f"<{len(value)}i", *value)


def gguf_file(path, model="llama", pieces=PIECES, version=3, **entries):
    entries = {
        "model": model,
        "pre": "default",
        "scores_version": 1.5,
        "tokens": [text for text, _ in pieces],
        "token_type": [kind or 1 for _, kind in pieces],
        "merges": ["a b", "ab c"],
        "eos_token_id": 2,
        **entries,
    }
    entries = {name: value for name, value in entries.items() if value is not None}
    data = b"GGUF" + struct.pack("<IQQ", version, 7, len(entries))
    for name, value in entries.items():
        data += gguf_string(f"tokenizer.ggml.{name}") + gguf_value(value)
    path.write_bytes(data + b"weights")
    return path


def test_gguf_of_the_llama_family(tmp_path):
    vocabulary = Vocabulary.from_gguf(gguf_file(tmp_path / "m.gguf"))
    assert vocabulary.tokens == PIECE_BYTES
    assert vocabulary.special_token_ids == (0, 1, 2, 9, 10)
    assert vocabulary.eos_token_ids == (2,)


def test_gguf_of_the_gpt2_family(tmp_path):
    pieces = [("Ġa", 1), ("Ã©", 4), ("<|im_end|>", 3), ("[PAD3]", 5), ("<unused>", 4), ("</s>", 3)]
    path = gguf_file(tmp_path / "m.gguf", "gpt2", pieces, version=2, eot_token_id=5)
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.tokens == [
        *(b" a", "Ã©".encode(), b"<|im_end|>", b"[PAD3]", b"<unused>", b"</s>")
    ]
    assert vocabulary.special_token_ids == (2, 3, 4, 5)
    assert vocabulary.eos_token_ids == (2, 5)


def test_gguf_without_types_or_end(tmp_path):
    pieces = [("▁a", 1), ("</s>", 1)]
    path = gguf_file(tmp_path / "m.gguf", pieces=pieces, token_type=None, eos_token_id=None)
    assert Vocabulary.from_gguf(path, eos_token_ids=1).tokens == [b" a", b"</s>"]
    with pytest.raises(VocabularyError, match="no end token"):
        Vocabulary.from_gguf(path)


@pytest.mark.parametrize("model", ["bert", "rwkv", None])
def test_gguf_of_other_families(tmp_path, model):
    with pytest.raises(VocabularyError, match=f"is {model or 'missing'}; only in"):
        Vocabulary.from_gguf(gguf_file(tmp_path / "m.gguf", model))


def test_gguf_versions(tmp_path):
    for version in (1, 4, 3 << 24):
        with pytest.raises(FormatError, match=f"GGUF version {version}"):
            Vocabulary.from_gguf(gguf_file(tmp_path / "m.gguf", version=version))


# Any source


@pytest.mark.parametrize(
    "make",
    [
        Vocabulary.from_huggingface,
        Vocabulary.from_tiktoken,
        Vocabulary.from_sentencepiece,
        Vocabulary.from_mistral,
        Vocabulary.from_gguf,
    ],
)
def test_things_that_are_no_source(make, tmp_path):
    with pytest.raises(VocabularyError, match=r"a builtins\.dict was given; give .*"):
        make({})
    with pytest.raises(VocabularyError, match="'meta-llama/Llama-3' is no file or folder here"):
        make("meta-llama/Llama-3")


def test_a_folder_without_a_tokenizer(tmp_path):
    with pytest.raises(VocabularyError, match=r"has no tokenizer\.json"):
        Vocabulary.from_huggingface(tmp_path)


@pytest.mark.parametrize("source", ["sentencepiece", "gguf"])
def test_damage_anywhere_is_an_error_or_a_vocabulary(source, tmp_path):
    if source == "sentencepiece":
        data, read = sentencepiece_model(PIECES), Vocabulary.from_sentencepiece
    else:
        path = gguf_file(tmp_path / "m.gguf")
        data = path.read_bytes()

        def read(damaged):
            path.write_bytes(damaged)
            return Vocabulary.from_gguf(path)

    assert read(data).tokens == PIECE_BYTES
    for place in range(0, len(data), 3):
        for damaged in (
            data[:place],
            data[:place] + bytes([data[place] ^ 0x81]) + data[place + 1 :],
        ):
            try:
                read(damaged)
            except FastmaskError:
                continue
