"""A budget of steps, so that an answer does not depend on the machine's speed."""


class WorkLimitError(Exception):
    """The work that was allowed is done."""


class Work:
    """Steps that may still be spent."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    def spend(self, steps: int = 1) -> None:
        """Use steps.

        Raises:
            WorkLimitError: There are not so many left.

        """
        self._left -= steps
        if self._left < 0:
            raise WorkLimitError
