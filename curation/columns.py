"""A growing column of a table of many records."""

from typing import Any


class Column:
    """A growing column of a table; each distinct text is stored once, with codes for the rows."""

    def __init__(self, name: str, annotation: Any) -> None:
        self.is_id = name == "id"
        self.plain = self.is_id or annotation in (bool, int, float, float | None)
        self.number = annotation in (float, float | None)
        self.values: list[Any] = []
        self.codes: list[Any] = []
        self.code_of: dict[str | None, int] = {None: -1}

    def add(self, values: list[Any]) -> None:
        """Append the values of some rows."""
        if self.plain:
            self.values += values
            return
        import numpy as np

        known = self.code_of
        for value in dict.fromkeys(values):
            known.setdefault(value, len(known) - 1)
        codes = map(known.__getitem__, values)
        self.codes.append(np.fromiter(codes, dtype=np.int32, count=len(values)))

    def whole(self) -> Any:
        """The column: an array of numbers, a series or a categorical."""
        import numpy as np
        import pandas as pd

        if self.number:
            return np.array(self.values, dtype=float)  # None becomes NaN
        if self.plain:
            return pd.Series(self.values, dtype=object if self.is_id else None)
        texts = pd.Index(list(self.code_of)[1:], dtype=object)
        codes = np.concatenate(self.codes) if self.codes else np.array([], dtype=np.int32)
        return pd.Categorical.from_codes(codes, texts)
