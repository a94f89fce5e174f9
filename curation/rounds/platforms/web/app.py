"""The pages on which people work: an address each, and what becomes of what they send.

Tasks are given out, and answers taken, by forms that are sent. What a person sends is answered
after it is on disk.
"""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from curation.files import shipped
from curation.kinds import ROUNDS
from curation.rounds.answers.forms import typing_of
from curation.rounds.answers.parsed import LONGEST_TEXT
from curation.rounds.platforms.web import arrivals, checks, forms
from curation.rounds.platforms.web.arrivals import Claim
from curation.rounds.platforms.web.arriving import Arriving
from curation.rounds.platforms.web.database import NoSpaceError
from curation.rounds.platforms.web.forms import Checker, Form, Problem, Services
from curation.rounds.platforms.web.owner import OwnerPages
from curation.rounds.platforms.web.rounds import Plan, WebTask
from curation.rounds.platforms.web.site import HERE, Refusal, Safe, Site, Visit, texts_of
from curation.rounds.platforms.web.store import NOT_YOURS, Given, Person, Store
from curation.text.wording import earned, money


def make_app(store: Store, services: Services) -> Starlette:
    """The application.

    Args:
        store: the open database.
        services: what the server may ask of the campaign.
    """
    site = Site(store, services)
    own, page = Pages(site), site.route
    return Starlette(
        routes=[
            page("/", "home", own.home),
            page("/join/{token}", "join", own.join, own.joined),
            page("/p/{secret}", "enter", own.enter),
            page("/me", "me", own.me),
            page("/help", "help", own.help),
            page("/leave", "leave", own.left, own.leave),
            page("/r/{round}", "round", own.overview, own.consent),
            page("/r/{round}/link", "link", own.link),
            page("/r/{round}/training", "training", own.training, own.trained),
            page("/r/{round}/next", "next", None, own.next),
            page("/r/{round}/ahead", "ahead", None, own.ahead),
            page("/r/{round}/check", "check", None, own.check),
            page("/r/{round}/pause", "pause", own.pause),
            page("/r/{round}/done", "done", own.done),
            page("/r/{round}/t/{task}", "task", own.task, own.answer),
            page("/r/{round}/t/{task}/skip", "skip", None, own.skip),
            *OwnerPages(site).routes(),
            Route("/health", lambda request: PlainTextResponse("ok"), name="health"),
            # At the root, because a worker serves only what is below its own address.
            Route("/worker.js", lambda request: FileResponse(HERE / "static" / "worker.js")),
            Mount("/static/look", StaticFiles(directory=shipped("data", "pages"))),
            Mount("/static", StaticFiles(directory=HERE / "static"), name="static"),
        ],
        middleware=[Middleware(Safe), Middleware(GZipMiddleware, compresslevel=6)],
        exception_handlers={HTTPException: site.not_found},
    )


