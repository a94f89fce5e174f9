"""Three small campaigns, run once for all tests: Indonesian, Arabic and Japanese."""

from typing import Any

import pytest

from support import team

DOMAINS = {
    "indonesian": ("id", "profesi,hobi,daerah"),
    "arabic": ("ar", "مهنة,هواية,منطقة"),
    "japanese": ("ja", "職業,趣味,地域"),
}


@pytest.fixture(scope="session")
def campaigns(
    forked: Any, tmp_path_factory: pytest.TempPathFactory, keys: Any
) -> dict[str, team.Team]:
    """Every campaign, from ``init`` to ``release build``. Tests only read them."""
    folder = tmp_path_factory.mktemp("campaigns")
    return {
        name: team.run(forked, folder / name, name, language, domains)
        for name, (language, domains) in DOMAINS.items()
    }


@pytest.fixture(params=DOMAINS)
def team_of(request: pytest.FixtureRequest, campaigns: dict[str, team.Team]) -> team.Team:
    """Each of the three in turn."""
    return campaigns[request.param]
