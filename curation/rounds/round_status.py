"""A round's status by the answers that are here: what is missing, void, paid, to be asked for."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign.counted import votes_of
from curation.campaign.dataset import Dataset
from curation.campaign.settings import RoundSettings, Settings
from curation.campaign.store import Campaign
from curation.files import CurationError, writing
from curation.formats.table_words import languages, nearest
from curation.formats.toml_files import read_toml
from curation.records import KINDS, ROUND_KINDS, Answer, PlatformName, Round, RoundKind, Task
from curation.rounds import pages, round_files
from curation.rounds import people as standing
from curation.rounds.answers.archive import Sent
from curation.rounds.held import Holding
from curation.rounds.pay import earned, money
from curation.rounds.platforms.interface import Attendance, Platform
from curation.rounds.progress import Progress, RoundFigures, came, to_ask
from curation.rounds.training import TrainingExample, read_training
from curation.terms import steps as term_files
from curation.text.rules import WORK, Caps, Votes, Work, stable_id
from curation.text.times import now
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio
    from curation.rounds.platforms.web.prolific import Prolific
    from curation.rounds.refused import RefusedAnswer


CAP_NAMES = ("per_person", "per_term")
"""What the settings of caps begin with; each kind of work has its own."""


def caps_of(settings: RoundSettings, work: Work) -> Caps:
    """The caps of a kind of work."""
    return Caps(*(int(getattr(settings, f"{name}_{work}")) for name in CAP_NAMES))


NEEDED_FACTS = ("institution", "contact")
"""The facts of the study without which nobody can consent."""


def warn_of_caps(campaign: Campaign, status: "RoundStatus", *, reporter: Reporter = QUIET) -> None:
    """Say if a round needs more people than the campaign knows, because of its caps."""
    from curation.rounds.allocation import least_people

    work = WORK[status.round.kind]
    caps = caps_of(campaign.settings.rounds, work)
    known = len(standing.who_answered(campaign.people))
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    alone = {"per_person": caps._replace(term=0), "per_term": caps._replace(person=0)}
    for name, cap in zip(CAP_NAMES, caps, strict=True):
        least = least_people(status.tasks, asked, alone[name])
        if cap and least > known:
            people_needed = amount(least, "person", "people")
            text = (
                f"{name}_{work} = {cap}: round {status.round.name} needs at least {people_needed}"
            )
            if known:
                reporter.warn(f"{text}, and the campaign knows {known}; find more, or raise it")
            else:
                reporter.note(text)


def own_texts(campaign: Campaign) -> Path:
    """The file in which a team changes texts that annotators see."""
    return campaign.folder("rounds") / "text.toml"


OWN_TEXTS: Dataset[pages.Own] = Dataset(
    "own texts",
    lambda campaign: [own_texts(campaign)],
    lambda campaign: pages.read_own(campaign.settings.campaign.language, own_texts(campaign)),
)


def write_skeleton(
    campaign: Campaign, language: str, *, like: str = "", to: Path | None = None
) -> Path:
    """Write the file in which a team translates the texts for annotators into a new language.

    Facts of the study in ``2-rounds/text.toml`` are kept, if that is all that is in the file.

    Args:
        campaign: the campaign.
        language: the code of the language.
        like: a shipped language whose texts are filled in, because it is near.
        to: the file to write; None for the campaign's own ``2-rounds/text.toml``.

    Raises:
        CurationError: the file exists, or ``like`` is not shipped.
    """
    from curation.rounds.translating import skeleton

    path, study = to or own_texts(campaign), dict[str, str]()
    if path.exists():
        if to or read_toml(path, fix="see docs/rounds.md").keys() - {pages.STUDY}:
            raise CurationError(f"{path}: exists already", "give another file with --to FILE")
        study = dict(pages.read_own(language, path).texts.get(pages.STUDY, {}))
    if like and nearest(like) is None:
        raise CurationError(
            f"no texts in the language {like!r} are shipped", f"use one of {', '.join(languages())}"
        )
    text = skeleton(language, like=like, study=study)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(text.encode())
    return path


def preview_texts(campaign: Campaign, to: Path) -> tuple[pages.Lacking, list[Path]]:
    """Write the texts of each kind of round, with English where a text lacks.

    Args:
        campaign: the campaign.
        to: the folder of the pages.

    Returns:
        The texts that are still to be written, and the pages.

    Raises:
        CurationError: the campaign's own texts are damaged, or have a key that is not known.
    """
    language, own = campaign.settings.campaign.language, campaign[OWN_TEXTS]
    made = []
    shown = pages.texts(language, own, english=True)
    for kind in ROUND_KINDS:
        made.append(to / f"texts-{kind}.html")
        with writing(made[-1]) as file:
            file.write(pages.preview(kind, shown, language=language).encode())
    return pages.lacking(language, own), made


def before_rounds(campaign: Campaign) -> str:
    """What the team has to write before a round can be opened; empty if nothing is missing."""
    language = campaign.settings.campaign.language
    command, place = f"curation rounds texts {language}", campaign.relative(own_texts(campaign))
    try:
        lacks = pages.lacking(language, campaign[OWN_TEXTS])
        if lacks.left:
            left = f"{amount(len(lacks.left), 'text')} that {place} still lacks"
            return f"write the {left} ({command} shows them)" if lacks.begun else command
        missing = pages.missing_facts(new_texts(campaign, 0))
    except CurationError as error:
        return f"{error.what}; {error.fix}"
    names = [name for name in NEEDED_FACTS if name in missing]
    if names and campaign.settings.rounds.consent:
        return f"write {' and '.join(names)} into [study] of {place}"
    return ""


def shown_texts(campaign: Campaign, round: Round) -> dict[str, Any]:
    """Every string that the annotators of a round see, as it was planned.

    All its people read the same, whatever changes in the campaign.

    Raises:
        CurationError: a file of texts is damaged, or has a key that is not known.
    """
    frozen = campaign.texts[round.name]
    return new_texts(campaign, round.pay) if frozen is None else frozen


def new_texts(campaign: Campaign, pay: float, *, typing: bool = False) -> dict[str, Any]:
    """Every string that annotators of a new round see: shipped texts, and the team's own file.

    Args:
        campaign: the campaign.
        pay: the pay for one task of the round; 0 if people are not paid.
        typing: whether the consent says that it is counted how texts come about.

    Raises:
        CurationError: a file of texts is damaged, or has a key that is not known.
    """
    settings = campaign.settings
    study = {"licence": settings.release.licence}
    amount = money(earned(pay, 1)) if pay else ""
    return pages.texts(
        settings.campaign.language,
        campaign[OWN_TEXTS],
        study=study,
        pay=(amount, settings.rounds.currency),
        typing=typing,
    )


def training(campaign: Campaign, kind: RoundKind) -> tuple[TrainingExample, ...]:
    """The examples that people try before their tasks; empty if there are none.

    Raises:
        CurationError: the campaign's own ``2-rounds/training.csv`` is damaged.
    """
    own, language = campaign.folder("rounds") / "training.csv", campaign.settings.campaign.language
    return read_training(own, language, kind)


def task_data(campaign: Campaign, round: Round, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """What leaves the campaign for each task: what people need to answer it, and nothing else."""
    shown = shown_texts(campaign, round)
    descriptions = _descriptions(campaign, tasks) if round.kind == "review" else {}
    names = {term.id: term.text for term in campaign.terms.values()}
    return [
        pages.task_data(
            task,
            round.kind,
            texts=shown,
            info=descriptions.get(task.term, ""),
            choices=[(id, names[id]) for id in task.choices if id in names],
        )
        for task in tasks
    ]


def _descriptions(campaign: Campaign, tasks: Sequence[Task]) -> dict[str, str]:
    """By term id what a reviewer reads of it: its description, its number of statements."""
    terms = {task.term for task in tasks}
    descriptions = {}
    for candidate in term_files.selection(campaign).candidates:
        if candidate.id in terms:
            counted = amount(candidate.rolled, "statement") if candidate.item else ""
            descriptions[candidate.id] = "; ".join(filter(None, [candidate.description, counted]))
    return descriptions


def open_platform(
    campaign: Campaign,
    round: Round,
    *,
    url: str = "",
    common_link: bool = False,
    prolific: bool = False,
    reporter: Reporter = QUIET,
) -> Platform:
    """The platform on which a round runs, or is to run. Reaches no network before a verb does.

    Args:
        campaign: the campaign.
        round: the round, as it is on disk now.
        url: the address of a Label Studio, if the round is not on one yet.
        common_link: on our own pages, let people enter a round of validation by one link for all.
        prolific: on our own pages, let people from Prolific enter by one link, and nobody else.
        reporter: where warnings, notes and progress go.
    """
    return PLATFORMS[round.platform](campaign, round, Options(url, common_link, prolific), reporter)


def platform_name(name: str) -> PlatformName:
    """A platform's name, checked; empty for the default, which is our own pages.

    Raises:
        CurationError: there is no such platform.
    """
    known = next((known for known in PLATFORMS if known == (name or DEFAULT)), None)
    if known is None:
        raise CurationError(f"no platform {name!r}", f"platforms: {', '.join(PLATFORMS)}")
    return known


def round_kind(name: str) -> RoundKind:
    """A kind of round, checked.

    Raises:
        CurationError: there is no such kind.
    """
    known = next((kind for kind in ROUND_KINDS if kind == name), None)
    if known is None:
        raise CurationError(f"no kind of round {name!r}", f"kinds: {', '.join(ROUND_KINDS)}")
    return known


class Options(NamedTuple):
    """What a platform may be told when a round is opened; each platform uses its own part."""

    url: str = ""
    common_link: bool = False
    prolific: bool = False


def _web(campaign: Campaign, round: Round, options: Options, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.web.platform import DATABASE, WebRound

    archive, access = campaign.folder("rounds") / round.name / "raw", _Access(campaign, round)
    database, link = campaign.folder("rounds") / DATABASE, options.common_link

    def crowd() -> "Prolific | None":
        from curation.rounds.platforms.web.prolific import from_environment

        return from_environment(reporter.warn)

    return WebRound(round, database, archive, access, reporter, link, options.prolific, crowd)


def server_address(platform: PlatformName, url: str) -> str:
    """The checked address of the server of new rounds: as given, or from the environment.

    Raises:
        CurationError: it is not an address, or rounds on this platform have none.
    """
    from curation.rounds.platforms.label_studio.connection import check_address

    if url and platform not in SERVERS:
        raise CurationError(
            f"--url is the address of a Label Studio, and the round is on platform {platform}",
            "add --platform label_studio, or leave --url out",
        )
    address = url or os.environ.get(SERVERS.get(platform, ""), "")
    if address:
        check_address(address)
    return address


def counts_typing(campaign: Campaign, kind: RoundKind, platform: PlatformName) -> bool:
    """Whether a new round counts how texts come about: writing on our own pages, if it is on."""
    return campaign.settings.rounds.typing_counts and kind in KINDS and platform == DEFAULT


def check_link(platform: PlatformName, *, common_link: bool, prolific: bool) -> None:
    """Check that a round can have the link that it is to have.

    Raises:
        CurationError: rounds on this platform have no links of ours, or both kinds are wanted.
    """
    option = "--prolific" if prolific else "--common-link"
    if common_link and prolific:
        raise CurationError(
            "--common-link lets everybody in, and --prolific only people from Prolific",
            "leave one of them out",
        )
    if (common_link or prolific) and platform != DEFAULT:
        raise CurationError(
            f"{option} is for our own pages, and the round is on platform {platform}",
            f"add --platform {DEFAULT}, or leave {option} out",
        )


def _files(campaign: Campaign, round: Round, options: Options, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.files import Files

    return Files(round)


def _label_studio(
    campaign: Campaign, round: Round, options: Options, reporter: Reporter
) -> Platform:
    from curation.rounds.platforms.label_studio.platform import LabelStudioRound

    id, title = campaign.settings.campaign.id, _title(campaign, round)

    def connect() -> "LabelStudio":
        from curation.rounds.platforms.label_studio import local

        return local.open_server(id, round, title=title, url=options.url, tell=reporter.note)

    archive = campaign.folder("rounds") / round.name / "raw"
    access = _Access(campaign, round)
    return LabelStudioRound(round, title, archive, access, connect, reporter)


class _Access(NamedTuple):
    """What a platform may ask of a campaign for one round; see ``interface.RoundAccess``."""

    campaign: Campaign
    round: Round

    def texts(self) -> dict[str, Any]:
        return shown_texts(self.campaign, self.round)

    def tasks(self) -> Sequence[Task]:
        return self.campaign.tasks[self.round.name]

    def task_data(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        return task_data(self.campaign, self.round, tasks)

    def pseudonyms(self) -> Callable[[str], str]:
        from curation.rounds import people

        return people.pseudonyms(people.read_key(self.campaign.settings.campaign.id))

    def erased(self) -> "Callable[[Sent], bool]":
        return round_files.erased(self.campaign, self.round.name)

    def writing_rounds(self, url: str) -> list[str]:
        rounds = self.campaign.rounds
        return [other.name for other in rounds if other.server == url and other.kind in KINDS]

    def save(self, round: Round) -> None:
        round_files.write_round(self.campaign, round)

    def settings(self) -> Settings:
        return self.campaign.settings

    def caps(self) -> Caps:
        return caps_of(self.campaign.settings.rounds, WORK[self.round.kind])

    def earlier(self, *, without: str = "") -> dict[str, list[str]]:
        from curation.checks.content import gist

        by_term: dict[str, list[str]] = {}
        items = self.campaign.items if self.round.kind in KINDS else []
        for item in items:
            if item.kind == self.round.kind and (not without or item.writer != without):
                meant = [a.sentence for a in item.associations if a.intent != "unrelated"]
                by_term.setdefault(item.term, []).append(gist(item.context, meant))
        return by_term

    def training(self) -> tuple[TrainingExample, ...]:
        return training(self.campaign, self.round.kind)


def _title(campaign: Campaign, round: Round) -> str:
    """A title that no other round has: an opening that was killed finds its project by it."""
    name, id = campaign.settings.campaign.name, campaign.settings.campaign.id
    return f"{round.name[:20]} · {name[:16]} · {stable_id('', id, round.name)[1:9]}"


DEFAULT: PlatformName = "web"
PLATFORMS: dict[PlatformName, Callable[[Campaign, Round, Options, Reporter], Platform]] = {
    "web": _web,
    "label_studio": _label_studio,
    "files": _files,
}
"""How each platform is opened; ``platform`` in round.json is the name."""
SERVERS: dict[PlatformName, str] = {"label_studio": "LABEL_STUDIO_URL"}
"""The platforms on servers with an address, and the environment variable that has it."""


WRITING = "curation rounds open intrasentence, or curation rounds open intersentence"
"""What to do when the terms are reviewed and selected again."""


class RoundStatus(NamedTuple):
    """A round with all that its progress is computed from.

    Attributes:
        round: the round.
        tasks: its tasks.
        answers: what became of each answer.
        asked: by task id, how many answers were asked for in all.
        votes: by item id, the counted votes of its three associations; empty for other kinds
            than validation.
        void: the tasks that no answer can serve any more.
        lack: by task id, how many valid answers it still lacks.
        tables: the tables that are out, oldest first, then the sheets of refused answers; without
            void tasks.
        exchanges_tables: whether tasks are exported and answers imported as tables.
        waiting: how many answers wait to be pulled.
        attendance: whether people can come, and who has ended.
        correctable: how many refused answers could go back to people who work in tables.
    """

    round: Round
    tasks: Sequence[Task]
    answers: Sequence[Answer]
    asked: dict[str, int]
    votes: "dict[str, list[Votes]]"
    void: set[str]
    lack: dict[str, int]
    tables: list[Holding]
    exchanges_tables: bool
    waiting: int = 0
    attendance: Attendance = Attendance()
    correctable: int = 0

    @property
    def held(self) -> dict[str, int] | None:
        """By task id, how many answers are out in tables; None if the round has no tables."""
        return self._out(corrects=False) if self.exchanges_tables else None

    @property
    def sheets(self) -> dict[str, int]:
        """By task id, how many refused answers are out to be corrected."""
        return self._out(corrects=True)

    @property
    def to_find(self) -> dict[str, int]:
        """By task id, how many answers it lacks beside those that people correct."""
        sheets = self.sheets
        return {task: max(n - sheets.get(task, 0), 0) for task, n in self.lack.items()}

    def _out(self, *, corrects: bool) -> dict[str, int]:
        held = Counter[str]()
        for table in self.tables:
            if table.corrects == corrects:
                held.update(table.tasks)
        return dict(held)


def read_status(campaign: Campaign, round: Round) -> RoundStatus:
    """A round's status, by the answers that are here."""
    from curation.rounds import progress

    tasks = campaign.tasks[round.name]
    answers = campaign.answers[round.name]
    items = campaign.items if campaign.round_names() else []
    known = {item.id: item for item in (*items, *campaign.neutral_items)}
    kept = {t.id for t in campaign.terms.values() if t.status == "kept"}
    void = progress.voided(round, tasks, known, kept)
    votes = {}
    if round.kind == "validation":
        votes = votes_of(campaign, items, also=round.name)
    settings = campaign.settings.decisions
    lack = progress.lacking(
        round, tasks, answers, votes=votes, needed=settings.needed, of=settings.of, void=void
    )
    asked = round_files.read_asked(campaign, round.name, tasks)
    ledger = campaign[round_files.LEDGER][round.name]
    out = round_files.read_holdings(campaign, round.name, ledger, answers, void)
    place, gone = open_platform(campaign, round), standing.out(campaign.standing)
    excluded = {who for who, (code, _) in gone.items() if code == "excluded"}
    exchanges = place.exchanges_tables
    status = RoundStatus(round, tasks, answers, asked, votes, void, lack, out, exchanges)
    with suppress(CurationError):  # a damaged database: ``about_waiting`` says so
        status = status._replace(waiting=place.waiting(), attendance=place.attendance(excluded))
    correctable = _correctable(campaign, status) if exchanges and round.state == "open" else 0
    return status._replace(correctable=correctable)


