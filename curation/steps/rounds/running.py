"""Opens, pulls, tops up and closes rounds. Call these only under the campaign's lock."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError
from curation.records import ROUND_KINDS, Pitfall, Round
from curation.rounds.platforms.interface import Demand
from curation.steps.read import read_items
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files, round_status
from curation.steps.rounds.caps import warn_of_caps, warn_of_earlier_names
from curation.steps.rounds.check import pitfalls
from curation.steps.rounds.fold import ANSWERS, fold_answers
from curation.steps.rounds.planning import fresh_name, plan_round
from curation.steps.rounds.platform import DEFAULT, open_platform, platform_name
from curation.steps.rounds.reviews import apply_reviews
from curation.steps.step import current, run_steps
from curation.steps.terms import SELECT
from curation.text.times import now


class OpenedRound(NamedTuple):
    """A round that was opened: its tasks, the answers asked for, the addresses for annotators."""

    round: Round
    tasks: int
    answers: int
    address: str
    sign_up: str


class NewAnswers(NamedTuple):
    """What came into a round.

    Attributes:
        counts: answers by what they are.
        refused: newly refused answers, by reason code.
        items: how many items the round has now.
        pitfalls: the known pitfalls of these items.
    """

    counts: dict[str, int]
    refused: Counter[str]
    items: int
    pitfalls: list[Pitfall]


def open_round(
    campaign: Campaign,
    kind: str,
    *,
    name: str = "",
    platform: str = "",
    url: str = "",
    domains: Sequence[str] = (),
    terms: Sequence[str] = (),
    of: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> OpenedRound:
    """Plan a round and publish its tasks; go on with one that is half open, reopen a closed one.

    Args:
        campaign: the campaign.
        kind: review, intrasentence, intersentence or validation.
        name: the round's name; empty for KIND-1, KIND-2, ….
        platform: label_studio or files; empty for label_studio.
        url: address of a Label Studio; empty for the campaign's own.
        domains: only terms or items of these domains; empty for all.
        terms: only these terms, or items on them; empty for all.
        of: validate the items of these rounds; empty for all rounds.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, a fact that
            annotators must be given is missing, or the platform cannot be reached.
    """
    known = next((known for known in ROUND_KINDS if known == kind), None)
    if known is None:
        raise CurationError(f"no kind of round {kind!r}", f"kinds: {', '.join(ROUND_KINDS)}")
    on = platform_name(platform)
    if url:
        from curation.rounds.platforms.label_studio.connection import check_address

        check_address(url)
    warn_of_earlier_names(campaign, reporter=reporter)
    taken = set(round_files.planned_rounds(campaign)) | set(campaign.round_names())
    is_named, chosen = bool(name), {"domains": domains, "terms": terms, "of": of}
    begun = None if is_named else _begun(campaign, known, on, url, chosen)
    if begun:
        reporter.note(
            f"round {begun} is open already with the same tasks, and has no answers; to open "
            "another round beside it, give a new --name"
        )
    name = name or begun or fresh_name(campaign, kind, taken)
    round_files.check_name(name)
    if (campaign.rounds / name / "round.json").exists():
        round = round_files.read_round(campaign, name)
        if round.kind != kind or platform not in ("", round.platform):
            raise CurationError(
                f"round {name} is of kind {round.kind} on {round.platform}",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
        # With its name alone, a round goes on as it was planned.
        if not is_planned_so(round, chosen) and (any(chosen.values()) or not is_named):
            raise CurationError(
                f"round {name} is planned already, with other terms or items",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
    else:
        if name in taken:
            raise CurationError(f"round {name} has imported answers", "choose another --name")
        round = plan_round(
            campaign, name, known, on, domains=domains, terms=terms, of=of, reporter=reporter
        )
    status = round_status.read_status(campaign, round)
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    warn_of_caps(campaign, status, reporter=reporter)
    place = open_platform(campaign, round, url=url, reporter=reporter)
    round, *addresses = place.publish(status.tasks, asked)
    if round.state != "open":
        opened = {"state": "open", "closed_at": None, "opened_at": round.opened_at or now()}
        round = round.model_copy(update=opened)
        round_files.write_round(campaign, round)
    return OpenedRound(round, len(status.tasks), sum(status.asked.values()), *addresses)


def _begun(
    campaign: Campaign, kind: str, platform: str, url: str, chosen: Mapping[str, Sequence[str]]
) -> str | None:
    """The open round that the same command has opened, as long as nothing came of it.

    A command that was stopped at its very end can so be repeated. A round of validation takes only
    items that are in no open round, so it is never opened twice.
    """
    for round in round_files.map_rounds(campaign):
        place = campaign.rounds / round.name
        untouched = not (place / "raw").exists() and not (place / "dealt.jsonl").exists()
        same = (round.kind, round.platform, round.state) == (kind, platform, "open")
        same = (
            same
            and url.rstrip("/") in ("", (round.server or "").rstrip("/"))
            and is_planned_so(round, chosen)
        )
        if same and untouched and kind != "validation":
            return round.name
    return None


def is_planned_so(round: Round, chosen: Mapping[str, Sequence[str]]) -> bool:
    """Whether a round was planned with these options; their order does not matter.

    Args:
        round: the round.
        chosen: its domains, terms and earlier rounds, by the name of the field.
    """
    planned = {field: getattr(round, field) for field in chosen}
    if None in planned.values():  # planned by an earlier version
        return not any(chosen.values())
    return all(set(planned[field]) == set(values) for field, values in chosen.items())


def command_to_open(round: Round) -> str:
    """The command that goes on with a round."""
    words = ["curation", "rounds", "open", round.kind, "--name", round.name]
    if round.platform != DEFAULT:
        words += ["--platform", round.platform]
    options = {"--domain": round.domains, "--term": round.terms, "--of": round.of}
    for option, values in options.items():
        for value in values or ():
            words += [option, value]
    return shlex.join(words)


def pull_round(
    campaign: Campaign, round: Round, *, full: bool = False, reporter: Reporter = QUIET
) -> NewAnswers:
    """Fetch new answers from a round's platform, and fold them into items and labels.

    Args:
        campaign: the campaign.
        round: the round.
        full: fetch everything again, and not only what changed.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round's answers are imported and not pulled, or the platform cannot be
            reached.
    """
    before = round_files.refusals(campaign)
    pulled = open_platform(campaign, round, reporter=reporter).pull(full=full)
    fold_answers(campaign, reporter=reporter)
    return new_answers(campaign, round, pulled._asdict(), before)


def new_answers(
    campaign: Campaign, round: Round, counts: dict[str, int], before: round_files.Refusals
) -> NewAnswers:
    """What came into a round, once its answers are folded.

    Args:
        campaign: the campaign.
        round: the round.
        counts: answers by what they are.
        before: ``round_files.refusals`` before the answers came in.
    """
    items = sum(item.round == round.name for item in read_items(campaign))
    refused = round_files.new_refusals(campaign, before)
    return NewAnswers(counts, refused, items, pitfalls(campaign, round.name))


def refresh_round(campaign: Campaign, round: Round, *, reporter: Reporter = QUIET) -> None:
    """Bring a round up to date: pull if it is open and its platform can be pulled, then fold."""
    platform = open_platform(campaign, round, reporter=reporter)
    if platform.can_pull and round.state == "open":
        platform.pull()
    fold_answers(campaign, reporter=reporter)


def refresh_status(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Bring items and labels up to date if settings, terms or answers have changed.

    Takes the campaign's lock, if there is something to do. If it cannot be done, a warning says so.
    """
    steps = [SELECT, ANSWERS] if campaign.round_names() else [SELECT]
    try:
        if all(current(campaign, step) for step in steps):
            return
        with campaign.lock():
            run_steps(campaign, SELECT, reporter=reporter)
            fold_answers(campaign, reporter=reporter)
    except CurationError as error:
        reporter.warn(
            f"settings, terms or answers have changed, and the values below are older: {error.what}"
        )
        if error.fix:
            reporter.warn(f"to show the present values: {error.fix}")


