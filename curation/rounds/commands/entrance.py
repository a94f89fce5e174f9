"""How commands say where people enter a round."""

from curation.rounds.platforms.interface import Published
from curation.terminal import console

SERVE_FIRST = "next: curation rounds serve (nobody can open these links before)"


def command_for_links(round: str) -> str:
    """The command that makes personal links to a round."""
    return f"curation rounds links {round} --count N"


def say_entrance(made: Published) -> None:
    """Print where people enter a round; a link to sign up is printed whole, with its token."""
    round = made.round.name
    if made.sign_up:
        console.say(f"for annotators: {made.address}")
        console.say(f"to sign up first: {made.sign_up}")
    elif made.is_study:
        console.say(f"for Prolific, as the study's URL: {made.address}")
    elif made.address:
        console.say(f"for everybody: {made.address}")
        console.say(f"for one person each: {command_for_links(round)}")
    else:
        console.say(f"people need personal links: {command_for_links(round)}")
    if made.is_dead:
        console.say(SERVE_FIRST)
