"""A campaign with one item and an open round of validation on it, run from Python."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from curation.campaign.store import Campaign, open_campaign
from curation.files import read_records
from curation.records import Task
from curation.rounds.importing import import_answers
from curation.rounds.running import open_round
from curation.rounds.sheets import export_round, import_tables
from support.desk import STUDY

WORDS = {"stereotype": "warm", "anti_stereotype": "cold", "unrelated": "round"}


class Validating:
    """The round ``v``: its campaign, and a folder beside the campaign's."""

    def __init__(
        self,
        campaign: Campaign,
        folder: Path,
        texts: str = STUDY,
        context: str = "The baker is BLANK.",
        words: dict[str, str] = WORDS,
    ) -> None:
        self.campaign, self.folder = campaign, folder
        self.files = campaign.folder("rounds") / "v"
        campaign.folder("rounds").mkdir()
        (campaign.folder("rounds") / "text.toml").write_text(texts, "utf-8")
        row = {"domain": "profession", "target": "baker", "context": context, "annotator": "w1"}
        path = folder / "written.jsonl"
        path.write_bytes(orjson.dumps(row | words))
        assert import_answers(campaign, path).items == 1
        # Nobody writes now: that domains have no terms is no warning.
        with campaign.lock(), warnings.catch_warnings(action="error"):
            self.round = open_round(campaign, "validation", platform="files", name="v").round

    @property
    def task(self) -> str:
        """The id of its task."""
        (task,) = read_records(self.files / "tasks.jsonl", Task)
        return task.id

    def export(self, to: Path | str = "out", **how: Any) -> list[Path]:
        """The tables of an export into a folder."""
        campaign = open_campaign(self.campaign.root)
        with campaign.lock():
            exported = export_round(campaign, campaign.round("v"), self.folder / to, **how)
        return [path for path, _ in exported.tables]

    def people(self, *people: str) -> Path:
        """A list of people."""
        path = self.folder / "people.txt"
        path.write_text("\n".join(people), "utf-8")
        return path

    def bring(self, answers: Path | Iterable[dict[str, Any]]) -> Any:
        """Import answers, or a table of them."""
        path = answers if isinstance(answers, Path) else self.folder / "answers.jsonl"
        if path != answers:
            path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in answers))
        with self.campaign.lock():
            return import_tables(self.campaign, self.round, path)[0]