def top_up_round(campaign: Campaign, round: Round, *, reporter: Reporter = QUIET) -> dict[str, int]:
    """Ask for the answers that a round lacks and that are not on their way.

    Answers that people hold in tables are on their way.

    Returns:
        By task id, how many answers are asked for in addition.

    Raises:
        CurationError: the round is not open, or the platform cannot be reached.
    """
    if round.state != "open":
        raise CurationError(
            f"round {round.name} is {round.state}",
            f"«curation rounds open {round.kind} --name {round.name}» opens it",
        )
    refresh_round(campaign, round, reporter=reporter)  # do not ask again for what just came in
    status = round_status.read_status(campaign, round)
    received = round_status.received(status)
    demand = Demand(
        *(status.tasks, status.asked, received, status.lack, status.void, status.held or {})
    )
    more, totals = open_platform(campaign, round, reporter=reporter).top_up(demand)
    round_files.write_asked(campaign, round.name, {**status.asked, **totals})
    return more


def close_round(
    campaign: Campaign, round: Round, *, offline: bool = False, reporter: Reporter = QUIET
) -> tuple[Round, list[dict[str, str]]]:
    """Bring in a round's last answers and stop it; a review's majorities become edits.

    Args:
        campaign: the campaign.
        round: the round; a closed one is only folded again.
        offline: do not reach its platform, because it is gone.
        reporter: where warnings and progress go.

    Returns:
        The closed round, and the lines that were added to ``edits.csv``.

    Raises:
        CurationError: the platform cannot be reached.
    """
    platform = open_platform(campaign, round, reporter=reporter)
    reach = not offline and round.state != "closed"
    if reach and platform.can_pull:
        platform.pull(full=True)
    fold_answers(campaign, reporter=reporter)
    added = apply_reviews(campaign, round, reporter=reporter) if round.kind == "review" else []
    if reach:
        platform.stop()
    if round.state != "closed":
        round = round.model_copy(update={"state": "closed", "closed_at": now()})
        round_files.write_round(campaign, round)
    return round, added


def check_takes_tables(campaign: Campaign, round: Round, verb: str) -> None:
    """Check that a round is open, and that its platform exchanges tables.

    Args:
        campaign: the campaign.
        round: the round.
        verb: what only such a round can do, for the error.

    Raises:
        CurationError: it is not such a round.
    """
    exchanges_tables = open_platform(campaign, round).exchanges_tables
    if exchanges_tables and round.state == "closed":
        raise CurationError(
            f"round {round.name} is closed", f"«{command_to_open(round)}» opens it again"
        )
    if not exchanges_tables or round.state != "open":
        raise CurationError(
            f"round {round.name} runs on {round.platform} and is {round.state}",
            f"only an open round of platform files can {verb}",
        )