def to_correct(
    campaign: Campaign,
    status: RoundStatus,
    refused: "Iterable[RefusedAnswer]",
    complete: Collection[tuple[str, str]],
) -> "tuple[dict[str, list[RefusedAnswer]], Counter[str]]":
    """The refused answers of a round that go back, by person; and how many do not, by why."""
    from curation.rounds.refused import to_correct

    held, settings, work = status.held or {}, campaign.settings.rounds, WORK[status.round.kind]
    return to_correct(
        refused,
        status.tasks,
        status.answers,
        complete=complete,
        needed={task: n - held.get(task, 0) for task, n in status.lack.items()},
        caps=caps_of(settings, work),
        least={"write": settings.write_seconds, "label": settings.label_seconds}.get(work, 0.0),
        out=standing.out(campaign.standing),
    )


def _correctable(campaign: Campaign, status: RoundStatus) -> int:
    """How many refused answers could go back, on tasks that more answers should be asked for."""
    from curation.rounds.refused import RefusedAnswer

    more = to_ask(status.to_find, status.asked, received(status), status.held or {})
    by_pair = {(a.task, a.annotator): a for a in status.answers}
    refused = [
        RefusedAnswer(a.task, a.annotator, (a.code,), ("",), {}, "", "", a.seconds, n)
        for n, a in enumerate(by_pair.values())
        if a.code and a.task in more
    ]
    accepted = {pair for pair, answer in by_pair.items() if answer.code is None}
    chosen, _ = to_correct(campaign, status, refused, accepted)
    return sum(map(len, chosen.values()))


