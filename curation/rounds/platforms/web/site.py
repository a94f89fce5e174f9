"""What all pages share: requests, who sends them, forms, sessions, refusals and templates.

A page that is only opened changes nothing but the session. Every form carries a token of its
session. No address but those of links has a secret, and those redirect at once.
"""

import logging
import secrets
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curation.kinds import ROUNDS
from curation.rounds.platforms import pages
from curation.rounds.platforms.web import forms
from curation.rounds.platforms.web.database import NoSpaceError
from curation.rounds.platforms.web.forms import Form, Services
from curation.rounds.platforms.web.rounds import Plan
from curation.rounds.platforms.web.store import Person, Store, drafts_key

HERE = Path(__file__).parent
COOKIE = "curation"  # behind https with a prefix: another host or page cannot set it
OWNER = "/owner"  # below it is what only the owner may see
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
        gone: the ``drafts_key`` of somebody who was erased, or is out, while this browser was
            theirs. It deletes what it keeps of them.
    """

    request: Request
    form: Form
    cookie: str
    person: Person | None
    now: float
    gone: str = ""

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
    """The name of the session's cookie; the owner's pages have one of their own."""
    is_safe = request.url.scheme == "https"
    if _is_owners(request):
        return f"__Secure-{COOKIE}-owner" if is_safe else f"{COOKIE}-owner"
    return f"__Host-{COOKIE}" if is_safe else COOKIE


def _is_owners(request: Request) -> bool:
    return f"{request.url.path}/".startswith(f"{OWNER}/")


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


class Site:
    """What pages over one database share."""

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
            self.warm(plan)

    def warm(self, plan: Plan) -> None:
        """Load what the checks of a round need, once, while its people read."""
        if ROUNDS[plan.kind].writes and plan.language not in self._warmed:
            self._warmed.add(plan.language)
            load = partial(forms.warm, plan.language, self.services)
            threading.Thread(target=load, daemon=True).start()

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
            except ClientDisconnect:  # nobody would see a page
                return Response(status_code=400)
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
        gone = self.store.erased(cookie) if cookie and not person else ""
        visit = Visit(request, form, cookie, person, self.services.now(), gone)
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
                key = drafts_key(self.store.secret_of(person.id))
                return self.refused(visit._replace(gone=key), Refusal(403, "out"))
            return handler(visit)
        except Refusal as refusal:
            return self.refused(visit, refusal)
        except NoSpaceError:
            return self.refused(visit, Refusal(507, "full"))
        except Exception as error:
            # The error's own text may quote what a person wrote, so the log has only its place.
            place = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s: %s\n%s", name, type(error).__name__, place)
            return self.refused(visit, Refusal(500, "broken"))

    async def not_found(self, request: Request, error: Exception) -> Response:
        """The page for an address that does not exist."""
        status = cast(HTTPException, error).status_code
        visit = await run_in_threadpool(self._visit_or_stranger, request)
        refusal = Refusal(status, "missing" if status == 404 else "unreadable")
        log.info("%s - %d", request.method, status)
        return await run_in_threadpool(self.refused, visit, refusal)

    def _visit_or_stranger(self, request: Request) -> Visit:
        visit = self._stranger(request)
        try:
            person = self.store.session(visit.cookie) if visit.cookie else None
        except Exception:  # the database may be what is broken
            return visit
        return visit._replace(person=person)

    def refused(self, visit: Visit, refusal: Refusal) -> Response:
        """The page of a refusal; for the script, JSON."""
        try:
            plan = refusal.plan or self.any_plan(visit)
        except Exception:  # the database itself may be what is broken
            plan = None
        web, name = texts_of(plan)["web"], refusal.name
        if visit.wants_json:
            says = {"refused": name, "title": web[f"{name}_title"], "text": web[name]}
            again = refusal.plan and f"/r/{refusal.plan.name}"
            return JSONResponse(says | {"go": again or ""}, refusal.status)
        goes_on = ""
        if refusal.plan and visit.person:
            own = self.store.rounds_of(visit.person.id, also_closed=True)
            goes_on = refusal.plan.name if refusal.plan.name in own else ""
        return self.message(visit, plan, name, status=refusal.status, next=goes_on)

    def any_plan(self, visit: Visit) -> Plan | None:
        """A plan whose language the person reads: of a round of theirs, else of any."""
        own = self.store.rounds_of(visit.person.id, also_closed=True) if visit.person else []
        for name in (*own, *self.store.rounds()):
            return self.store.plan(name)
        return None

    def page(
        self,
        visit: Visit,
        plan: Plan | None,
        template: str,
        *,
        status: int = 200,
        **context: Any,
    ) -> Response:
        """A page in the language of a plan; ``context`` is what its template wants besides."""
        shown, person = texts_of(plan), visit.person
        web = shown["web"]
        note = visit.request.query_params.get("note", "")
        cookie = visit.cookie or secrets.token_urlsafe(32)
        gap, chip = shown["writing"]["blank"], forms.chip(shown)
        if plan:
            self.warm(plan)
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
                "drafts_key": drafts_key(self.store.secret_of(person.id)) if person else "",
                "gone": visit.gone,
                "person": person,
                "plan": plan,
                "note": note if note in NOTES else "",
                "problems": (),
                "may_decline": False,
                "here": visit.request.url.path,
            }
            | context
        )
        response = Response(html, status, media_type="text/html")
        if not visit.cookie and visit.request.url.path.startswith("/join/"):
            self.set_cookie(visit, response, cookie)
        return response

    def message(
        self,
        visit: Visit,
        plan: Plan | None,
        name: str,
        lines: Sequence[str] | None = None,
        **context: Any,
    ) -> Response:
        """A page of a few lines; texts are ``NAME_title`` and ``NAME``, or the given lines."""
        web = texts_of(plan)["web"]
        shown = {"title": web[f"{name}_title"], "lines": [web[name]] if lines is None else lines}
        shown |= {"code": "", "complete": "", "help": (), "next": "", "others": ()}
        return self.page(visit, plan, "message.html", **(shown | context))

    def set_cookie(self, visit: Visit, response: Response, value: str) -> None:
        """Set the session's cookie; empty to take it away."""
        response.set_cookie(
            cookie_name(visit.request),
            value,
            max_age=180 * 24 * 3600 if value else 0,
            path=OWNER if _is_owners(visit.request) else "/",
            secure=visit.request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def signed_in(self, visit: Visit, person: Person, address: str) -> Response:
        """Go to an address as a person; begins their session unless it is there."""
        response = RedirectResponse(address, 303)
        if visit.person is None or visit.person.id != person.id:
            if visit.person:
                self.store.end_session(visit.cookie)
            self.set_cookie(visit, response, self.store.begin_session(person.id))
        return response

    def plan(self, visit: Visit, *, also_closed: bool = False) -> Plan:
        """The plan of the round in the address, if the person may work on it."""
        person, name = visit.who, visit.part("round")
        plan = self.store.plan(name)
        if plan is None:
            raise Refusal(404, "missing")
        if name not in self.store.rounds_of(person.id, also_closed=True):
            raise Refusal(404, "missing")
        if not also_closed and not self.is_open(visit, plan):
            raise Refusal(410, "closed", plan=plan)
        return plan

    def is_open(self, visit: Visit, plan: Plan) -> bool:
        """Whether the person can still get tasks of the round."""
        return plan.name in self.store.rounds_of(visit.who.id)


def texts_of(plan: Plan | None) -> Mapping[str, Any]:
    """Every string that people see; in English if there is no plan."""
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
    except HTTPException:
        raise Refusal(400, "unreadable") from None
