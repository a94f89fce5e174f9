"""The pages on which people work: an address each, and what becomes of what they send.

A page that is only opened changes nothing but the session: tasks are given out, and answers taken,
by forms that are sent. Every form carries a token of its session. What a person sends is answered
after it is on disk. No address but those of links has a secret, and those redirect at once.
"""

import logging
import secrets
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curation.records import KINDS
from curation.rounds import pages
from curation.rounds.platforms.web import forms
from curation.rounds.platforms.web.forms import Checker, Form, Problem, Services
from curation.rounds.platforms.web.store import (
    NOT_YOURS,
    Given,
    NoSpaceError,
    Person,
    Plan,
    Store,
    WebTask,
)

HERE = Path(__file__).parent
COOKIE = "curation"  # behind https with a prefix: another host or page cannot set it
LARGEST = 64 * 1024  # bytes of a form
DRAINED = 2**20  # bytes of a form that is too large: read, so that the browser sees the page
NOTES = ("late",)
FORM = "application/x-www-form-urlencoded"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
log = logging.getLogger(__name__)


class Visit(NamedTuple):
    """A request, and who sends it.

    Attributes:
        request: the request.
        form: the form that was sent; empty if only a page is opened.
        cookie: the session's cookie; in a browser without one a new one, which the page sets.
        person: the person of the session; None if there is none.
        now: the seconds since 1970.
    """

    request: Request
    form: Form
    cookie: str
    person: Person | None
    now: float

    @property
    def wants_json(self) -> bool:
        """Whether the script sent it, which reads JSON."""
        return "application/json" in self.request.headers.get("accept", "")

    def part(self, name: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[name])

    @property
    def who(self) -> Person:
        """The person.

        Raises:
            Refusal: nobody is signed in.
        """
        if self.person is None:
            raise Refusal(401, "signed_out")
        return self.person


Handler = Callable[[Visit], Response]


def cookie_name(request: Request) -> str:
    """The name of the session's cookie."""
    return f"__Host-{COOKIE}" if request.url.scheme == "https" else COOKIE


class Refusal(Exception):  # noqa: N818 (it is a page, not an error)
    """A page instead of the one that was asked for; its texts are ``NAME_title`` and ``NAME``."""

    def __init__(self, status: int, name: str, *, plan: Plan | None = None) -> None:
        super().__init__(name)
        self.status, self.name, self.plan = status, name, plan


