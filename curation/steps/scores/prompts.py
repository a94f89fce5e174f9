"""Which file of prompts chat models are asked with."""

from pathlib import Path

from curation.checks.lists import is_not_english
from curation.files import CurationError
from curation.models.chat.prompts import prompts_for
from curation.steps.reporter import QUIET, Reporter
from curation.steps.source import SAMPLE, Source
from curation.text.words import base

NAME = "prompts.toml"


def find_prompts(source: Source, given: Path | None = None, *, reporter: Reporter = QUIET) -> Path:
    """The file of prompts for a source's CATs.

    Args:
        source: the CATs.
        given: use this file. By default ``prompts.toml`` in the folder of scores, which is
            ``5-scores/`` of a campaign; an empty file counts as none. Without it, the file that is
            included for the language.
        reporter: receives a warning if the prompts are English, and the CATs plainly are not.

    Raises:
        CurationError: there is no file for this language.
    """
    own = source.scores / NAME
    if given is not None:
        return given
    if own.exists() and (own.is_dir() or own.stat().st_size):
        return own
    if base(source.language) == "en" and is_not_english(c.context for c in source.cats[:SAMPLE]):
        reporter.warn(
            "the prompts are English, and the texts of the CATs are not; write prompts in their "
            f"language to {own}, or give --prompts FILE"
        )
    return included_prompts(source.language, own)


def included_prompts(language: str, own: Path = Path("5-scores") / NAME) -> Path:
    """The file of prompts that is included for a language.

    Args:
        language: a language code.
        own: where a file of the user's own belongs, for the error.

    Raises:
        CurationError: the language has no prompts.
    """
    path = prompts_for(language)
    if path is None:
        raise CurationError(
            f"there are no prompts in the language «{language[:40]}»",
            f"copy the English ones with «curation scores prompts --language en > {own}», and "
            "translate them; docs/chat.md says how (Prompts of your own)",
        )
    return path
