"""Opens, pulls, tops up and closes rounds. Call these only under the campaign's lock."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from curation.campaign.settings import caps_of
from curation.campaign.step import current, run_steps
from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.kinds import ROUNDS, RoundKind
from curation.records import Pitfall, Round
from curation.rounds import steps
from curation.rounds.allocation import least_people
from curation.rounds.answers.people import who_answered
from curation.rounds.held import LEDGER, recalls, write_ledger
from curation.rounds.planning import Scope, plan_round
from curation.rounds.platforms.interface import Published
from curation.rounds.platforms.opening import (
    check_link,
    check_name,
    open_platform,
    platform_name,
    round_kind,
    server_address,
    write_round,
)
from curation.rounds.progress import RoundStatus
from curation.rounds.reviews import apply_reviews
from curation.rounds.status import read_status, write_asked
from curation.rounds.steps import Refusals, fold_answers, new_refusals, refusals
from curation.terms.steps import select
from curation.text.times import now
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter


def the_round(campaign: Campaign, name: str | None) -> Round:
    """The named round, or the only one that is open.

    Raises:
        CurationError: the named round does not exist; or none is named, and not exactly one is
            open.
    """
    if name:
        return campaign.round(name)
    live = [r for r in campaign.rounds if r.state != "closed"]
    if len(live) != 1:
        names = ", ".join(r.name for r in live)
        raise CurationError(
            f"several rounds are open: {names}" if live else "no round is open",
            "name one of them" if live else "«curation rounds open KIND» opens one",
        )
    return live[0]


def open_rounds(campaign: Campaign, name: str | None, *, only: bool = False) -> list[Round]:
    """The named round, or all that are not closed; with ``only``, there must be one.

    Raises:
        CurationError: the named round does not exist; or none is named, and none is open.
    """
    live = [] if name or only else [each for each in campaign.rounds if each.state != "closed"]
    return live or [the_round(campaign, name)]


class OpenedRound(NamedTuple):
    """A round that was opened: its tasks, the answers asked for, and where annotators enter."""

    round: Round
    tasks: int
    answers: int
    exchanges_tables: bool
    entrance: Published


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
    pitfalls: Sequence[Pitfall]


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
    common_link: bool = False,
    prolific: bool = False,
    reporter: Reporter = QUIET,
) -> OpenedRound:
    """Plan a round and publish its tasks; go on with one that is half open, reopen a closed one.

    Args:
        campaign: the campaign.
        kind: review, intrasentence, intersentence, validation or neutral.
        name: the round's name; empty for KIND-1, KIND-2, ….
        platform: web (our own pages), label_studio or files; empty for web.
        url: address of a Label Studio; empty for the campaign's own.
        domains: only terms or items of these domains; empty for all.
        terms: only these terms, or items on them; empty for all.
        of: only items of these rounds; empty for all. With neutral rounds, a validation labels
            their neutral associations.
        common_link: on our own pages, let people enter a round of validation by one link for all.
            One person may then label an item twice, by using two browsers.
        prolific: on our own pages, let people from Prolific enter by one link, and nobody else.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, a fact that
            annotators must be given is missing, or the platform cannot be reached.
    """
    round_of = round_kind(kind)
    on = platform_name(platform)
    known_rounds = {each.name: each for each in campaign.rounds}
    if name in known_rounds:
        on = platform_name(platform or known_rounds[name].platform)
    address = server_address(on, url)
    check_link(on, common_link=common_link, prolific=prolific)
    taken = {*known_rounds, *campaign.round_names()}
    is_named, scope = bool(name), Scope(domains, terms, of)
    begun = None if is_named else _begun(campaign, round_of, on, address, scope)
    if begun:
        reporter.note(
            f"round {begun} is open already with the same tasks, and has no answers; to open "
            "another round beside it, give a new --name"
        )
    name = name or begun or fresh_name(campaign, kind, taken)
    check_name(name)
    if name in known_rounds:
        round = known_rounds[name]
        if round.kind != kind or platform not in ("", round.platform):
            raise CurationError(
                f"round {name} is of kind {round.kind} on {round.platform}",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
        # With its name alone, a round goes on as it was planned.
        if not scope.fits(round) and (any(scope) or not is_named):
            raise CurationError(
                f"round {name} is planned already, with other terms or items",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
        address = server_address(round.platform, url)
    else:
        if name in taken:
            raise CurationError(f"round {name} has imported answers", "choose another --name")
        round = plan_round(campaign, name, round_of, on, scope, reporter=reporter)
    status = read_status(campaign, round)
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    _warn_of_caps(campaign, status, reporter=reporter)
    if not round.opened_at:  # before anybody can answer, also if this is stopped and repeated
        round = round.model_copy(update={"opened_at": now()})
        write_round(campaign, round)
    link = {"common_link": common_link, "prolific": prolific}
    place = open_platform(campaign, round, url=address, **link, reporter=reporter)
    if common_link and round_of.work == "label":
        reporter.warn("one person with two browsers can label an item twice")
    entrance = place.publish(status.tasks, asked)
    round = entrance.round
    if round.state != "open":
        round = round.model_copy(update={"state": "open", "closed_at": None})
        write_round(campaign, round)
    if campaign.round_names():  # a new text of the consent may let answers in
        fold_answers(campaign, reporter=reporter)
    tasks, answers = len(status.tasks), sum(status.asked.values())
    return OpenedRound(round, tasks, answers, place.exchanges_tables, entrance)


def _begun(
    campaign: Campaign, kind: RoundKind, platform: str, url: str, scope: Scope
) -> str | None:
    """The open round that the same command has opened, as long as nothing came of it.

    A command that was stopped at its very end can so be repeated. A round of validation takes only
    items that are in no open round, so it is never opened twice.
    """
    if kind.work == "label":
        return None
    for round in campaign.rounds:
        place = campaign.folder("rounds") / round.name
        if (
            (round.kind, round.platform, round.state) == (kind.name, platform, "open")
            and url.rstrip("/") in ("", (round.server or "").rstrip("/"))
            and scope.fits(round)
            and not (place / "raw").exists()
            and not (place / "dealt.jsonl").exists()
        ):
            return round.name
    return None


def fresh_name(campaign: Campaign, kind: str, taken: set[str]) -> str:
    """A name for a round without one: that of a half-open round of its kind, or a new name."""
    half_open = [r.name for r in campaign.rounds if (r.kind, r.state) == (kind, "planned")]
    free = (f"{kind}-{n}" for n in range(1, len(taken) + 2) if f"{kind}-{n}" not in taken)
    return half_open[0] if half_open else next(free)


def command_to_open(round: Round) -> str:
    """The command that goes on with a round."""
    words = ["curation", "rounds", "open", round.kind, "--name", round.name]
    if round.platform != platform_name(""):
        words += ["--platform", round.platform]
    options = {"--domain": round.domains, "--term": round.terms, "--of": round.of}
    for option, values in options.items():
        for value in values:
            words += [option, value]
    return shlex.join(words)


def _warn_of_caps(campaign: Campaign, status: RoundStatus, *, reporter: Reporter = QUIET) -> None:
    """Say if a round needs more people than the campaign knows, because of its caps."""
    work = ROUNDS[status.round.kind].work
    caps = caps_of(campaign.settings.rounds, work)
    known = len(who_answered(campaign.people))
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    alone = {"per_person": caps._replace(term=0), "per_term": caps._replace(person=0)}
    for name, own in alone.items():
        cap, least = sum(own), least_people(status.tasks, asked, own)
        if cap and least > known:
            people_needed = amount(least, "person", "people")
            text = (
                f"{name}_{work} = {cap}: round {status.round.name} needs at least {people_needed}"
            )
            if known:
                reporter.warn(f"{text}, and the campaign knows {known}; find more, or raise it")
            else:
                reporter.note(text)


def rounds_to_pull(campaign: Campaign, name: str | None) -> list[Round]:
    """The named round; else all that are open, and closed ones whose answers wait.

    Answers of tables are imported: such a round is not among them if another is.

    Raises:
        CurationError: the named round does not exist; or none is named, and there is none to pull.
    """
    if name:
        return [the_round(campaign, name)]
    places = [(each, open_platform(campaign, each)) for each in campaign.rounds]
    chosen = [
        round
        for round, place in places
        if place.waiting() or (round.state != "closed" and not place.exchanges_tables)
    ]
    return chosen or open_rounds(campaign, None)


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
    before = refusals(campaign)
    pulled = open_platform(campaign, round, reporter=reporter).pull(full=full)
    fold_answers(campaign, reporter=reporter)
    return new_answers(campaign, round, pulled._asdict(), before)


def new_answers(
    campaign: Campaign, round: Round, counts: dict[str, int], before: Refusals
) -> NewAnswers:
    """What came into a round, once its answers are folded.

    Args:
        campaign: the campaign.
        round: the round.
        counts: answers by what they are.
        before: ``refusals`` before the answers came in.
    """
    every = (*campaign.items, *campaign.neutral_items)
    items = sum(item.round == round.name for item in every)
    refused = new_refusals(campaign, before)
    return NewAnswers(counts, refused, items, campaign.pitfalls[round.name])


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
    last = [select, steps.answers] if campaign.round_names() else [select]
    try:
        if all(current(campaign, step) for step in last):
            return
        with campaign.lock():
            run_steps(campaign, select, reporter=reporter)
            fold_answers(campaign, reporter=reporter)
    except CurationError as error:
        reporter.warn(
            f"settings, terms or answers have changed, and the values below are older: {error.what}"
        )
        if error.fix:
            reporter.warn(f"to show the present values: {error.fix}")


def top_up_round(
    campaign: Campaign, round: Round, *, recall: Sequence[str] = (), reporter: Reporter = QUIET
) -> dict[str, int]:
    """Ask for the answers that a round lacks and that are not on their way.

    Answers that people hold in tables, or correct in sheets of refused answers, are on their way.

    Args:
        campaign: the campaign.
        round: an open round.
        recall: people (ids or pseudonyms), tables or sheets. What they have not answered is taken
            back.
        reporter: where warnings and progress go.

    Returns:
        By task id, how many answers are asked for in addition.

    Raises:
        CurationError: the round is not open, nothing is out under a name to recall, or the platform
            cannot be reached.
    """
    if round.state != "open":
        raise CurationError(
            f"round {round.name} is {round.state}",
            f"«curation rounds open {round.kind} --name {round.name}» opens it",
        )
    refresh_round(campaign, round, reporter=reporter)  # do not ask again for what just came in
    status = read_status(campaign, round)
    if recall:
        place = open_platform(campaign, round)
        names = [place.named(name) or name for name in recall]
        taken = recalls(campaign, status.tables, names, {})
        lines = [*campaign[LEDGER][round.name], *taken]
        write_ledger(campaign, round.name, lines)
        status = read_status(campaign, round)
    more, totals = open_platform(campaign, round, reporter=reporter).top_up(status.demand)
    write_asked(campaign, round.name, {**status.asked, **totals})
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
    if reach:
        platform.stop()
    pulls = reach and platform.can_pull
    if pulls:
        platform.pull(full=True)
    fold_answers(campaign, reporter=reporter)
    # People finish the task that they have. The first pull has said what there is to say.
    if pulls and any(open_platform(campaign, round).pull()):
        fold_answers(campaign, reporter=reporter)
    added = []
    if ROUNDS[round.kind].work == "review":
        added = apply_reviews(campaign, round, reporter=reporter)
    if reach:
        platform.stop()  # on some servers an answer, or a pull, makes its task wait again
    if round.state != "closed":
        round = round.model_copy(update={"state": "closed", "closed_at": now()})
        write_round(campaign, round)
    return round, added


def check_takes_tables(campaign: Campaign, round: Round, verb: str, *, back: bool = False) -> None:
    """Check that a round is open, and that its platform exchanges tables.

    Args:
        campaign: the campaign.
        round: the round.
        verb: what only such a round can do, for the error.
        back: whether it is enough that answers may come back as tables.

    Raises:
        CurationError: it is not such a round.
    """
    platform = open_platform(campaign, round)
    takes_tables = platform.takes_tables if back else platform.exchanges_tables
    if takes_tables and round.state == "closed":
        raise CurationError(
            f"round {round.name} is closed", f"«{command_to_open(round)}» opens it again"
        )
    if not takes_tables or round.state != "open":
        names = "web or files" if back else "files"
        raise CurationError(
            f"round {round.name} runs on {round.platform} and is {round.state}",
            f"only an open round of platform {names} can {verb}",
        )
