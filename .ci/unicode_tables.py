"""Make src/fastmask/grammar/regex/unicode.bin anew.

    python .ci/unicode_tables.py NODE

NODE is a Node.js whose ``process.versions.unicode`` is the version of this Python's ``unicodedata``
(Node.js 17.9 and Python 3.11: 14.0). Its regular expressions say which characters have a property;
Python's ``re`` says which characters it takes for one another when case is ignored. Names of
scripts and binary properties are taken from the present file: add new ones to ``NEW_SCRIPTS``.
"""

from __future__ import annotations

import _sre
import json
import subprocess
import sys
import unicodedata
import zlib
from pathlib import Path
from re import _casefix

import numpy as np

FILE = Path(__file__).parent.parent / "src/fastmask/grammar/regex/unicode.bin"
LAST = 0x10FFFF
NEW_SCRIPTS: list[str] = []  # "Long_Name Code"

ENUMERATE = """
const found = {};
for (const property of JSON.parse(require("fs").readFileSync(0, "utf-8"))) {
  const regex = new RegExp(`^\\\\p{${property}}$`, "u");
  const bounds = [];
  let inside = false;
  for (let point = 0; point <= 0x110000; point++) {
    const matches = point <= 0x10ffff && regex.test(String.fromCodePoint(point));
    if (matches !== inside) bounds.push(point);
    inside = matches;
  }
  found[property] = bounds;
}
console.log(JSON.stringify([process.versions.unicode, found]));
"""


def names_in_use() -> list[str]:
    """Names of the sets in the present file."""
    data = zlib.decompress(FILE.read_bytes())
    header = data[4 : 4 + int.from_bytes(data[:4], "little")].decode()
    return [line.split("\t")[0] for line in header.split("\n")]


def differences(bounds: list[int]) -> list[int]:
    return np.diff(bounds, prepend=0).tolist()


def pairs(items: list[tuple[int, int]]) -> list[int]:
    """Points as differences, each with the distance to its partner."""
    steps = np.diff([point for point, _ in items], prepend=0).tolist()
    return [
        number
        for step, (point, other) in zip(steps, items, strict=True)
        for number in (step, (other - point) % (1 << 24))
    ]


def case_tables() -> dict[str, list[int]]:
    points = range(LAST + 1)
    lower = [(p, _sre.unicode_tolower(p)) for p in points if _sre.unicode_tolower(p) != p]
    cased = np.array([bool(_sre.unicode_iscased(p)) for p in points])
    alike = [(p, o) for p, others in sorted(_casefix._EXTRA_CASES.items()) for o in others]
    return {
        "case lower": pairs(lower),
        "case cased": differences(np.flatnonzero(np.diff(cased, prepend=False)).tolist()),
        "case alike": pairs(alike),
    }


def property_tables(node: str) -> dict[str, list[int]]:
    """Every set by its name in the file; script extensions only where they add something."""
    names = [name for name in names_in_use() if not name.startswith(("case ", "scx="))]
    names += [f"sc={script}" for script in NEW_SCRIPTS]
    asked = {name: name.split(" ")[0] for name in names}
    scripts = [name for name in asked.values() if name.startswith("sc=")]
    extended = ["scx" + name[2:] for name in scripts]
    wanted = json.dumps([*asked.values(), *extended])
    done = subprocess.run(
        [node, "-e", ENUMERATE], input=wanted, capture_output=True, text=True, check=True
    )
    version, found = json.loads(done.stdout)
    if not unicodedata.unidata_version.startswith(version):
        sys.exit(f"{node} has Unicode {version}, this Python {unicodedata.unidata_version}")
    tables = {}
    for name, property_name in asked.items():
        tables[name] = differences(found[property_name])
        if property_name in scripts:
            extension = "scx" + property_name[2:]
            if found[extension] != found[property_name]:
                tables[extension] = differences(found[extension])
    return tables


def main() -> None:
    tables = {**property_tables(sys.argv[1]), **case_tables()}
    header = "\n".join(f"{name}\t{len(numbers)}" for name, numbers in tables.items()).encode()
    numbers = np.concatenate([np.array(numbers, np.uint32) for numbers in tables.values()])
    planes = b"".join((numbers >> shift).astype(np.uint8).tobytes() for shift in (0, 8, 16))
    data = len(header).to_bytes(4, "little") + header + planes
    FILE.write_bytes(zlib.compress(data, 9))


if __name__ == "__main__":
    main()
