"""People who come from Prolific: how they enter, and the code with which they go back.

With the parameters in the address alone, nobody becomes a person who is here already: the API must
confirm them, or it is the claim with which that person came. If the API does not answer, people
work on a provisional row of their own, and nobody waits. What they send is checked later.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from curation.files import CurationError
from curation.rounds.platforms.web import arrivals, forms, prolific
from curation.rounds.platforms.web.arrivals import Arrival, Claim
from curation.rounds.platforms.web.forms import Services
from curation.rounds.platforms.web.rounds import Plan
from curation.rounds.platforms.web.site import Refusal, Site, Visit
from curation.rounds.platforms.web.store import Person, Store

MOVING = "standing = 'unchecked' OR status IN ('RESERVED', 'ACTIVE')"
"""Which arrivals may change while people work, in SQL."""
log = logging.getLogger(__name__)


class Arriving:
    """The rules for people from Prolific."""

    def __init__(self, site: Site) -> None:
        self.site, self.store, self.services = site, site.store, site.services

    def claim(self, visit: Visit) -> Claim | None:
        """What the address says; None if it has no parameters of Prolific.

        Raises:
            Refusal: they are damaged.
        """
        try:
            return prolific.claim(visit.request.query_params)
        except ValueError:
            raise Refusal(400, "not_confirmed") from None

    def known(self, plan: Plan, claim: Claim) -> Person | None:
        """The person who has come to this round with this claim before."""
        for one in arrivals.select(self.store, "id = ?", claim.id):
            if (one.claim, one.round) == (claim, plan.name) and one.standing != "forged":
                return self.store.person(one.person or "")
        return None

    def enter(self, visit: Visit, plan: Plan, claim: Claim) -> Person:
        """The person of a claim, who has just consented."""
        worth, name = self._worth(plan, claim), self.services.pseudonym
        if self.services.is_out(name(claim.participant)):
            raise Refusal(403, "out", plan=plan)
        return arrivals.enter(self.store, plan.name, claim, worth, pseudonym_of=name, at=visit.now)

    def decline(self, visit: Visit, plan: Plan, claim: Claim) -> dict[str, str]:
        """Remember that somebody does not take part; the way back, as from ``way_out``."""
        worth = self._worth(plan, claim)
        arrivals.decline(self.store, plan.name, claim, worth, at=visit.now)
        return self._way(plan, "no_consent")

    def _worth(self, plan: Plan, claim: Claim) -> tuple[str, str]:
        """What a claim is worth, and the status of its submission.

        Raises:
            Refusal: it is forged or shared, or the submission has ended.
        """
        studies, crowd = arrivals.studies(self.store, plan.name), self.services.crowd
        before = arrivals.select(self.store, "id = ?", claim.id)
        known = [one for one in before if one.claim == claim]
        others = [one for one in before if one.claim != claim and one.standing != "forged"]
        elsewhere = any(one.round != plan.name for one in known)
        try:
            if crowd is None:
                raise CurationError("no token", "")
            worth = arrivals.judged(claim, crowd.submission(claim.id, quick=True), studies)
        except CurationError:  # its text may have the id
            if crowd:
                log.warning("Prolific cannot be asked; somebody enters provisionally")
            worth = next(((one.standing, one.status) for one in known), ("unchecked", ""))
            # What is not confirmed must not contradict what came before.
            elsewhere = elsewhere or bool(others or (studies and claim.study not in studies))
            if not crowd:  # nobody checks it later, and the archive would take them for that person
                elsewhere = elsewhere or arrivals.is_named(self.store, claim.participant)
        if elsewhere or worth[0] == "forged":
            raise Refusal(403, "not_confirmed", plan=plan)
        if worth[0] == "returned":
            raise Refusal(403, "gone", plan=plan)
        return worth

    def of(self, visit: Visit, plan: Plan) -> Arrival | None:
        """With which submission the person of a session came; None for all others.

        Raises:
            Refusal: it is forged.
        """
        one = arrivals.of_person(self.store, visit.who.id, plan.name)
        if one and one.standing == "forged":
            raise Refusal(403, "not_confirmed", plan=plan)
        return one

    def way_out(self, visit: Visit, plan: Plan, outcome: str) -> dict[str, str]:
        """Remember how a person's part ended, and give what a page shows of it.

        Returns:
            ``code`` and ``complete``, the address that ends the submission; empty for people who
            did not come from Prolific. Somebody whose submission is gone gets them, too, but this
            is then no outcome.
        """
        one = self.of(visit, plan)
        if one is None:
            return {}
        if one.standing != "returned" and not one.outcome:
            arrivals.end(self.store, visit.who.id, plan.name, outcome, at=visit.now)
        return self._way(plan, one.outcome or outcome)

    def _way(self, plan: Plan, outcome: str) -> dict[str, str]:
        code = forms.study_code(self.store, plan.name, outcome)
        return {"code": code, "complete": f"{prolific.COMPLETE}{code}"}


@contextmanager
def checking(store: Store, services: Services) -> Iterator[None]:
    """Check submissions in the background for as long as it is needed; people never notice."""
    crowd, ended = services.crowd, threading.Event()
    if crowd is None:
        yield
        return

    def check() -> None:
        while not ended.wait(services.pace):
            try:
                for round in dict.fromkeys(one.round for one in arrivals.select(store, MOVING)):
                    arrivals.refresh(store, crowd, round)
            except CurationError:  # its text may have an id
                log.warning("Prolific cannot be asked; submissions are checked later")
            except Exception as error:  # the next check may work
                log.error("submissions are not checked: %s", type(error).__name__)

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        crowd.stop()
        thread.join(5)  # a request that is under way may take longer, and harms nothing
