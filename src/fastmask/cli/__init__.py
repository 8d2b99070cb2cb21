"""The command line: one module a subcommand, each imported when it runs.

Results go to standard output, progress and errors to standard error. Exit status 0: done; 1:
refused, or a check that failed; 2: bad arguments.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from .. import __version__
from ..errors import FastmaskError

__all__ = ["main"]

_COMMANDS = {
    "demo": "compile patterns, mask an answer step by step, measure naive against table",
    "mask": "which tokens may come next after a text",
    "check": "texts against a grammar: the byte that fails and what was allowed there",
    "bench": "what masks cost here: real vocabularies, growth, batches, starts, other engines",
    "reproduce": "every figure of the lesson, recomputed beside what it should be",
    "warm-up": "compile every kernel now",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        The exit status.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="fastmask",
        description="Token masks for constrained decoding.",
        epilog="'fastmask COMMAND --help' tells a command's options.",
    )
    parser.add_argument("--version", action="version", version=f"fastmask {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
        if name in words:
            _module(name).add_arguments(command)
        command.add_argument(
            "--json", action="store_true", help="print one JSON document on standard output"
        )
    options = parser.parse_args(words)
    try:
        return int(_module(options.command).run(options))
    except (FastmaskError, ImportError, OSError) as error:
        print(f"fastmask {options.command}: {_message(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _message(error: Exception) -> str:
    """What went wrong; of a file its name and why."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _module(command: str) -> ModuleType:
    return importlib.import_module(f".{command.replace('-', '_')}", __name__)