def progress_of(campaign: Campaign, status: RoundStatus) -> "Progress":
    """A round's progress now."""
    from curation.rounds import progress

    return progress.progress(
        status.round,
        status.tasks,
        status.answers,
        lack=status.lack,
        asked=status.asked,
        votes=status.votes,
        needed=campaign.settings.decisions.needed,
        of=campaign.settings.decisions.of,
        now=now(),
        void=status.void,
        held=status.held,
        sheets=status.sheets,
    )


def figures(campaign: Campaign, status: RoundStatus) -> RoundFigures:
    """What the owner of a round looks at: its progress, the next step, what was refused and why."""
    from curation.rounds import progress

    now_at = progress_of(campaign, status)
    return progress.RoundFigures(
        now_at,
        advice(status, now_at),
        progress.refused_by_reason(status.answers),
        flagged(campaign, status.round),
    )


def about_budget(campaign: Campaign) -> str:
    """What all rounds that were opened here cost, against the budget; empty if there is none."""
    budget = campaign.settings.rounds.budget
    if not budget:
        return ""
    rounds = [progress_of(campaign, read_status(campaign, r)) for r in campaign.rounds]
    now, in_all = sum(p.cost for p in rounds), sum(p.cost_in_all for p in rounds)
    over = f", {in_all - budget:,.2f} more than the budget" if in_all > budget else ""
    return (
        f"budget: {now:,.2f} of {budget:,.2f} {campaign.settings.rounds.currency} "
        f"({100 * now / budget:.0f} %); with the answers still to come {in_all:,.2f}{over}"
    )


