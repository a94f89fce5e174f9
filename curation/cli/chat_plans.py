"""Tables of what asking chat models takes: requests, tokens and cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curation.cli import console
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.models.chat.prompts import ChatSpec
    from curation.scores.choice.asking import Plan, Prices


def show_plans(plans: "Sequence[Plan]", how: "ChatSpec", prices: "Prices | None") -> None:
    """Show what is still to be asked of chat models.

    Args:
        plans: of each model.
        how: how the models are asked.
        prices: prices of tokens, to show the cost.
    """
    columns = ["model", "CATs", "questions", "asked", "requests", "tokens in", "tokens out"]
    rows = [
        [
            plan.model, plan.cats, f"{plan.questions:,}", f"{plan.asked:,}",
            f"{plan.requests:,}", f"{plan.tokens_in:,}",
            _range([f"{tokens:,}" for tokens in plan.tokens_out]),
            *([_range([_money(cost) for cost in plan.cost(prices)])] if prices else []),
        ]
        for plan in plans
    ]  # fmt: skip
    prompts = "every prompt" if how.all_prompts else "one prompt"
    title = f"Plan: {prompts}, {amount(how.samples, 'sample')}"
    console.table(title, columns + (["cost"] if prices else []), rows)
    for plan in plans:
        if plan.measured and plan.requests:
            replies = amount(plan.measured, "earlier reply", "earlier replies")
            console.say(f"{plan.model}: tokens are estimated from {replies} of this run.")
    by_rule = [plan for plan in plans if plan.requests and not plan.measured]
    if by_rule:
        from curation.scores.choice.asking import BYTES, MESSAGE

        console.say(
            f"Tokens in are estimated: one for {BYTES} bytes of text, and {MESSAGE} for each "
            "request."
        )
    if any(least < most for least, most in (plan.tokens_out for plan in by_rule)):
        console.say("Tokens out are at least 1 and at most --max-tokens for each request.")
    console.say("Nothing was sent.")


def show_used(run: Mapping[str, Any], prices: "Prices | None") -> None:
    """Show the tokens that a run has taken so far, if the server counts them, and their cost.

    Args:
        run: the content of ``run.json``.
        prices: prices of tokens, to show the cost.
    """
    tokens = run.get("answers", {}).get("tokens") or {}  # none of a model on this machine
    sent, received = (int(tokens.get(name) or 0) for name in ("prompt", "completion"))
    if not sent:
        return
    cost = f"; cost {_money(prices.cost(sent, received))}" if prices else ""
    console.say(f"all replies of this run: {sent:,} tokens in, {received:,} tokens out{cost}")


def _range(ends: Sequence[str]) -> str:
    return "–".join(dict.fromkeys(ends))


def _money(cost: float) -> str:
    """A cost with two decimals, or with two digits if it is below 1.

    >>> _money(12.345), _money(0.012345), _money(0)
    ('12.35', '0.012', '0.00')
    """
    return f"{cost:.2g}" if 0 < cost < 1 else f"{cost:,.2f}"
