"""Who is out: the last decision holds, and nothing follows a withdrawal."""

from curation.records import Standing
from curation.rounds.answers.people import erased, out


def line(action: str, person: str = "p-1", reason: str = "why") -> Standing:
    return Standing.model_validate(
        {"person": person, "action": action, "reason": reason, "at": "2026-03-01T00:00:00.000Z"}
    )


def test_an_exclusion_can_be_taken_back() -> None:
    assert out([line("exclude")]) == {"p-1": ("excluded", "why")}
    assert out([line("exclude"), line("readmit")]) == {}
    assert out([line("exclude"), line("readmit"), line("exclude", reason="again")]) == {
        "p-1": ("excluded", "again")
    }


def test_a_withdrawal_cannot() -> None:
    for word in ("withdraw", "erase"):
        for later in ("readmit", "exclude"):
            assert out([line(word), line(later)])["p-1"][0] == "withdrawn"
    assert out([line("exclude"), line("withdraw")])["p-1"][0] == "withdrawn"


def test_only_who_wished_it_is_erased() -> None:
    lines = [line("withdraw"), line("erase", "p-2"), line("exclude", "p-3")]
    assert erased(lines) == {"p-2"}
