"""Where and when something was measured, and how every single value is kept in little room."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["decoded", "encoded", "machine", "peak_memory", "spread", "stamp"]

Codes = npt.NDArray[np.uint16]


def machine() -> dict[str, str | int]:
    """The machine and the versions, without its name."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].partition(":")[2].strip() if models else cpu
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite")}
    system = f"{platform.system()} {platform.machine()}"
    python = platform.python_version()
    return {"cpu": cpu, "cores": os.cpu_count() or 1, "os": system, "python": python, **versions}


def stamp() -> dict[str, Any]:
    """Date, commit, machine and its load as a measurement begins."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": machine(),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def peak_memory() -> int:
    """The most bytes that this process has held in memory."""
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def spread(values: npt.ArrayLike) -> dict[str, float]:
    """Number, mean, minimum, quantiles and maximum of positive values."""
    array = np.asarray(values, np.float64)
    if array.size == 0:
        return {"n": 0}
    p50, p90, p99, p999 = np.quantile(array, [0.5, 0.9, 0.99, 0.999])
    return {
        "n": int(array.size),
        "mean": float(array.mean()),
        "min": float(array.min()),
        "p50": float(p50),
        "p90": float(p90),
        "p99": float(p99),
        "p99.9": float(p999),
        "max": float(array.max()),
    }


def encoded(nanoseconds: npt.ArrayLike) -> Codes:
    """Each value rounded to three digits, as uint16: 1000 x exponent + digits."""
    values = np.asarray(nanoseconds, np.float64)
    exponents = np.maximum(np.floor(np.log10(np.maximum(values, 1))) - 2, 0)
    digits = np.rint(values / 10**exponents)
    over = digits == 1000
    codes: Codes = (1000 * (exponents + over) + np.where(over, 100, digits)).astype(np.uint16)
    return codes


def decoded(codes: Codes) -> npt.NDArray[np.float64]:
    """What `encoded` was given, to three digits."""
    exponents, digits = np.divmod(codes.astype(np.float64), 1000)
    values: npt.NDArray[np.float64] = digits * 10**exponents
    return values
