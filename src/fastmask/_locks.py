"""Locks that a process can be forked under: the child finds them open, and nothing half done."""

from __future__ import annotations

import os
import threading
import weakref

__all__ = ["new_lock"]

_LOCKS: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_HELD: list[threading.Lock] = []


def new_lock() -> threading.Lock:
    """A lock that is taken while the process forks, whoever held it before."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def _take_all() -> None:
    for lock in list(_LOCKS):
        lock.acquire()
        _HELD.append(lock)


def _release_all() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_release_all)
