"""Draw the steps in docs/architecture.md: which of them runs after which, and why.

    python docs/make_steps.py

The figure is the one block of ``mermaid`` on the page.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from curation.campaign.step import makers
from curation.pipeline import STEPS

PAGE = Path(__file__).with_name("architecture.md")


def arrows() -> Iterator[str]:
    """From each step to those that read what it makes; dotted if only what is made is read."""
    for step in STEPS:
        for datasets, arrow in ((step.reads, "-->"), (step.if_made, "-.->")):
            for maker in makers(datasets):
                read = (each for each in datasets if each in maker.makes)
                names = ", ".join(each.name.partition(".")[0] for each in read)
                yield f'    {maker.name} {arrow}|"{names}"| {step.name}'


def written(text: str) -> str:
    """The page with the figure as the steps are now.

    Raises:
        ValueError: the page does not have one block of mermaid.
    """
    made = "\n".join(("```mermaid", "graph TD", *arrows(), "```"))
    text, count = re.subn(r"```mermaid\n.*?```", lambda _: made, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE}: write one block of mermaid for the figure")
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