def received(status: RoundStatus) -> Counter[str]:
    """By task id, how many of the answers asked for came in, valid or not."""
    from curation.rounds import progress

    return progress.received(status.answers)


def to_deal(status: RoundStatus) -> dict[str, int]:
    """By task id, how many answers were asked for and are in no table that is out."""
    from curation.rounds import progress

    return progress.to_deal(status.to_find, status.asked, received(status), status.held or {})


def flagged(campaign: Campaign, round: Round, *, by: int = 2) -> Mapping[str, list[str]]:
    """By flag, the items that at least ``by`` people gave it."""
    people_by_flag: dict[tuple[str, str], set[str]] = {}
    for flag in campaign.flags[round.name]:
        people_by_flag.setdefault((flag.flag, flag.item), set()).add(flag.annotator)
    items: dict[str, list[str]] = {}
    for (flag_name, item), people in sorted(people_by_flag.items()):
        if len(people) >= by:
            items.setdefault(flag_name, []).append(item)
    return items


def about_waiting(campaign: Campaign, name: str) -> str:
    """How many of a round's answers wait to be pulled, and the command for it; empty if none wait.

    A round that was not opened here has none.

    Raises:
        CurationError: the platform's own file is damaged.
    """
    if name not in round_files.planned_rounds(campaign):
        return ""
    waiting = open_platform(campaign, campaign.round(name)).waiting()
    return came(waiting, name) if waiting else ""


