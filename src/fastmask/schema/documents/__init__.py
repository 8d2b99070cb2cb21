"""The metaschemas of all drafts, so that references to them need no network.

``metaschemas.json`` maps each URI to its document, without titles, descriptions and comments. The
documents are those that json-schema.org publishes, taken from the Python package
jsonschema-specifications (MIT licence).
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["metaschema"]


def metaschema(uri: str) -> dict[str, Any] | None:
    """The metaschema or vocabulary published at ``uri`` (without a fragment), if there is one."""
    if "json-schema.org/" not in uri:
        return None
    return _all().get(
        uri.replace("https://json-schema.org/draft-", "http://json-schema.org/draft-")
    )


@cache
def _all() -> dict[str, dict[str, Any]]:
    text = resources.files(__name__).joinpath("metaschemas.json").read_text("utf-8")
    documents: dict[str, dict[str, Any]] = json.loads(text)
    return documents
