"""Bitmask rows: layout, checks, and the one pass that puts a row onto logits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.bitmask import (
    _apply_on_device,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    bitmask_rows,
    reset_token_bitmask,
)
from fastmask.errors import BitmaskError

DTYPES = [np.float16, np.float32, np.float64]


def packed(allowed):
    """The bitmask row of a sequence of booleans, by NumPy's own bit order."""
    bits = np.zeros(-(-len(allowed) // 32) * 32, bool)
    bits[: len(allowed)] = allowed
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


def masked(logits, allowed):
    """The judge: one element at a time."""
    result = logits.copy()
    for i, yes in enumerate(allowed[: logits.size]):
        if not yes:
            result[i] = -np.inf
    return result


def same_bits(left, right):
    return left.tobytes() == right.tobytes()


class TestAllocate:
    def test_shape_dtype_and_everything_allowed(self):
        bitmask = allocate_token_bitmask(3, 83)
        assert bitmask.shape == (3, 3)
        assert bitmask.dtype == np.int32
        assert (bitmask == -1).all()

    @pytest.mark.parametrize(("size", "words"), [(1, 1), (32, 1), (33, 2), (128256, 4008)])
    def test_words_of_a_row(self, size, words):
        assert allocate_token_bitmask(1, size).shape == (1, words)

    @pytest.mark.parametrize(("batch", "size"), [(-1, 10), (1, 0), (1, -5)])
    def test_refused_sizes(self, batch, size):
        with pytest.raises(BitmaskError, match="vocabulary of 1 or more"):
            allocate_token_bitmask(batch, size)

    def test_reset(self):
        bitmask = np.zeros((2, 4), np.int32)
        reset_token_bitmask(bitmask)
        assert (bitmask == -1).all()
        row = np.zeros(4, np.int32)
        reset_token_bitmask(row)
        assert (row == -1).all()


class TestRows:
    def test_memory_is_shared(self):
        row = np.zeros(4, np.int32)
        bitmask_rows(row)[0, 2] = 7
        assert row[2] == 7

    @pytest.mark.parametrize(
        ("bitmask", "what"),
        [
            ([1, 2], "not list"),
            (np.zeros(3, np.int64), "not int64"),
            (np.zeros(3, np.uint32), "not uint32"),
            (np.zeros(3, ">i4"), "is int32"),
            (np.zeros((2, 2, 2), np.int32), "shape"),
            (np.int32(3), "not int32"),
            (np.zeros((4, 4), np.int32)[:, ::2], "C-contiguous"),
            (np.zeros((4, 4), np.int32).T[1:], "C-contiguous"),
        ],
    )
    def test_what_is_not_a_bitmask(self, bitmask, what):
        with pytest.raises(BitmaskError, match=what):
            bitmask_rows(bitmask)

    def test_read_only_may_be_read_but_not_filled(self):
        row = np.zeros(4, np.int32)
        row.flags.writeable = False
        assert bitmask_rows(row).shape == (1, 4)
        with pytest.raises(BitmaskError, match="read-only"):
            reset_token_bitmask(row)


class TestApply:
    @pytest.mark.parametrize("dtype", DTYPES)
    @given(data=st.data())
    def test_equals_the_judge(self, dtype, data):
        allowed = data.draw(st.lists(st.booleans(), min_size=1, max_size=100))
        columns = data.draw(st.integers(1, len(allowed)))
        rng = np.random.default_rng(len(allowed))
        logits = rng.normal(size=columns).astype(dtype)
        expected = masked(logits, allowed)
        apply_token_bitmask_inplace(logits, packed(allowed))
        assert same_bits(logits, expected)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 83, 1000])
    @pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.96, 1.0])
    def test_sizes_and_shares(self, dtype, size, share):
        rng = np.random.default_rng(size)
        allowed = rng.random(size) < share
        logits = rng.normal(size=size).astype(dtype)
        expected = masked(logits, allowed)
        apply_token_bitmask_inplace(logits, packed(allowed))
        assert same_bits(logits, expected)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_allowed_values_keep_every_bit(self, dtype):
        values = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-7, 1.5], dtype)
        logits = np.tile(values, 8)
        expected = logits.copy()
        apply_token_bitmask_inplace(logits, packed(np.ones(64, bool)))
        assert same_bits(logits, expected)
        apply_token_bitmask_inplace(logits, packed([True] * 32 + [False] * 32))
        assert same_bits(logits[:32], expected[:32])
        assert (logits[32:] == -np.inf).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("columns", [1, 5, 31, 32, 40])
    def test_nothing_is_written_beyond_the_columns(self, dtype, columns):
        memory = np.ones(100, dtype)
        apply_token_bitmask_inplace(memory[10 : 10 + columns], np.zeros(4, np.int32))
        assert (memory[:10] == 1).all()
        assert (memory[10 : 10 + columns] == -np.inf).all()
        assert (memory[10 + columns :] == 1).all()

    def test_many_rows(self):
        rng = np.random.default_rng(1)
        allowed = rng.random((5, 83)) < 0.5
        logits = rng.normal(size=(5, 83)).astype(np.float32)
        expected = np.array([masked(row, yes) for row, yes in zip(logits, allowed, strict=True)])
        apply_token_bitmask_inplace(logits, np.array([packed(yes) for yes in allowed]))
        assert same_bits(logits, expected)

    def test_rows_may_lie_apart(self):
        memory = np.ones((4, 3, 40), np.float32)
        apply_token_bitmask_inplace(memory[:, -1], np.zeros((4, 2), np.int32))
        assert (memory[:, -1] == -np.inf).all()
        assert (memory[:, :-1] == 1).all()

    def test_indices_name_the_same_row_of_both(self):
        logits = np.zeros((3, 40), np.float32)
        bitmask = np.zeros((2, 2), np.int32)
        apply_token_bitmask_inplace(logits, bitmask, indices=[1])
        assert (logits[1] == -np.inf).all()
        assert (logits[[0, 2]] == 0).all()
        apply_token_bitmask_inplace(logits, bitmask, indices=np.array([0, 0]))
        assert (logits[0] == -np.inf).all()
        apply_token_bitmask_inplace(logits, bitmask, indices=[])
        assert (logits[2] == 0).all()

    @pytest.mark.parametrize("indices", [[2], [-1], [0, 5], [[0]], [0.5], ["a"]])
    def test_indices_out_of_range(self, indices):
        logits = np.zeros((3, 40), np.float32)
        with pytest.raises(BitmaskError, match="ind"):
            apply_token_bitmask_inplace(logits, np.zeros((2, 2), np.int32), indices)
        assert (logits == 0).all()

    @pytest.mark.parametrize(
        ("logits", "bitmask", "what"),
        [
            (np.zeros(65, np.float32), np.zeros(2, np.int32), "65 columns.*64 bits"),
            (np.zeros((2, 8), np.float32), np.zeros((3, 1), np.int32), "2 rows.*3 rows"),
            (np.zeros((2, 8), np.float32), np.zeros(1, np.int32), "2 rows.*1 rows"),
            (np.zeros(8, np.int32), np.zeros(1, np.int32), "<i4"),
            (np.zeros(8, ">f4"), np.zeros(1, np.int32), ">f4"),
            (np.zeros(8, np.complex64), np.zeros(1, np.int32), "<c8"),
            (np.zeros((1, 1, 8), np.float32), np.zeros(1, np.int32), "shape"),
            (np.zeros(16, np.float32)[::2], np.zeros(1, np.int32), "8 bytes apart"),
            (np.zeros((8, 2), np.float32).T, np.zeros((2, 1), np.int32), "8 bytes apart"),
            (np.zeros(9, np.uint8)[1:].view(np.float32), np.zeros(1, np.int32), "address"),
            ([0.0, 1.0], np.zeros(1, np.int32), "not list"),
            (np.zeros(8, np.float32), np.zeros(1, np.int64), "not int64"),
            (np.zeros(8, np.float32), None, "not NoneType"),
        ],
    )
    def test_what_does_not_fit(self, logits, bitmask, what):
        with pytest.raises(BitmaskError, match=what):
            apply_token_bitmask_inplace(logits, bitmask)

    def test_read_only_arrays(self):
        logits = np.zeros(8, np.float32)
        bitmask = np.zeros(1, np.int32)
        bitmask.flags.writeable = False
        apply_token_bitmask_inplace(logits, bitmask)
        assert (logits == -np.inf).all()
        logits.flags.writeable = False
        with pytest.raises(BitmaskError, match="read-only"):
            apply_token_bitmask_inplace(logits, bitmask)

    def test_no_rows(self):
        apply_token_bitmask_inplace(np.zeros((0, 8), np.float32), np.zeros((0, 1), np.int32))