def about_neutral(campaign: Campaign) -> str:
    """The command that asks for labels on neutral associations, if nobody was asked yet."""
    rounds = campaign.rounds
    asked = {name for round in rounds if round.kind == "validation" for name in round.of}
    written = {item.round for item in campaign.neutral_items} - asked
    names = [round.name for round in rounds if round.name in written and round.state == "closed"]
    of = "".join(f" --of {name}" for name in names)
    return f"curation rounds open validation{of}" if names else ""


def advice(status: RoundStatus, progress: "Progress") -> str:
    """What to do next about a round, in one line."""
    round = status.round
    if round.state == "planned":
        return f"not fully published; curation rounds open {round.kind} --name {round.name}"
    name, at = round.name, status.attendance
    closed = "closed; " if round.state == "closed" else ""
    if status.waiting:
        return f"{closed}{came(status.waiting, name)}"
    if at.complete and (closed or progress.remaining):
        bonus = f", then curation rounds approve {name} --bonus" if round.reward is not None else ""
        todo = f"curation rounds approve {name}{bonus}"
        return f"{closed}submissions to approve: {at.complete}; {todo}"
    if closed:
        return "closed"
    if not progress.remaining:
        out = f"; {amount(progress.out, 'answer')} out that no task needs" if progress.out else ""
        out = out if status.exchanges_tables else ""
        return f"nothing is missing{out}; curation rounds close {round.name}"
    parts = []
    if tabled := sum(each.answers for each in status.tables):
        parts.append(f"{amount(tabled, 'answer is', 'answers are')} out ({_tables(status)})")
    if progress.out > tabled:
        parts.append(f"{amount(progress.out - tabled, 'answer')} to come")
    if progress.missing:
        parts.append(f"{progress.missing if parts else amount(progress.missing, 'answer')} missing")
    if at.entrance:
        return f"{', '.join([*parts, 'nobody can enter yet'])}; {at.entrance}"
    if status.correctable:
        parts.append(f"{amount(status.correctable, 'refused answer')} can go back")
        command = f"refused {name} (or curation rounds top-up {name}, to ask others)"
    elif to_ask(status.to_find, status.asked, received(status), status.held or {}):
        command = f"top-up {name}"
    elif status.exchanges_tables and progress.missing:
        command = f"export {name}"
    elif status.tables:
        command = f"import {name} FILE"
    elif at.is_full:
        command = f"close {name} (all places are taken; or add some to the study on Prolific)"
    else:
        command = f"status {name} --watch 60 (people are still working)"
    return f"{', '.join(parts)}; curation rounds {command}"


def _tables(status: RoundStatus) -> str:
    """How many tables are out, and since when."""
    tables = status.tables
    since = f"since {tables[0].since[:10]}"
    if len(tables) == 1:
        return f"{tables[0].table}, {since}"
    return f"{len(tables)} tables, the oldest {tables[0].table}, {since}"
