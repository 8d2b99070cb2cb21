"""Histories against plain lists: steps, steps taken back, forks, and the last bytes read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmask as fm
from fastmask.history import History
from fastmask.kernels import layout

VOCABULARY = fm.Vocabulary([b"a", b"bc", b"def", b"</s>"], eos_token_ids=[3])

#: What happens to one of the histories there are: a token, a text, steps taken back, a fork.
happenings = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.one_of(
            st.integers(0, 2),
            st.binary(max_size=4),
            st.tuples(st.integers(0, 9)),
            st.just("fork"),
        ),
    ),
    max_size=40,
)


def new_history():
    words = np.zeros(layout.M_SIZE, np.int64)
    return words, History(words, VOCABULARY)


@given(happenings)
def test_a_history_is_a_list_of_steps(what):
    known = [(*new_history(), [0], [])]  # record, history, configurations so far, bytes of steps
    for number, happening in enumerate(what, 1):
        which, event = happening
        words, history, before, read = known[which % len(known)]
        if event == "fork":
            copy = words.copy()
            known.append((copy, history.fork(copy), [*before], [*read]))
        elif isinstance(event, tuple):
            (n,) = event
            if n > len(read):
                with pytest.raises(fm.MatcherError, match=f"cannot take back {n} of {len(read)} "):
                    history.take_back(n)
            else:
                history.take_back(n)
                del before[len(before) - n :], read[len(read) - n :]
        elif isinstance(event, int):
            history.push(number, event)
            before.append(number)
            read.append(VOCABULARY.tokens[event])
        else:
            history.push_text(number, event)
            before.append(number)
            read.append(event)
        for words, history, before, read in known:
            assert words[layout.M_CONFIGURATION] == before[-1]
            assert history.n_steps == len(read)
            assert history.tail(1_000, b"+") == b"".join(read) + b"+"
            assert history.tail(3, b"") == b"".join(read)[-3:]


def test_room_is_made_an_eighth_at_a_time():
    words, history = new_history()
    for step in range(10_000):
        history.push(step, 0)
        assert words[layout.M_HISTORY + 1] == history.steps.size
    assert history.steps.size <= 2 * 10_000 * 9 // 8
    history.take_back(9_999)
    assert words[layout.M_CONFIGURATION] == 0
    assert not history.make_room()
