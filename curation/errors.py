"""The error that a user can fix."""

from curation.addresses import hide_secrets

LONGEST = 1_000  # characters of an error that are shown: it may quote what is in a file


class CurationError(Exception):
    """An error that the user can fix: ``what`` is wrong, and the ``fix``.

    Python shows both in a traceback; ``str`` gives ``what`` alone. Passwords and keys in addresses
    are left out of both, and what is beyond ``LONGEST`` characters.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        texts = (hide_secrets(text) for text in (what, fix))
        what, fix = (t if len(t) <= LONGEST else f"{t[:LONGEST]} …" for t in texts)
        super().__init__(what)
        self.what = what
        self.fix = fix
        if fix:
            self.add_note(f"fix: {fix}")

    def __reduce__(self) -> tuple[type["CurationError"], tuple[str, str]]:
        return type(self), (self.what, self.fix)  # without this, pickling would lose the fix
