"""Three small campaigns, run once for all workers: Indonesian, Arabic and Japanese."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from support import team

DOMAINS = {
    "indonesian": ("id", "profesi,hobi,daerah"),
    "arabic": ("ar", "مهنة,هواية,منطقة"),
    "japanese": ("ja", "職業,趣味,地域"),
}


@pytest.fixture(scope="session")
def campaigns(forked: Any, shared: Path, keys: Path) -> dict[str, team.Team]:
    """Every campaign, from ``init`` to ``release build``. Tests only read them."""
    teams = {}
    for name, (language, domains) in DOMAINS.items():
        folder = shared / "campaigns" / name
        said = folder.parent / f"{name}.json"
        folder.parent.mkdir(exist_ok=True)
        with FileLock(folder.parent / f"{name}.lock"):
            if not said.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                done = team.run(forked, folder / "campaign", name, language, domains)
                shutil.copytree(keys, folder / "keys")
                said.write_text(json.dumps(done.said), "utf-8")
        for key in (folder / "keys").glob("*.key"):
            shutil.copy2(key, keys)
        one = team.Team(forked, folder / "campaign", team.CAMPAIGNS / name, language)
        one.said = json.loads(said.read_text("utf-8"))
        teams[name] = one
    return teams


@pytest.fixture(params=DOMAINS)
def team_of(request: pytest.FixtureRequest, campaigns: dict[str, team.Team]) -> team.Team:
    """Each of the three in turn."""
    return campaigns[request.param]
