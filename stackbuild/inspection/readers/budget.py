"""What one inspection may spend in all: a bound on each part says nothing about a hundred thousand parts.

Everything a file can make its readers do is paid for from here, in proportion to the size of the file itself.
"""

from __future__ import annotations

from stackbuild.inspection.limits import BUDGETS, Cost
from stackbuild.inspection.readers.byte_parser import LimitError

#: Bytes that a piece of text takes beyond its own: an object and a reference to it.
_OBJECT = 64


class BudgetError(LimitError):
    """A budget of the whole inspection is spent; nothing more is read that costs of it."""

    def __init__(self, cost: Cost, text: str) -> None:
        super().__init__(text)
        self.cost = cost


class ReadBudget:
    """The budgets of an inspection of `size` bytes on disk, and the kernel names that its parts share."""

    def __init__(self, size: int = 0) -> None:
        self.names: dict[bytes, str] = {}
        self._size = size
        self._budgets = {cost: self._all(cost) for cost in Cost}

    def spend(self, cost: Cost, amount: int) -> None:
        """Take `amount` from a budget. Raises BudgetError when it is not there, and from then on."""
        remaining_amount = self._budgets[cost] = self._budgets[cost] - amount
        if remaining_amount < 0:
            self._budgets[cost] = -1
            raise BudgetError(cost, f"more than {self._all(cost):,} {cost.value} in all; what follows is not read")

    def text(self, size: int) -> None:
        """Pay for keeping a text of `size` bytes."""
        self.spend(Cost.TEXT, size + _OBJECT)

    def _all(self, cost: Cost) -> int:
        free, share = BUDGETS[cost]
        return free + int(share * self._size)