class Safe:
    """Adds the headers that keep a page private to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(n, v) for n, v in message["headers"] if n.lower() != b"server"]
                there = {name.lower() for name, _ in kept}
                cache = "no-cache" if scope["path"].startswith("/static/") else "no-store"
                for name, value in (*HEADERS.items(), ("Cache-Control", cache)):
                    if (key := name.lower().encode()) not in there:
                        kept.append((key, value.encode()))
                message["headers"] = kept
            await send(message)

        await self.app(scope, receive, with_headers)


def make_app(store: Store, services: Services) -> Starlette:
    """The application.

    Args:
        store: the open database.
        services: what the server may ask of the campaign.
    """
    site = Site(store, services)
    page = site.route
    return Starlette(
        routes=[
            page("/", "home", site.home),
            page("/join/{token}", "join", site.join, site.joined),
            page("/p/{secret}", "enter", site.enter),
            page("/me", "me", site.me),
            page("/help", "help", site.help),
            page("/leave", "leave", site.left, site.leave),
            page("/r/{round}", "round", site.overview, site.consent),
            page("/r/{round}/link", "link", site.link),
            page("/r/{round}/training", "training", site.training, site.trained),
            page("/r/{round}/next", "next", None, site.next),
            page("/r/{round}/check", "check", None, site.check),
            page("/r/{round}/pause", "pause", site.pause),
            page("/r/{round}/done", "done", site.done),
            page("/r/{round}/t/{task}", "task", site.task, site.answer),
            page("/r/{round}/t/{task}/skip", "skip", None, site.skip),
            Route("/health", lambda request: PlainTextResponse("ok"), name="health"),
            Mount("/static", StaticFiles(directory=HERE / "static"), name="static"),
        ],
        middleware=[Middleware(Safe)],
        exception_handlers={HTTPException: site.not_found},
    )


class Site:
    """The pages over one database."""

    def __init__(self, store: Store, services: Services) -> None:
        self.store, self.services = store, services
        self.templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters |= {"marked": forms.marked}
        self._warmed = set[str]()
        for plan in filter(None, map(store.plan, store.rounds())):
            self._warm(plan)

    def _warm(self, plan: Plan) -> None:
        """Load what the checks of a round need, once, while its people read."""
        if plan.kind in KINDS and plan.language not in self._warmed:
            self._warmed.add(plan.language)
            load = partial(forms.warm, plan.language, self.services)
            threading.Thread(target=load, daemon=True).start()

    # --- what all pages share -------------------------------------------------------------------

    def route(
        self, path: str, name: str, get: Handler | None, post: Handler | None = None
    ) -> Route:
        """An address: what opens it, and what takes a form that is sent to it."""
        methods = [*(["GET"] if get else []), *(["POST"] if post else [])]

        async def serve(request: Request) -> Response:
            handler = post if request.method == "POST" else get
            assert handler is not None
            try:
                form = await _form(request) if request.method == "POST" else Form()
                visit = await run_in_threadpool(self._visit, request, form)
            except Exception as error:  # shown as any other, also if the database is broken
                visit, handler = self._stranger(request), partial(_raise, error)
            response = await run_in_threadpool(self._answered, visit, name, handler)
            log.info("%s %s %d", request.method, name, response.status_code)
            return response

        return Route(path, serve, methods=methods, name=name)

    def _stranger(self, request: Request) -> Visit:
        cookie = request.cookies.get(cookie_name(request), "")
        return Visit(request, Form(), cookie, None, self.services.now())

    def _visit(self, request: Request, form: Form) -> Visit:
        cookie = request.cookies.get(cookie_name(request), "")
        person = self.store.session(cookie) if cookie else None
        visit = Visit(request, form, cookie, person, self.services.now())
        if request.method == "POST" and not self._is_own(visit):
            raise Refusal(403, "forged") if person or not cookie else Refusal(401, "signed_out")
        return visit

    def _is_own(self, visit: Visit) -> bool:
        """Whether a form comes from a page of ours in the same browser."""
        headers, url = visit.request.headers, visit.request.url
        own = {f"{url.scheme}://{url.netloc}", self.store.fact("address").rstrip("/")}
        # Without referrers, browsers name the origin of a form «null».
        if headers.get("origin", "null") not in {*own, "null"}:
            return False
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        token = visit.form.one("csrf")
        right = self.store.csrf(visit.cookie)
        return bool(visit.cookie) and secrets.compare_digest(token.encode(), right.encode())

    def _answered(self, visit: Visit, name: str, handler: Handler) -> Response:
        try:
            person = visit.person
            always = name in ("me", "help", "leave")
            if person and not always and self.services.is_out(person.pseudonym):
                raise Refusal(403, "out")
            return handler(visit)
        except Refusal as refusal:
            return self._refused(visit, refusal)
        except NoSpaceError:
            return self._refused(visit, Refusal(507, "full"))
        except Exception as error:
            # The error's own text may quote what a person wrote, so the log has only its place.
            place = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s: %s\n%s", name, type(error).__name__, place)
            return self._refused(visit, Refusal(500, "broken"))

    async def not_found(self, request: Request, error: Exception) -> Response:
        """The page for an address that does not exist."""
        status = cast(HTTPException, error).status_code
        visit = await run_in_threadpool(self._visit_or_stranger, request)
        refusal = Refusal(status, "missing" if status == 404 else "unreadable")
        log.info("%s - %d", request.method, status)
        return await run_in_threadpool(self._refused, visit, refusal)

    def _visit_or_stranger(self, request: Request) -> Visit:
        visit = self._stranger(request)
        try:
            person = self.store.session(visit.cookie) if visit.cookie else None
        except Exception:  # the database may be what is broken
            return visit
        return visit._replace(person=person)

    def _refused(self, visit: Visit, refusal: Refusal) -> Response:
        try:
            plan = refusal.plan or self._any_plan(visit)
        except Exception:  # the database itself may be what is broken
            plan = None
        web, name = _texts(plan)["web"], refusal.name
        if visit.wants_json:
            says = {"refused": name, "title": web[f"{name}_title"], "text": web[name]}
            again = refusal.plan and f"/r/{refusal.plan.name}"
            return JSONResponse(says | {"go": again or ""}, refusal.status)
        goes_on = ""
        if refusal.plan and visit.person:
            own = self.store.rounds_of(visit.person.id, also_closed=True)
            goes_on = refusal.plan.name if refusal.plan.name in own else ""
        return self._message(visit, plan, name, status=refusal.status, next=goes_on)

    def _any_plan(self, visit: Visit) -> Plan | None:
        """A plan whose language the person reads: of a round of theirs, else of any."""
        own = self.store.rounds_of(visit.person.id, also_closed=True) if visit.person else []
        for name in (*own, *self.store.rounds()):
            return self.store.plan(name)
        return None

    def _page(
        self,
        visit: Visit,
        plan: Plan | None,
        template: str,
        *,
        status: int = 200,
        **context: Any,
    ) -> Response:
        shown, person = _texts(plan), visit.person
        web = shown["web"]
        note = visit.request.query_params.get("note", "")
        cookie = visit.cookie or secrets.token_urlsafe(32)
        gap, chip = shown["writing"]["blank"], forms.chip(shown)
        if plan:
            self._warm(plan)
        html = self.templates.get_template(template).render(
            {
                "texts": shown,
                "t": web,
                "say": lambda key, **values: forms.say(web[key], **values),
                "fill": forms.say,
                "gapped": lambda text: chip.join(map(escape, forms.gap_parts(text, gap))),
                "filled": partial(forms.filled, gap=gap),
                "language": plan.language if plan else "en",
                "direction": shown["page"]["direction"],
                "csrf": self.store.csrf(cookie),
                "drafts_key": forms.drafts_key(self.store.secret_of(person.id)) if person else "",
                "person": person,
                "plan": plan,
                "note": note if note in NOTES else "",
                "problems": (),
                "here": visit.request.url.path,
            }
            | context
        )
        response = Response(html, status, media_type="text/html")
        if not visit.cookie and visit.request.url.path.startswith("/join/"):
            self._set_cookie(visit, response, cookie)
        return response

    def _message(
        self,
        visit: Visit,
        plan: Plan | None,
        name: str,
        lines: Sequence[str] | None = None,
        **context: Any,
    ) -> Response:
        web = _texts(plan)["web"]
        shown = {"title": web[f"{name}_title"], "lines": [web[name]] if lines is None else lines}
        shown |= {"code": "", "help": (), "next": ""}
        return self._page(visit, plan, "message.html", **(shown | context))

    def _set_cookie(self, visit: Visit, response: Response, value: str) -> None:
        response.set_cookie(
            *(cookie_name(visit.request), value),
            max_age=180 * 24 * 3600 if value else 0,
            secure=visit.request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def _signed_in(self, visit: Visit, person: Person, address: str) -> Response:
        response = RedirectResponse(address, 303)
        if visit.person is None or visit.person.id != person.id:
            if visit.person:
                self.store.end_session(visit.cookie)
            self._set_cookie(visit, response, self.store.begin_session(person.id))
        return response

    def _plan(self, visit: Visit, *, also_closed: bool = False) -> Plan:
        """The plan of the round in the address, if the person may work on it."""
        person, name = visit.who, visit.part("round")
        plan = self.store.plan(name)
        if plan is None:
            raise Refusal(404, "missing")
        if name not in self.store.rounds_of(person.id, also_closed=True):
            raise Refusal(404, "missing")
        if not also_closed and not self._is_open(visit, plan):
            raise Refusal(410, "closed", plan=plan)
        return plan

    def _is_open(self, visit: Visit, plan: Plan) -> bool:
        return plan.name in self.store.rounds_of(visit.who.id)

    def _before(self, visit: Visit, plan: Plan) -> Response | None:
        """The page that comes before tasks, if the person has not passed it yet."""
        if not self.store.has_consented(visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}", 303)
        trains = plan.training and plan.training_pass
        if trains and True not in self.store.attempts(visit.who.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}/training", 303)
        return None

    # --- entering -------------------------------------------------------------------------------

    def home(self, visit: Visit) -> Response:
        """The person's rounds, or the only one at once."""
        if visit.person is None:
            return self._message(visit, self._any_plan(visit), "home")
        names = self.store.rounds_of(visit.person.id)
        if len(names) == 1:
            return RedirectResponse(f"/r/{names[0]}", 303)
        if not names:
            return RedirectResponse("/me", 303)
        shown = [one for one in self._rounds(visit) if one["is_open"]]
        return self._page(visit, self._any_plan(visit), "home.html", rounds=shown)

    def _rounds(self, visit: Visit) -> list[dict[str, Any]]:
        """The rounds that are open to the person, and those in which they took part."""
        person, shown = visit.who, []
        names = self.store.rounds_of(person.id, also_closed=True)
        plans = [plan for name in names if (plan := self.store.plan(name))]
        kinds, seen = Counter(plan.kind for plan in plans), Counter[str]()
        for plan in plans:
            web, is_open = plan.texts["web"], self._is_open(visit, plan)
            seen[plan.kind] += 1
            title = web[f"kind_{plan.kind}"]
            title += f" ({seen[plan.kind]})" if kinds[plan.kind] > 1 else ""
            if not is_open and not self.store.has_consented(person.id, plan.name):
                continue
            counts = self.store.standing(person, plan.name, at=visit.now)._asdict()
            says = forms.say(web["me_count"], **counts | ({} if is_open else {"left": 0}))
            if plan.training and plan.training_pass:
                tries = self.store.attempts(person.id, plan.name)
                if True not in tries and len(tries) >= plan.training_tries:
                    says = web["me_ended"]
            shown.append({"name": plan.name, "title": title, "standing": says, "is_open": is_open})
        return shown

    def enter(self, visit: Visit) -> Response:
        """A personal link: its secret becomes a session, and leaves the address."""
        person = self.store.person_by_secret(visit.part("secret"))
        if person is None:
            raise Refusal(404, "link_wrong")
        if self.services.is_out(person.pseudonym):
            raise Refusal(403, "out")
        if visit.request.method == "HEAD":
            return RedirectResponse("/", 303)
        return self._signed_in(visit, person, "/")

    def _joining(self, visit: Visit) -> Plan:
        name = self.store.round_of(visit.part("token"))
        plan = self.store.plan(name) if name else None
        if plan is None:
            raise Refusal(404, "link_wrong")
        if not plan.common_link:
            raise Refusal(403, "personal_only")
        took_part = visit.person and self.store.has_consented(visit.person.id, plan.name)
        if not took_part and plan.name not in self.store.rounds():
            raise Refusal(410, "closed", plan=plan)
        return plan

    def join(self, visit: Visit) -> Response:
        """The information sheet and the consent form of a round with a common link."""
        plan = self._joining(visit)
        if visit.person and self.store.has_consented(visit.person.id, plan.name):
            return RedirectResponse(f"/r/{plan.name}", 303)
        return self._consent_page(visit, plan)

    def _consent_page(self, visit: Visit, plan: Plan, *, missing: bool = False) -> Response:
        problem = Problem("agree", "no_consent", plan.texts["web"]["agree_first"])
        n = self.store.standing(visit.person, plan.name, at=visit.now).left if visit.person else 0
        return self._page(
            *(visit, plan, "consent.html"),
            status=422 if missing else 200,
            problems=[problem] if missing else [],
            warning=forms.warning(plan),
            expect=forms.expect(plan, n),
        )

    def joined(self, visit: Visit) -> Response:
        """Consent by the common link: it makes the person, unless somebody is signed in."""
        plan = self._joining(visit)
        if not visit.form.one("agree"):
            return self._consent_page(visit, plan, missing=True)
        person = visit.person or self.store.add_person(
            self.services.pseudonym, [plan.name], cookie=visit.cookie, at=visit.now
        )
        self.store.admit(person.id, plan.name)
        self.store.consent(person.id, plan.name, at=visit.now)
        return self._signed_in(visit, person, f"/r/{plan.name}/link")

    def consent(self, visit: Visit) -> Response:
        """Consent of a person who came by a personal link."""
        plan = self._plan(visit)
        if not visit.form.one("agree"):
            return self._consent_page(visit, plan, missing=True)
        self.store.consent(visit.who.id, plan.name, at=visit.now)
        return RedirectResponse(f"/r/{plan.name}", 303)

    def _link(self, visit: Visit) -> str:
        base = self.store.fact("address") or str(visit.request.base_url)
        return f"{base.rstrip('/')}/p/{self.store.secret_of(visit.who.id)}"

    def link(self, visit: Visit) -> Response:
        """The personal link of somebody who came by a common one."""
        plan = self._plan(visit)
        return self._page(visit, plan, "link.html", link=self._link(visit))

    # --- training and overview ------------------------------------------------------------------

    def overview(self, visit: Visit) -> Response:
        """What to expect, and the button that takes the next task; the end, if there is none."""
        plan = self._plan(visit, also_closed=True)
        if not self._is_open(visit, plan):
            return RedirectResponse(f"/r/{plan.name}/done", 303)
        if not self.store.has_consented(visit.who.id, plan.name):
            return self._consent_page(visit, plan)
        if before := self._before(visit, plan):
            return before
        standing = self.store.standing(visit.who, plan.name, at=visit.now)
        if not standing.left:
            return RedirectResponse(f"/r/{plan.name}/done", 303)
        return self._page(
            *(visit, plan, "overview.html"),
            standing=standing,
            expect=forms.expect(plan, standing.left),
            warning=forms.warning(plan),
            parts_of=forms.instructions(plan),
        )

    def training(self, visit: Visit) -> Response:
        """The examples; after a try, what most people answer, and why."""
        plan = self._plan(visit)
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
        plan = self._plan(visit)
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
        return self._page(
            *(visit, plan, "training.html"),
            status=422 if problems else 200,
            problems=problems,
            **forms.training_view(plan, answers, tries, asks=asks),
        )

    # --- tasks ----------------------------------------------------------------------------------

    def next(self, visit: Visit) -> Response:
        """Give the next task."""
        plan = self._plan(visit, also_closed=True)
        return self._before(visit, plan) or self._to_next(visit, plan)

    def _to_next(self, visit: Visit, plan: Plan, note: str = "") -> Response:
        got = self.store.give(visit.who, plan.name, at=visit.now)
        address = f"/r/{plan.name}/{'pause' if got == 'pause' else 'done'}"
        if isinstance(got, Given):
            address = f"/r/{plan.name}/t/{got.task.id}"
        address += f"?note={note}" if note else ""
        return JSONResponse({"go": address}) if visit.wants_json else RedirectResponse(address, 303)

    def task(self, visit: Visit) -> Response:
        """The page of a task that the person was given."""
        plan = self._plan(visit)
        if before := self._before(visit, plan):
            return before
        given = self.store.held(visit.who, plan.name, visit.part("task"), at=visit.now)
        if given is None:
            raise Refusal(410, "over", plan=plan)
        fields = forms.read(plan.kind, Form())
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
        return self._page(
            *(visit, plan, "task.html"),
            status=status or (422 if any(one.stops for one in problems) else 200),
            problems=problems,
            standing=self.store.standing(visit.who, plan.name, at=visit.now),
            answer_id=forms.answer_id(visit.form) or secrets.token_hex(16),
            seen=visit.form.one("seen") or f"{visit.now:.0f}",
            **(forms.task_view(plan, task, fields, problems, order) | more),
        )

    def check(self, visit: Visit) -> Response:
        """What is to be changed in what the person has written so far, as JSON."""
        plan = self._plan(visit)
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
        plan = self._plan(visit, also_closed=True)
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
        # An answer that comes twice, or late, is kept as it is: its task is not held any more.
        given = self.store.held(visit.who, plan.name, task, at=visit.now)
        if given is not None:
            checker = Checker(plan, self.store, self.services)
            problems = checker.problems(given.task, fields)
            if any(one.stops for one in problems):
                if visit.wants_json:
                    shown = [one._asdict() for one in problems]
                    return JSONResponse({"problems": shown}, 422)
                return self._task_page(visit, plan, given.task, fields, problems)
        took = forms.seconds(visit.form, visit.now)
        receipt = self.store.submit(
            *(visit.who, plan.name, task), id=id, fields=fields, seconds=took, at=visit.now
        )
        return self._received(visit, plan, receipt)

    def skip(self, visit: Visit) -> Response:
        """Skip a task, and give the next one."""
        plan = self._plan(visit, also_closed=True)
        id, reason = forms.answer_id(visit.form), visit.form.one("reason")
        if id is None or reason not in forms.SKIPS:
            raise Refusal(400, "unreadable", plan=plan)
        receipt = self.store.skip(
            *(visit.who, plan.name, visit.part("task")), id=id, reason=reason, at=visit.now
        )
        return self._received(visit, plan, receipt)

    def _received(self, visit: Visit, plan: Plan, receipt: str) -> Response:
        if receipt == NOT_YOURS:
            raise Refusal(403, "not_yours", plan=plan)
        if receipt == "second":
            raise Refusal(409, "second", plan=plan)
        return self._to_next(visit, plan, "late" if receipt == "late" else "")

    # --- a pause, the end, and what is always at hand -------------------------------------------

    def pause(self, visit: Visit) -> Response:
        """A pause: how long it lasts, and who helps."""
        plan = self._plan(visit)
        until = self.store.resting(visit.who.id, plan.name, at=visit.now)
        web = plan.texts["web"]
        minutes = max(1, round((until - visit.now) / 60))
        left = forms.say(web["pause_left"], minutes=minutes) if until else web["pause_over"]
        help_lines = plan.texts["content_warning"]["upset"]
        lines = [*web["pause_lines"], f"**{left}**"]
        return self._message(visit, plan, "pause", lines, help=help_lines, next=plan.name)

    def done(self, visit: Visit) -> Response:
        """Thanks, with a code if nothing is left to do."""
        plan = self._plan(visit, also_closed=True)
        is_open = self._is_open(visit, plan)
        standing = self.store.standing(visit.who, plan.name, at=visit.now)
        web = plan.texts["web"]
        count = forms.say(web["done_count"], n=standing.answered, skipped=standing.skipped)
        if is_open and standing.left:
            lines = [web["done_more"], count]
            return self._message(visit, plan, "done_more", lines, next=plan.name)
        if not standing.answered:
            return self._message(visit, plan, "done_none" if is_open else "closed")
        code = forms.end_code(self.store.secret_of(visit.who.id), plan.name)
        lines = [web["done_lead" if is_open else "done_closed"], count]
        return self._message(visit, plan, "done", lines, code=code)

    def me(self, visit: Visit) -> Response:
        """What the person did, their link, and how to withdraw."""
        plan, rounds = self._any_plan(visit), self._rounds(visit)
        return self._page(visit, plan, "me.html", rounds=rounds, link=self._link(visit))

    def help(self, visit: Visit) -> Response:
        """How the pages work, and whom to ask."""
        plan = self._any_plan(visit)
        web = _texts(plan)["web"]
        return self._message(
            visit, plan, "help", [], help=[*web["help_lines"], web["help_contact"]]
        )

    def leave(self, visit: Visit) -> Response:
        """End the session on this device."""
        plan = self._any_plan(visit)
        self.store.end_session(visit.cookie)
        return self._left(visit._replace(person=None), plan)

    def left(self, visit: Visit) -> Response:
        """That nobody is signed in, after the script has ended the session."""
        if visit.person:
            return RedirectResponse("/", 303)
        return self._left(visit, self._any_plan(visit))

    def _left(self, visit: Visit, plan: Plan | None) -> Response:
        response = self._message(visit, plan, "leave", _texts(plan)["web"]["leave_lines"])
        self._set_cookie(visit, response, "")
        return response


def _texts(plan: Plan | None) -> Mapping[str, Any]:
    return plan.texts if plan else pages.texts("en", None)


def _raise(error: Exception, visit: Visit) -> Response:
    raise error


async def _form(request: Request) -> Form:
    """The form that a request brings.

    Raises:
        Refusal: it is too large, or not a form.
    """
    length = request.headers.get("content-length", "")
    try:
        if not length.isdecimal() or int(length) > LARGEST:
            read = 0
            async for chunk in request.stream():
                read += len(chunk)
                if read > DRAINED:
                    break
            raise Refusal(413 if length.isdecimal() else 411, "too_large")
        if request.headers.get("content-type", "").partition(";")[0] != FORM:
            raise Refusal(415, "unreadable")
        form = Form()
        for name, value in (await request.form(max_files=0, max_fields=100)).multi_items():
            form.setdefault(name, []).append(str(value))
        return form
    except ClientDisconnect:
        raise Refusal(400, "unreadable") from None
    except HTTPException:
        raise Refusal(400, "unreadable") from None
