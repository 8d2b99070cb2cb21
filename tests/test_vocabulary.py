"""Vocabularies: what the caller says, what holds, files, and the nine real ones."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.errors import FormatError, VocabularyError
from fastmask.vocabulary import Vocabulary
from fastmask.vocabulary.store import _checksum

TOKENS = [b"a", b"b", b"ab", b"</s>"]
REAL = {
    "mistral_v3_32k": (32_768, (2,), 751),
    "smollm2_49k": (49_152, (2,), 17),
    "gpt2_50k": (50_257, (50_256,), 1),
    "cl100k_100k": (100_277, (100_257,), 5),
    "llama3_128k": (128_256, (128_001, 128_008, 128_009), 256),
    "tekken_131k": (131_072, (2,), 1000),
    "qwen_151k": (151_851, (151_643,), 208),
    "o200k_200k": (200_019, (199_999,), 2),
    "gemma3_262k": (262_144, (1,), 6249),
}


# What a vocabulary is


def test_the_plain_case():
    vocabulary = Vocabulary(TOKENS, eos_token_ids=[3], special_token_ids=[1])
    assert vocabulary.size == vocabulary.vocab_size == len(vocabulary.tokens) == 4
    assert vocabulary.tokens == TOKENS
    assert list(vocabulary.tokens) == TOKENS
    assert vocabulary.eos_token_ids == (3,)
    assert vocabulary.special_token_ids == (1,)
    assert vocabulary.is_text.tolist() == [1, 0, 1, 0]
    assert vocabulary.token_bytes.tobytes() == b"abab</s>"
    assert vocabulary.token_offsets.tolist() == [0, 1, 2, 4, 8]
    assert repr(vocabulary).startswith(
        "<Vocabulary: 4 ids, 2 of them text, 1 special; ends at 3 </s>; digest "
    )


def test_tokens_are_a_sequence():
    tokens = Vocabulary(TOKENS).tokens
    assert (tokens[0], tokens[-1], tokens[1:3]) == (b"a", b"</s>", [b"b", b"ab"])
    assert b"ab" in tokens
    assert tokens.index(b"ab") == 2
    assert list(reversed(tokens)) == TOKENS[::-1]
    assert tokens != TOKENS[:3]
    assert tokens != TOKENS[::-1]
    assert repr(tokens) == "<4 tokens: b'a', b'b', b'ab', ...>"
    with pytest.raises(IndexError):
        tokens[4]


@given(st.lists(st.binary(max_size=5)), st.data())
def test_any_tokens(tokens, data):
    tokens = [*tokens, b"<end>"]
    ids = st.sampled_from(range(len(tokens)))
    ends = data.draw(st.sets(ids, min_size=1))
    special = data.draw(st.sets(ids))
    vocabulary = Vocabulary(tokens, sorted(ends), special)
    assert vocabulary.tokens == tokens
    assert vocabulary.eos_token_ids == tuple(sorted(ends))
    assert vocabulary.special_token_ids == tuple(sorted(special))
    text = [i for i, token in enumerate(tokens) if token and i not in ends | special]
    assert np.flatnonzero(vocabulary.is_text).tolist() == text
    assert sorted(vocabulary.trie.order.tolist()) == text
    inside = {byte for i in text for byte in tokens[i]}
    alone = {tokens[i][0] for i in text if len(tokens[i]) == 1}
    assert vocabulary.missing_bytes == bytes(sorted(inside - alone))
    assert vocabulary.absent_bytes == bytes(sorted(set(range(256)) - inside))
    for token in {*tokens, b"not there at all"}:
        assert vocabulary.ids_of(token) == [i for i, other in enumerate(tokens) if other == token]
    restored = pickle.loads(pickle.dumps(vocabulary))
    assert (restored, restored.tokens, hash(restored)) == (vocabulary, tokens, hash(vocabulary))


def test_ids_may_come_in_any_shape():
    by_array = Vocabulary(TOKENS, np.array([3, 3]), range(1, 2))
    assert by_array == Vocabulary(TOKENS, 3, {1})
    assert by_array.eos_token_ids == (3,)
    assert all(type(i) is int for i in by_array.eos_token_ids)


def test_an_end_may_have_no_bytes_and_is_no_text():
    vocabulary = Vocabulary([b"a", b"", b"b"], eos_token_ids=[1, 2])
    assert vocabulary.is_text.tolist() == [1, 0, 0]


# Ends by name


@pytest.mark.parametrize(
    "name", [b"</s>", b"<|endoftext|>", b"<|im_end|>", b"<|eot_id|>", b"<eos>"]
)
def test_known_end_names(name):
    assert Vocabulary([b"a", name]).eos_token_ids == (1,)


def test_of_plain_tokens_the_surest_name_alone_ends():
    tokens = [b"<|endoftext|>", b"a", b"</s>", b"<|endoftext|>"]
    assert Vocabulary(tokens).eos_token_ids == (0, 3)


def test_of_special_tokens_each_known_name_ends():
    vocabulary = Vocabulary([b"<|endoftext|>", b"a", b"</s>"], special_token_ids=[0, 2])
    assert vocabulary.eos_token_ids == (0, 2)


def test_special_tokens_without_a_known_name():
    assert Vocabulary([b"<pad>", b"a", b"</s>"], special_token_ids=[0]).eos_token_ids == (2,)


@pytest.mark.parametrize("tokens", [[], [b"a"], [b"a", b""]])
def test_no_end(tokens):
    with pytest.raises(VocabularyError, match="no end token.*eos_token_ids="):
        Vocabulary(tokens)


# Sizes


def test_padding_is_never_text():
    vocabulary = Vocabulary(TOKENS, vocab_size=7)
    assert vocabulary.size == len(vocabulary.tokens) == 7
    assert vocabulary.tokens[4:] == [b"", b"", b""]
    assert vocabulary.is_text.tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert vocabulary != Vocabulary(TOKENS)


def test_special_and_empty_tokens_past_the_width_are_dropped():
    tokens = [b"a", b"</s>", b"", b"<image>"]
    vocabulary = Vocabulary(tokens, special_token_ids=[1, 3], vocab_size=2)
    assert vocabulary.tokens == tokens[:2]
    assert vocabulary.special_token_ids == (1,)
    assert vocabulary.token_bytes.size == 5


def test_text_past_the_width_is_named():
    with pytest.raises(VocabularyError, match=r"drop 2 text token\(s\): 1 b'b', 2 b'ab'"):
        Vocabulary(TOKENS[:3], eos_token_ids=[0], vocab_size=1)
    with pytest.raises(VocabularyError, match="4 b'4', 5 b'5', .* and 2 more; name them in"):
        Vocabulary([b"%d" % i for i in range(14)], 0, vocab_size=4)


# Faults


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eos_token_ids": [9]}, "eos_token_ids: 9 is outside the 4 ids"),
        ({"eos_token_ids": [-1, 9]}, "eos_token_ids: -1, 9 are outside the 4 ids"),
        ({"eos_token_ids": [5], "vocab_size": 8}, "eos_token_ids: 5 is in the padding"),
        ({"eos_token_ids": []}, "eos_token_ids is empty"),
        ({"eos_token_ids": "3"}, "eos_token_ids is '3': give one token id or several"),
        ({"eos_token_ids": 3.0}, "eos_token_ids is 3.0"),
        ({"eos_token_ids": [3], "vocab_size": 3}, "eos_token_ids: 3 is outside the 3 ids"),
        ({"special_token_ids": [4]}, "special_token_ids: 4 is outside the 4 ids"),
        ({"special_token_ids": [None]}, "special_token_ids is"),
        ({"vocab_size": 0}, "vocab_size is 0; it must be from 1"),
        ({"vocab_size": -3}, "vocab_size is -3; it must be from 1"),
        ({"vocab_size": 10**12}, "vocab_size is 1,000,000,000,000; it must be from 1"),
        ({"vocab_size": "4"}, "vocab_size is '4'"),
    ],
)
def test_ids_and_sizes_out_of_range(arguments, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(TOKENS, **arguments)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([b"a", "b"], "token 1 is 'b', a str and not bytes; encode it"),
        ([b"a", None], "token 1 is None"),
        ([b"a", 7], "token 1 is 7"),
        (b"abc", "token 0 is 97"),
        ("abc", "not a str"),
        ({b"a": 0}, "not a dict"),
        (7, "not a int"),
    ],
)
def test_tokens_that_are_not_bytes(tokens, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens, 0)


def test_a_text_token_may_have_32767_bytes():
    longest = b"x" * 32_767
    assert Vocabulary([longest, b"</s>"]).trie.longest == 32_767
    assert Vocabulary([longest + b"x", b"a", b"</s>"], special_token_ids=0).trie.longest == 1
    with pytest.raises(VocabularyError, match="token 0 has 32,768 bytes"):
        Vocabulary([longest + b"x", b"</s>"])


# Equality and digests


def test_the_digest_covers_all_that_decides_masks():
    plain = Vocabulary(TOKENS, 3)
    assert plain == Vocabulary(list(TOKENS), [3])
    assert len(plain.digest) == 64
    others = [
        Vocabulary(TOKENS, 2),
        Vocabulary(TOKENS, [2, 3]),
        Vocabulary(TOKENS, 3, 1),
        Vocabulary(TOKENS, 3, 3),
        Vocabulary(TOKENS, 3, vocab_size=5),
        Vocabulary([b"a", b"ba", b"b", b"</s>"], 3),
        Vocabulary([b"a", b"b", b"ac", b"</s>"], 3),
    ]
    assert len({plain, *others}) == len({plain.digest, *(v.digest for v in others)}) == 8
    assert plain != "a vocabulary"


def test_digests_do_not_depend_on_the_machine():
    """A digest names files on disk, so it may not change from one release to the next."""
    assert Vocabulary(TOKENS, 3, 1).digest.startswith("f4eb5dcd56e47187")


# Files


def test_saving_and_loading(tmp_path):
    vocabulary = Vocabulary([*TOKENS, b"a", b"", b"<pad>"], [3], [6], vocab_size=9)
    path = tmp_path / "any.name"
    vocabulary.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["any.name"]
    loaded = Vocabulary.load(str(path))
    assert loaded == vocabulary
    assert loaded.tokens == vocabulary.tokens
    assert (loaded.eos_token_ids, loaded.special_token_ids) == ((3,), (6,))
    assert loaded._trie is not None  # the file's, not built anew
    for name, array in vocabulary.trie.arrays().items():
        kept = loaded.trie.arrays()[name]
        assert (kept.dtype, kept.flags.writeable) == (array.dtype, True)
        assert np.array_equal(kept, array)
    vocabulary.save(path)  # over the old one
    assert Vocabulary.load(path) == vocabulary


def test_a_loaded_file_can_be_overridden(tmp_path):
    Vocabulary(TOKENS, 3).save(tmp_path / "v.npz")
    loaded = Vocabulary.load(tmp_path / "v.npz", eos_token_ids=2, special_token_ids=3, vocab_size=6)
    assert loaded == Vocabulary(TOKENS, 2, 3, 6)
    assert loaded.trie.order.tolist() == [0, 1]


def plain_arrays():
    return {
        "bytes": np.frombuffer(b"abab</s>", np.uint8),
        "offsets": np.array([0, 1, 2, 4, 8], np.int32),
        "special": np.array([False, False, False, True]),
        "eos": np.array([3], np.int32),
    }


def written(arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    stream.seek(0)
    return stream


def test_plain_arrays():
    assert Vocabulary.load(written(plain_arrays())) == Vocabulary(TOKENS, 3, 3)
    without_end = plain_arrays() | {"eos": np.array([], np.int32)}
    assert Vocabulary.load(written(without_end)).eos_token_ids == (3,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 1, 2, 4, 9], np.int32)}, "offsets do not cut"),
        ({"offsets": np.array([0, 2, 1, 4, 8], np.int32)}, "offsets do not cut"),
        ({"offsets": np.array([1, 1, 2, 4, 8], np.int32)}, "offsets do not cut"),
        ({"offsets": np.array([], np.int32)}, "offsets do not cut"),
        ({"offsets": np.array([0, 1, 2, 4, 8], np.int64)}, "array offsets is int64"),
        ({"bytes": np.array(["a"], object)}, "no .npz file, or a damaged one"),
        ({"special": np.zeros((4, 1), np.bool_)}, r"array special is bool of shape \(4, 1\)"),
        ({"special": np.zeros(5, np.bool_)}, "4 tokens, 5 flags"),
        ({"eos": np.array([4], np.int32)}, "end ids outside the tokens"),
        ({"eos": np.array([-1], np.int32)}, "end ids outside the tokens"),
        ({"format_version": np.array(2)}, "has vocabulary format 2, this fastmask reads 1"),
        ({"format_version": np.array("x")}, "has vocabulary format x"),
        ({"format_version": np.array(1)}, "checksum does not fit"),
    ],
)
def test_arrays_that_are_no_vocabulary(change, message):
    with pytest.raises(FormatError, match=message):
        Vocabulary.load(written(plain_arrays() | change))


def test_missing_arrays_are_named():
    with pytest.raises(FormatError, match="no array named eos, special"):
        Vocabulary.load(
            written({k: v for k, v in plain_arrays().items() if k in ("bytes", "offsets")})
        )


def test_files_that_are_no_vocabulary(tmp_path):
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "missing.npz")
    (tmp_path / "text").write_bytes(b"not an archive")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "empty").write_bytes(b"")
    for name in ("text", "one.npy", "empty"):
        with pytest.raises(FormatError, match=name):
            Vocabulary.load(tmp_path / name)


def test_a_changed_array_fails_the_checksum(tmp_path):
    Vocabulary(TOKENS, 3).save(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz") as file:
        arrays = dict(file)
    assert Vocabulary.load(written(arrays)) == Vocabulary(TOKENS, 3)
    for name in arrays.keys() - {"format_version", "checksum"}:
        changed = arrays[name].copy()
        if changed.dtype.kind == "U":
            changed = np.array(str(changed)[:-1] + "x")
        elif changed.size:
            changed.flat[-1] ^= 1
        with pytest.raises(FormatError):
            Vocabulary.load(written(arrays | {name: changed}))


def test_a_trie_of_other_tokens_is_not_believed(tmp_path):
    Vocabulary(TOKENS, 3).save(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz") as file:
        arrays = dict(file)
    del arrays["format_version"], arrays["checksum"]
    arrays["trie_order"] = np.array([0, 1, 3], np.int32)
    sound = {"format_version": np.array(1), "checksum": np.array(_checksum(arrays))}
    with pytest.raises(FormatError, match="trie does not fit"):
        Vocabulary.load(written(arrays | sound))


def test_every_flipped_bit_is_found_or_harmless(tmp_path):
    """Damage is an error or, in the padding of the archive, of no effect; never a wrong token."""
    vocabulary = Vocabulary(TOKENS, 3)
    vocabulary.save(tmp_path / "v.npz")
    data = bytearray((tmp_path / "v.npz").read_bytes())
    for place in range(0, len(data), 7):
        damaged = data.copy()
        damaged[place] ^= 1 << place % 8
        try:
            assert Vocabulary.load(io.BytesIO(damaged)) == vocabulary
        except FormatError:
            continue


@pytest.mark.parametrize("cut", [10, 100, 1000, -1, -100])
def test_cut_files(tmp_path, cut):
    Vocabulary(TOKENS, 3).save(tmp_path / "v.npz")
    (tmp_path / "v.npz").write_bytes((tmp_path / "v.npz").read_bytes()[:cut])
    with pytest.raises(FormatError):
        Vocabulary.load(tmp_path / "v.npz")


def test_an_array_that_claims_to_be_huge():
    stream = io.BytesIO()
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999,), }"
    with zipfile.ZipFile(stream, "w") as archive:
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"x"
        archive.writestr("bytes.npy", array)
    with pytest.raises(FormatError):
        Vocabulary.load(stream)


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="folder"):
        Vocabulary(TOKENS, 3).save(tmp_path / "folder" / "v.npz")
    assert list(tmp_path.iterdir()) == []


# Real vocabularies


@pytest.mark.parametrize("name", REAL)
def test_real_vocabularies(name, data_folder, tmp_path):
    size, ends, n_special = REAL[name]
    vocabulary = Vocabulary.load(data_folder / "vocab" / f"{name}.npz")
    assert (vocabulary.size, vocabulary.eos_token_ids) == (size, ends)
    assert len(vocabulary.special_token_ids) == n_special
    tokens = list(vocabulary.tokens)
    assert Vocabulary(tokens, ends, vocabulary.special_token_ids) == vocabulary
    trie = vocabulary.trie
    assert trie.order.tolist() == sorted(
        np.flatnonzero(vocabulary.is_text).tolist(), key=tokens.__getitem__
    )
    ending = np.flatnonzero(trie.token >= 0)
    assert (trie.order[trie.first[ending]] == trie.token[ending]).all()
    vocabulary.save(tmp_path / "v.npz")
    loaded = Vocabulary.load(tmp_path / "v.npz")
    restored = pickle.loads(pickle.dumps(vocabulary))
    assert loaded == restored == vocabulary
    assert np.array_equal(loaded.trie.skip, trie.skip)


def test_bytes_that_smollm2_cannot_write(data_folder):
    vocabulary = Vocabulary.load(data_folder / "vocab" / "smollm2_49k.npz")
    assert vocabulary.absent_bytes.hex(" ") == (
        "04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff"
    )
    assert vocabulary.missing_bytes == b""


@pytest.mark.parametrize(("name", "duplicates"), [("mistral_v3_32k", 125), ("gemma3_262k", 110)])
def test_byte_strings_with_two_ids(name, duplicates, data_folder):
    vocabulary = Vocabulary.load(data_folder / "vocab" / f"{name}.npz")
    trie = vocabulary.trie
    shared = np.flatnonzero(trie.token == -2)
    assert len(shared) == duplicates
    assert (trie.first[shared + 1] - trie.first[shared] == 2).all()
    for node in shared[:20]:
        first, second = trie.order[trie.first[node] : trie.first[node + 1]]
        assert first < second
        assert vocabulary.tokens[first] == vocabulary.tokens[second]


@pytest.mark.parametrize(("name", "holes"), [("cl100k_100k", 16), ("o200k_200k", 19)])
def test_ids_that_stand_for_nothing(name, holes, data_folder):
    vocabulary = Vocabulary.load(data_folder / "vocab" / f"{name}.npz")
    empty = np.flatnonzero(np.diff(vocabulary.token_offsets) == 0)
    assert len(empty) == holes
    assert not vocabulary.is_text[empty].any()
    assert not np.isin(vocabulary.trie.order, empty).any()


def test_gpt2():
    vocabulary = Vocabulary.gpt2()
    assert vocabulary is Vocabulary.gpt2()
    assert (vocabulary.size, vocabulary.eos_token_ids) == (50_257, (50_256,))
    assert vocabulary.special_token_ids == (50_256,)
    assert vocabulary.tokens[15496] == b"Hello"
    assert vocabulary.tokens[995] == b" world"
    assert vocabulary.ids_of(b"<|endoftext|>") == [50_256]
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary


def test_gpt2_with_padded_logits():
    padded = Vocabulary.gpt2(vocab_size=50_304)
    assert (padded.size, padded.eos_token_ids) == (50_304, (50_256,))
    assert padded == Vocabulary(list(Vocabulary.gpt2().tokens), 50_256, 50_256, 50_304)
    assert Vocabulary.gpt2().size == 50_257


def test_the_embedded_gpt2_is_the_real_one(data_folder):
    assert Vocabulary.gpt2() == Vocabulary.load(data_folder / "vocab" / "gpt2_50k.npz")
