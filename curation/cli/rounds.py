"""``curation rounds``: its commands, in the order in which ``--help`` shows them."""

from collections.abc import Callable

from curation.across.commands.correcting import correct, show_items
from curation.across.commands.ethics import ethics
from curation.across.commands.people import exclude, withdraw
from curation.across.commands.serving import links, serve
from curation.rounds.commands.budget import plan
from curation.rounds.commands.crowd import approve, study
from curation.rounds.commands.pay import pay
from curation.rounds.commands.quality import quality
from curation.rounds.commands.rounds import close, open_, pull, status, top_up
from curation.rounds.commands.tables import export, import_, refused, texts
from curation.terminal.options import command_group

COMMANDS: dict[str, Callable[..., None]] = {
    "plan": plan,
    "ethics": ethics,
    "serve": serve,
    "open": open_,
    "links": links,
    "study": study,
    "approve": approve,
    "status": status,
    "pull": pull,
    "top-up": top_up,
    "close": close,
    "quality": quality,
    "export": export,
    "import": import_,
    "refused": refused,
    "pay": pay,
    "texts": texts,
    "exclude": exclude,
    "withdraw": withdraw,
    "item": show_items,
    "correct": correct,
}
app = command_group()
for name, command in COMMANDS.items():
    app.command(name)(command)
