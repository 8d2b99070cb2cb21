"""Registers of arrays that know little: how many commas came, or not even which item came last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels import layout

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["Counting", "CountingFrame", "VagueFrame"]


class Counting:
    """The registers of arrays whose items are only counted: how many commas came."""

    def __init__(self, tables: Tables, least: int, most: int | None) -> None:
        self._tables = tables
        self.least = least
        self.most = most
        self.comma, self.close = tables.registers.new_symbol(), tables.registers.new_symbol()
        self.following = self.end = layout.DEAD
        self._registers: dict[int, int] = {}

    def register(self, commas: int) -> int:
        """The register behind so many commas, as far as it matters."""
        commas = min(commas, max(self.least - 1, 0) if self.most is None else self.most)
        register = self._registers.get(commas)
        if register is None:
            register = self._tables.registers.new_register(CountingFrame(self, commas))
            self._registers[commas] = register
        return register


class CountingFrame:
    """The register of one array whose items are only counted."""

    __slots__ = ("commas", "counting")

    def __init__(self, counting: Counting, commas: int) -> None:
        self.counting = counting
        self.commas = commas

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        counting, items = self.counting, self.commas + 1
        if symbol == counting.close:
            return 0, counting.end if items >= counting.least else layout.DEAD
        if counting.most is not None and items >= counting.most:
            return 0, layout.DEAD
        return counting.register(items), counting.following


class VagueFrame:
    """The register of an array whose last item is not known: items may begin, but not end."""

    __slots__ = ("action",)

    def __init__(self, action: int) -> None:
        self.action = action

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        return 0, self.action