@pytest.fixture(name="torch", scope="module")
def import_torch():
    return pytest.importorskip("torch", reason="torch is not installed")


class TestTorch:
    """Against the real package; without it these are skipped."""

    @pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
    @pytest.mark.parametrize("on_device", [False, True], ids=["kernel", "torch-operations"])
    def test_equals_the_judge(self, torch, name, on_device):
        rng = np.random.default_rng(2)
        allowed = rng.random((3, 83)) < 0.5
        bitmask = np.array([packed(yes) for yes in allowed])
        logits = torch.from_numpy(rng.normal(size=(3, 83))).to(getattr(torch, name))
        expected = logits.masked_fill(torch.from_numpy(~allowed), float("-inf"))
        some = logits.clone()
        apply = _apply_on_device if on_device else apply_token_bitmask_inplace
        apply(logits, torch.from_numpy(bitmask), None)
        assert torch.equal(logits, expected)
        apply(some, bitmask, [2])
        assert torch.equal(some[2], expected[2])
        assert not torch.isinf(some[:2]).any()

    @pytest.mark.parametrize("on_device", [False, True], ids=["kernel", "torch-operations"])
    def test_one_row_and_rows_apart(self, torch, on_device):
        apply = _apply_on_device if on_device else apply_token_bitmask_inplace
        memory = torch.ones(2, 3, 40)
        apply(memory[:, -1], np.zeros((2, 2), np.int32), None)
        assert torch.isinf(memory[:, -1]).all()
        assert (memory[:, :-1] == 1).all()
        row = torch.ones(40)
        apply(row, np.zeros(2, np.int32), None)
        assert torch.isinf(row).all()

    def test_bitmasks_share_memory(self, torch):
        bitmask = torch.zeros(2, 3, dtype=torch.int32)
        reset_token_bitmask(bitmask)
        assert (bitmask == -1).all()
        bitmask_rows(bitmask)[1, 1] = 5
        assert bitmask[1, 1] == 5

    def test_what_does_not_fit(self, torch):
        with pytest.raises(BitmaskError, match="torch.int64"):
            bitmask_rows(torch.zeros(2, dtype=torch.int64))
        with pytest.raises(BitmaskError, match="contiguous"):
            bitmask_rows(torch.zeros(4, 4, dtype=torch.int32).t())
        with pytest.raises(BitmaskError, match="torch.int32"):
            apply_token_bitmask_inplace(torch.zeros(8, dtype=torch.int32), np.zeros(1, np.int32))
        with pytest.raises(BitmaskError, match="torch.int32"):
            _apply_on_device(torch.zeros(8, dtype=torch.int32), np.zeros(1, np.int32), None)
        with pytest.raises(BitmaskError, match="65 columns"):
            _apply_on_device(torch.zeros(65), np.zeros(2, np.int32), None)
        with pytest.raises(BitmaskError, match="meta"):
            bitmask_rows(torch.zeros(2, dtype=torch.int32, device="meta"))
