"""Files fastmask keeps for itself: private, checked before they are believed, replaced whole.

A file is a magic word, the SHA-256 of what follows, and the payload. It is written under a
temporary name and renamed, so that two processes that start at once never see half a file. Whatever
fails its check counts as absent and is made anew by whoever needs it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

__all__ = ["cache_home", "is_private_and_writable", "read_checked", "write_checked"]

_MAGIC = b"fastmask\x01"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size


def cache_home() -> Path | None:
    """Folder for everything kept on disk, which may not exist yet.

    ``FASTMASK_CACHE_DIR`` or the user's cache folder; None where there is no home folder at all.
    """
    chosen = os.environ.get("FASTMASK_CACHE_DIR")
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA")
            return (Path(base) if base else Path.home() / "AppData" / "Local") / "fastmask"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "fastmask"
        base = os.environ.get("XDG_CACHE_HOME")
        return (Path(base).absolute() if base else Path.home() / ".cache") / "fastmask"
    except RuntimeError:
        return None


def is_private_and_writable(folder: Path) -> bool:
    """Whether ``folder`` can be trusted and written; if missing it is created for this user alone.

    Kept files are code and tables that will be run and believed, so a folder that other users may
    write to, or that belongs to another user, does not do.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if os.name == "posix":
            status = folder.stat()
            owners = (0, os.geteuid())
            return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    except OSError:
        return False
    return True


def write_checked(path: Path, payload: bytes) -> bool:
    """Keep ``payload`` at ``path``; False if it could not be written (the disk is full, say)."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            file.write(_MAGIC + hashlib.sha256(payload).digest())
            file.write(payload)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def read_checked(path: Path) -> bytes | None:
    """What `write_checked` kept at ``path``; None if it is missing, damaged or not its format."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_HEADER:]
    if data[:_HEADER] != _MAGIC + hashlib.sha256(payload).digest():
        return None
    return payload
