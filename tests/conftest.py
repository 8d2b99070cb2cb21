"""What all tests share: settings, the folder of suites, and one signature for each kernel."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# A first example may compile a kernel, so no example has a deadline. Runs repeat exactly.
hypothesis.settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "search", parent=hypothesis.settings.get_profile("house"), derandomize=False, max_examples=1000
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of suites and real vocabularies: ``FASTMASK_DATA``, else ``../shared/data``."""
    folder = Path(os.environ.get("FASTMASK_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no folder of suites: set FASTMASK_DATA")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes minutes where kernels run as plain Python."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        return
    skip = pytest.mark.skip(reason="large, and kernels are not compiled here")
    for item in items:
        if item.get_closest_marker("large") or "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(skip)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a kernel was compiled for other types than those it declares."""
    door = sys.modules.get("fastmask._jit")
    if door is None or not door.JIT_ENABLED:
        return
    strays = [
        f"kernel {name} was compiled for {len(dispatcher.signatures)} signatures, not for its own "
        f"{declared} alone: {dispatcher.signatures}"
        for name, (dispatcher, declared) in sorted(door.KERNELS.items())
        if len(dispatcher.signatures) > 1
    ]
    if strays:
        print("\n" + "\n".join(strays))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
