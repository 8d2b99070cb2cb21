"""Arrays that are used again: what their last user left, and how it is cleared piece by piece."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastmask import _pool
from fastmask._pool import Clearing, Pool


def test_an_array_comes_back_clear():
    pool = Pool()
    array = pool.take(100, np.int32)
    assert not array.any()
    array[10:20] = 1
    pool.give_back(array, slice(10, 20))
    assert pool.take(99, np.int32) is not array
    again = pool.take(100, np.int32)
    assert again is array
    assert not again.any()


def test_what_has_to_be_cleared_is_said():
    pool = Pool()
    array = pool.take(100, np.int32)
    array[10:20] = 1
    pool.give_back(array, slice(10, 20))
    again, used = pool.take_used(100, np.int32)
    assert again is array
    assert used == [slice(10, 20)]
    assert again[10:20].all()


@given(
    st.sets(st.integers(0, 59)).map(sorted),
    st.lists(st.tuples(st.sampled_from(["clear", "skip", "leave"]), st.integers(0, 60))),
)
def test_an_array_is_cleared_from_the_front(places, steps):
    """As an array of flags does it, with nothing cleared ahead."""
    before, _pool._CLEARED_AT_ONCE = _pool._CLEARED_AT_ONCE, 0
    try:
        array = np.zeros(60, np.int32)
        array[places] = 1
        clearing = Clearing(array, [slice(i, i + 1) for i in places])
        unclear = {*places}
        reached = 0
        for kind, end in steps:
            behind = {i for i in places if reached <= i < end}
            getattr(clearing, kind)(end)
            if kind == "clear":
                assert not array[reached:end].any()
            else:
                assert array[sorted(behind)].all()
            if kind != "leave":
                unclear -= behind
            reached = max(reached, end)
        assert sorted(part.start for part in clearing.unclear()) == sorted(unclear)
    finally:
        _pool._CLEARED_AT_ONCE = before