class Pages:
    """The pages of people who work."""

    def __init__(self, site: Site) -> None:
        self.site, self.store, self.services = site, site.store, site.services
        self.arriving = Arriving(site)

    def _before(self, visit: Visit, plan: Plan) -> Response | None:
        """The page that comes before tasks, if the person has not passed it yet."""
        if not self.store.has_consented(visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}", 303)
        if checks.has_failed(self.store, visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}/done", 303)
        trains = plan.training and plan.training_pass
        if trains and True not in self.store.attempts(visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}/training", 303)
        return None

    # --- entering -------------------------------------------------------------------------------

    def home(self, visit: Visit) -> Response:
        """The person's rounds, or the only one at once."""
        if visit.person is None:
            return self.site.message(visit, self.site.any_plan(visit), "home")
        names = self.store.rounds_of(visit.person.id)
        if len(names) == 1:
            return RedirectResponse(f"/r/{names[0]}", 303)
        if not names:
            return RedirectResponse("/me", 303)
        shown = [one for one in self._rounds(visit) if one["is_open"]]
        return self.site.page(visit, self.site.any_plan(visit), "home.html", rounds=shown)

    def _rounds(self, visit: Visit) -> list[dict[str, Any]]:
        """The rounds that are open to the person, and those in which they took part."""
        person, shown = visit.who, []
        names = self.store.rounds_of(person.id, also_closed=True)
        plans = [plan for name in names if (plan := self.store.plan(name))]
        kinds, seen = Counter(plan.kind for plan in plans), Counter[str]()
        for plan in plans:
            web, is_open = plan.texts["web"], self.site.is_open(visit, plan)
            seen[plan.kind] += 1
            title = web[f"kind_{plan.kind}"]
            title += f" ({seen[plan.kind]})" if kinds[plan.kind] > 1 else ""
            if not is_open and not self.store.has_consented(person.id, plan.name):
                continue
            counts = self.store.standing(person, plan.name, at=visit.now)._asdict()
            counts |= {} if is_open else {"left": 0}
            has_ended = checks.has_failed(self.store, person.id, plan.name)
            if plan.training and plan.training_pass:
                tries = self.store.attempts(person.id, plan.name)
                has_ended |= True not in tries and len(tries) >= plan.training_tries
            says = web["me_ended"] if has_ended else forms.say(web["me_count"], **counts)
            left = 0 if has_ended else counts["left"]
            row = {"name": plan.name, "title": title, "standing": says, "plan": plan}
            shown.append(row | {"is_open": is_open, "left": left})
        return shown

    def _others(self, visit: Visit, plan: Plan) -> list[dict[str, Any]]:
        """The person's other rounds with tasks for them; none if Prolific sent them to this one."""
        if self.arriving.of(visit, plan):
            return []
        return [one for one in self._rounds(visit) if one["left"] and one["name"] != plan.name]

    def enter(self, visit: Visit) -> Response:
        """A personal link: its secret becomes a session, and leaves the address."""
        person = self.store.person_by_secret(visit.part("secret"))
        if person is None:
            raise Refusal(404, "link_wrong")
        if self.services.is_out(person.pseudonym):
            raise Refusal(403, "out")
        if visit.request.method == "HEAD":
            return RedirectResponse("/", 303)
        return self.site.signed_in(visit, person, "/")

    def _joining(self, visit: Visit) -> tuple[Plan, Claim | None, Person | None]:
        """The round of a common link, the claim in its address, and who comes, if that is known.

        With a claim, that is never the person who is signed in, unless they came with it. A claim
        that is not confirmed opens no other round.
        """
        name = self.store.round_of(visit.part("token"))
        plan = self.store.plan(name) if name else None
        if plan is None:
            raise Refusal(404, "link_wrong")
        if not plan.common_link and not plan.prolific:
            raise Refusal(403, "personal_only")
        claim = self.arriving.claim(visit)
        person = self.arriving.known(plan, claim) if claim else visit.person
        took_part = person and self.store.has_consented(person.id, plan.name)
        if person and not took_part and person.id in arrivals.provisional(self.store):
            person = None
        if plan.prolific and not claim and not took_part:
            raise Refusal(403, "prolific_only", plan=plan)
        if not took_part and plan.name not in self.store.rounds():
            raise Refusal(410, "closed", plan=plan)
        return plan, claim, person

    def join(self, visit: Visit) -> Response:
        """The information sheet and the consent form of a round with a common link."""
        plan, claim, person = self._joining(visit)
        if person and self.store.has_consented(person.id, plan.name):
            if visit.request.method == "HEAD":
                return RedirectResponse(f"/r/{plan.name}", 303)
            return self.site.signed_in(visit, person, f"/r/{plan.name}")
        return self._consent_page(visit, plan, claim=claim)

    def _consent_page(
        self, visit: Visit, plan: Plan, *, missing: bool = False, claim: Claim | None = None
    ) -> Response:
        problem = Problem("agree", "no_consent", plan.texts["web"]["agree_first"])
        who = None if claim else visit.person
        n = self.store.standing(who, plan.name, at=visit.now).left if who else 0
        return self.site.page(
            visit,
            plan,
            "consent.html",
            status=422 if missing else 200,
            problems=[problem] if missing else [],
            warning=forms.warning(plan),
            expect=forms.expect(plan, n),
            may_decline=claim is not None,
        )

    def joined(self, visit: Visit) -> Response:
        """Consent by the common link: it makes the person, unless somebody is signed in.

        People from Prolific are told a code also if they decline.
        """
        plan, claim, person = self._joining(visit)
        if claim and person and self.store.has_consented(person.id, plan.name):  # sent twice
            return self.site.signed_in(visit, person, f"/r/{plan.name}")
        if claim and visit.form.one("decline"):
            way = self.arriving.decline(visit, plan, claim)
            return self.site.message(visit, plan, "declined", **way)
        if not visit.form.one("agree"):
            return self._consent_page(visit, plan, missing=True, claim=claim)
        if claim:
            person = self.arriving.enter(visit, plan, claim)
        else:
            person = person or self.store.add_person(
                self.services.pseudonym, [plan.name], cookie=visit.cookie, at=visit.now
            )
            self.store.admit(person.id, plan.name)
        self.store.consent(person.id, plan.name, at=visit.now)
        link = "" if claim else "/link"  # the link at Prolific is theirs
        return self.site.signed_in(visit, person, f"/r/{plan.name}{link}")

    def consent(self, visit: Visit) -> Response:
        """Consent of a person who came by a personal link."""
        plan = self.site.plan(visit)
        if not visit.form.one("agree"):
            return self._consent_page(visit, plan, missing=True)
        self.store.consent(visit.who.id, plan.name, at=visit.now)
        return RedirectResponse(f"/r/{plan.name}", 303)

    def _link(self, visit: Visit) -> str:
        base = self.store.fact("address") or str(visit.request.base_url)
        return f"{base.rstrip('/')}/p/{self.store.secret_of(visit.who.id)}"

    def link(self, visit: Visit) -> Response:
        """The personal link of somebody who came by a common one."""
        plan = self.site.plan(visit)
        return self.site.page(visit, plan, "link.html", link=self._link(visit))

    # --- training and overview ------------------------------------------------------------------

    def overview(self, visit: Visit) -> Response:
        """What to expect, and the button that takes the next task; the end, if there is none."""
        plan = self.site.plan(visit, also_closed=True)
        if not self.site.is_open(visit, plan):
            return RedirectResponse(f"/r/{plan.name}/done", 303)
        if not self.store.has_consented(visit.who.id, plan.name):
            return self._consent_page(visit, plan)
        if before := self._before(visit, plan):
            return before
        standing = self.store.standing(visit.who, plan.name, at=visit.now)
        if not standing.left:
            return RedirectResponse(f"/r/{plan.name}/done", 303)
        return self.site.page(
            visit,
            plan,
            "overview.html",
            standing=standing,
            expect=forms.expect(plan, standing.left),
            warning=forms.warning(plan),
            parts_of=forms.instructions(plan),
        )

    def training(self, visit: Visit) -> Response:
        """The examples; after a try, what most people answer, and why."""
        plan = self.site.plan(visit)
        if not self.store.has_consented(visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}", 303)
        tries = self.store.attempts(visit.who.id, plan.name)
        given = visit.request.query_params.get("given", "")
        if tries and given:
            return self._training_page(visit, plan, forms.decoded(plan, given), tries)
        if True in tries or not plan.training:
            return RedirectResponse(f"/r/{plan.name}", 303)
        if len(tries) >= plan.training_tries:
            return self._training_page(visit, plan, [""] * len(plan.training), tries)
        return self._training_page(visit, plan, [""] * len(plan.training), tries, asks=True)

    def trained(self, visit: Visit) -> Response:
        """One try of the training; sending it twice is one try."""
        plan = self.site.plan(visit)
        tries = self.store.attempts(visit.who.id, plan.name)
        answers = forms.training_answers(plan, visit.form)
        here = f"/r/{plan.name}/training"
        address = f"{here}?given={forms.encoded(plan, answers)}"
        if visit.form.one("attempt") != str(len(tries)):
            return RedirectResponse(address if tries else here, 303)
        if True in tries or len(tries) >= plan.training_tries:
            return RedirectResponse(here, 303)
        if missing := [n for n, answer in enumerate(answers, 1) if not answer]:
            says = plan.texts["web"]["training_required"]
            problems = [Problem(f"example_{n}", "missing_field", says) for n in missing]
            return self._training_page(visit, plan, answers, tries, asks=True, problems=problems)
        share = forms.right_answers(plan, answers) / len(answers)
        passed = share >= plan.training_pass
        self.store.add_attempt(
            visit.who.id, plan.name, number=len(tries), share=share, passed=passed
        )
        return RedirectResponse(address, 303)

    def _training_page(
        self,
        visit: Visit,
        plan: Plan,
        answers: list[str],
        tries: list[bool],
        *,
        asks: bool = False,
        problems: Sequence[Problem] = (),
    ) -> Response:
        view = forms.training_view(plan, answers, tries, asks=asks)
        if view["shown"] == "end":
            view |= self.arriving.way_out(visit, plan, "screened_out")
            view["others"] = self._others(visit, plan)
        return self.site.page(
            visit,
            plan,
            "training.html",
            status=422 if problems else 200,
            problems=problems,
            **({"code": "", "complete": "", "others": ()} | view),
        )

    # --- tasks ----------------------------------------------------------------------------------

    def next(self, visit: Visit) -> Response:
        """Give the next task."""
        plan = self.site.plan(visit, also_closed=True)
        return self._before(visit, plan) or self._to_next(visit, plan)

    def _to_next(self, visit: Visit, plan: Plan, note: str = "") -> Response:
        out = checks.has_failed(self.store, visit.who.id, plan.name)
        got = "closed" if out else self.store.give(visit.who, plan.name, at=visit.now)
        address = f"/r/{plan.name}/{'pause' if got == 'pause' else 'done'}"
        if isinstance(got, Given):
            shown = checks.due(self.store, visit.who.id, plan) or got.task
            address = f"/r/{plan.name}/t/{shown.id}"
        address += f"?note={note}" if note else ""
        return JSONResponse({"go": address}) if visit.wants_json else RedirectResponse(address, 303)

    def ahead(self, visit: Visit) -> Response:
        """The addresses of a person's tasks, and of a few more for a time offline."""
        plan = self.site.plan(visit)
        ids = (
            []
            if self._before(visit, plan)
            else self.store.ahead(visit.who, plan.name, at=visit.now)
        )
        return JSONResponse({"pages": [f"/r/{plan.name}/t/{id}" for id in ids]})

    def task(self, visit: Visit) -> Response:
        """The page of a task that the person was given."""
        plan = self.site.plan(visit)
        if before := self._before(visit, plan):
            return before
        fields = forms.read(plan.kind, Form())
        check = checks.due(self.store, visit.who.id, plan)
        if check and check.id == visit.part("task"):
            return self._task_page(visit, plan, check, fields, [])
        task = visit.part("task")
        shown = self.store.was_given(visit.who, plan.name, task)
        if shown and (last := self.store.changeable(visit.who.id, plan.name).get(task)):
            fields = {name: str(last.payload.get(name, "")) for name in fields}
            return self._task_page(visit, plan, shown, fields, [], edits=True)
        given = self.store.held(visit.who, plan.name, task, at=visit.now)
        if given is None:
            raise Refusal(410, "over", plan=plan)
        return self._task_page(visit, plan, given.task, fields, [])

    def _task_page(
        self,
        visit: Visit,
        plan: Plan,
        task: WebTask,
        fields: Mapping[str, Any],
        problems: list[Problem],
        *,
        status: int = 0,
        **more: Any,
    ) -> Response:
        order = [n + 1 for n in self.store.order(plan, task.id, visit.who.id)]
        return self.site.page(
            visit,
            plan,
            "task.html",
            status=status or (422 if any(one.stops for one in problems) else 200),
            problems=problems,
            standing=self.store.standing(visit.who, plan.name, at=visit.now),
            last=next(reversed(self.store.changeable(visit.who.id, plan.name)), ""),
            answer_id=forms.answer_id(visit.form) or secrets.token_hex(16),
            seen=visit.form.one("seen") or f"{visit.now:.0f}",
            edits=more.pop("edits", visit.form.one("edits")),
            **(forms.task_view(plan, task, fields, problems, order) | more),
        )

    def check(self, visit: Visit) -> Response:
        """What is to be changed in what the person has written so far, as JSON."""
        plan = self.site.plan(visit)
        task = visit.form.one("task")
        given = self.store.held(visit.who, plan.name, task, at=visit.now)
        if given is None:
            raise Refusal(410, "over", plan=plan)
        fields = forms.read(plan.kind, visit.form)
        checker = Checker(plan, self.store, self.services)
        problems = checker.problems(given.task, fields, live=True)
        return JSONResponse({"problems": [one._asdict() for one in problems]})

    def answer(self, visit: Visit) -> Response:
        """Take an answer, and give the next task; on a full disk, the same page with the text."""
        plan = self.site.plan(visit, also_closed=True)
        try:
            return self._taken(visit, plan)
        except NoSpaceError:
            task = self.store.was_given(visit.who, plan.name, visit.part("task"))
            if visit.wants_json or task is None:
                raise
            fields = forms.read(plan.kind, visit.form)
            return self._task_page(visit, plan, task, fields, [], status=507, note="full")

    def _taken(self, visit: Visit, plan: Plan) -> Response:
        task, id = visit.part("task"), forms.answer_id(visit.form)
        if id is None:
            raise Refusal(400, "unreadable", plan=plan)
        fields = forms.read(plan.kind, visit.form)
        if checks.is_answered(self.store, visit.who.id, plan.name, task):
            return self._to_next(visit, plan)
        check = checks.due(self.store, visit.who.id, plan)
        if check and check.id == task:
            if wrong := self._to_change(visit, plan, check, fields):
                return wrong
            checks.answer(self.store, visit.who.id, plan, check, fields, at=visit.now)
            return self._to_next(visit, plan)
        # An answer that comes twice, or late, is kept as it is: its task is not held any more.
        given = self.store.held(visit.who, plan.name, task, at=visit.now)
        edits = visit.form.one("edits")
        shown = self.store.was_given(visit.who, plan.name, task) if edits else given and given.task
        if not shown and any(len(text) > LONGEST_TEXT for text in fields.values()):
            raise Refusal(413, "too_large", plan=plan)
        if shown and (wrong := self._to_change(visit, plan, shown, fields)):
            return wrong
        if plan.typing and (
            typing := typing_of(visit.form.one("typing"), fields, ROUNDS[plan.kind].writes)
        ):
            fields["typing"] = typing
        mine = (visit.who, plan.name, task)
        if edits:
            receipt: str = self.store.edit(*mine, id=id, fields=fields, at=visit.now)
        else:
            took = forms.seconds(visit.form, visit.now)
            receipt = self.store.submit(*mine, id=id, fields=fields, seconds=took, at=visit.now)
        return self._received(visit, plan, receipt)

    def _to_change(
        self, visit: Visit, plan: Plan, task: WebTask, fields: Mapping[str, Any]
    ) -> Response | None:
        """The page that says what is to be changed in an answer; None if it can be taken."""
        editor = visit.who.id if visit.form.one("edits") else ""
        problems = Checker(plan, self.store, self.services, editor).problems(task, fields)
        if not any(one.stops for one in problems):
            return None
        if visit.wants_json:
            return JSONResponse({"problems": [one._asdict() for one in problems]}, 422)
        return self._task_page(visit, plan, task, fields, problems)

    def skip(self, visit: Visit) -> Response:
        """Skip a task, and give the next one."""
        plan = self.site.plan(visit, also_closed=True)
        id, reason = forms.answer_id(visit.form), visit.form.one("reason")
        if id is None or reason not in forms.SKIPS:
            raise Refusal(400, "unreadable", plan=plan)
        receipt = self.store.skip(
            visit.who, plan.name, visit.part("task"), id=id, reason=reason, at=visit.now
        )
        return self._received(visit, plan, receipt)

    def _received(self, visit: Visit, plan: Plan, receipt: str) -> Response:
        if receipt == NOT_YOURS:
            raise Refusal(403, "not_yours", plan=plan)
        if receipt == "second":
            raise Refusal(409, "second", plan=plan)
        if receipt == "full":
            raise Refusal(507, "full", plan=plan)
        return self._to_next(visit, plan, "late" if receipt == "late" else "")

    # --- a pause, the end, and what is always at hand -------------------------------------------

    def pause(self, visit: Visit) -> Response:
        """A pause: how long it lasts, and who helps."""
        plan = self.site.plan(visit)
        until = self.store.resting(visit.who.id, plan.name, at=visit.now)
        web = plan.texts["web"]
        minutes = max(1, round((until - visit.now) / 60))
        left = forms.say(web["pause_left"], minutes=minutes) if until else web["pause_over"]
        help_lines = plan.texts["content_warning"]["upset"]
        lines = [*web["pause_lines"], f"**{left}**"]
        return self.site.message(visit, plan, "pause", lines, help=help_lines, next=plan.name)

    def done(self, visit: Visit) -> Response:
        """Thanks, with a code if nothing is left to do here, and what is left elsewhere."""
        plan = self.site.plan(visit, also_closed=True)
        is_open, arrival = self.site.is_open(visit, plan), self.arriving.of(visit, plan)
        standing = self.store.standing(visit.who, plan.name, at=visit.now)
        web = plan.texts["web"]
        count = forms.say(web["done_count"], n=standing.answered, skipped=standing.skipped)
        failed = checks.has_failed(self.store, visit.who.id, plan.name)
        if arrival and arrival.standing == "returned":
            way = self.arriving.way_out(visit, plan, "finished") if standing.answered else {}
            return self.site.message(visit, plan, "gone", [web["gone"], count], **way)
        if is_open and standing.left and not failed and not (arrival and arrival.outcome):
            lines = [web["done_more"], count]
            return self.site.message(visit, plan, "done_more", lines, next=plan.name)
        others = self._others(visit, plan)
        way = self.arriving.way_out(visit, plan, "failed" if failed else "finished")
        if not standing.answered and not failed:
            name = "done_none" if is_open else "closed"
            return self.site.message(visit, plan, name, others=others, **way)
        way = way or {"code": forms.end_code(self.store.secret_of(visit.who.id), plan.name)}
        name, lead = "done", "done_lead" if is_open else "done_closed"
        lead = "done_part" if is_open and others else lead
        if failed:
            name = lead = "failed"
        return self.site.message(visit, plan, name, [web[lead], count], others=others, **way)

    def me(self, visit: Visit) -> Response:
        """What the person answered and earned, their link, and how to withdraw."""
        plan, rounds = self.site.any_plan(visit), self._rounds(visit)
        for row in rounds:
            own: Plan = row["plan"]
            past = self.store.past(visit.who.id, own.name)
            last = self.store.changeable(visit.who.id, own.name)
            row["given"] = [(*forms.recalled(own, one), id, id in last) for id, one in past.items()]
            is_paid = past and own.pay and not self.arriving.of(visit, own)  # else Prolific pays
            amount, says = money(earned(own.pay, len(past))), own.texts["web"]["me_earned"]
            row["earned"] = forms.say(says, amount=amount, currency=own.currency) if is_paid else ""
        return self.site.page(visit, plan, "me.html", rounds=rounds, link=self._link(visit))

    def help(self, visit: Visit) -> Response:
        """How the pages work, and whom to ask."""
        plan = self.site.any_plan(visit)
        web = texts_of(plan)["web"]
        return self.site.message(
            visit, plan, "help", [], help=[*web["help_lines"], web["help_contact"]]
        )

    def leave(self, visit: Visit) -> Response:
        """End the session on this device."""
        plan = self.site.any_plan(visit)
        self.store.end_session(visit.cookie)
        return self._left(visit._replace(person=None), plan)

    def left(self, visit: Visit) -> Response:
        """That nobody is signed in, after the script has ended the session."""
        if visit.person:
            return RedirectResponse("/", 303)
        return self._left(visit, self.site.any_plan(visit))

    def _left(self, visit: Visit, plan: Plan | None) -> Response:
        response = self.site.message(visit, plan, "leave", texts_of(plan)["web"]["leave_lines"])
        self.site.set_cookie(visit, response, "")
        return response
