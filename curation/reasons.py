"""Why a record is refused: every reason code and its meaning, as in ``data/reasons.toml``."""

from curation.formats.toml_files import shipped_table

REASONS: dict[str, str] = shipped_table("reasons.toml")
