"""Commands that have to go well, and commands that have to be refused."""

import json
from typing import Any

from support import commands


def well(*words: object) -> commands.Ran:
    """A command that goes well."""
    ran = commands.run(*map(str, words))
    assert ran.code == 0, ran.err
    return ran


def told(*words: object) -> Any:
    """What a command that goes well prints as JSON."""
    return json.loads(well(*words, "--json").out)


def refused(*words: object) -> str:
    """What a command says that ends with an error and its fix, and that prints nothing else."""
    ran = commands.run(*map(str, words))
    assert (ran.code, ran.out) == (1, ""), ran.err
    assert "error: " in ran.err
    assert "fix:   " in ran.err
    assert "Traceback" not in ran.err
    return ran.err
