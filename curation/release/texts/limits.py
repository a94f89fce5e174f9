"""What no dataset of this kind can do: limits that the StereoSet papers name, in every card."""

from typing import NamedTuple

ARXIV = "https://arxiv.org/abs/2004.09456"
ACL = "https://aclanthology.org/2021.acl-long.416/"


class Limit(NamedTuple):
    """A limit in a few words and in full, with the paper's section that names it."""

    title: str
    text: str
    section: str
    url: str


LIMITS = (
    Limit(
        "A pool of annotators is not a population.",
        "The texts and labels come from the people who took part. They are not a "
        "sample of a country or of the speakers of a language, so the stereotypes of other people "
        "may differ or be missing.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "Stereotypes collide with facts.",
        "A stereotype or an anti-stereotype can make a claim that is true or false. Such texts "
        "remain even if writers avoid them and validators mark them. The scores expect that a "
        "model prefers neither text, also if only one of them is true.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "Favouring a stereotype can be right.",
        "Some texts that are labelled as stereotypes are the more likely or the more useful "
        "continuation. A model that prefers them loses points all the same.",
        *("Nadeem, Bethke and Reddy 2020, section 9", ARXIV),
    ),
    Limit(
        "An ideal score does not mean an unbiased model.",
        "Bias has many forms. These tests measure one of them, on these terms, in these texts. Do "
        "not present a good score as proof that a model is free of bias or safe to use.",
        *("Nadeem, Bethke and Reddy 2021, section 8", ACL),
    ),
    Limit(
        "icat is not the sole criterion.",
        "icat combines two measures into one value. Read lms and ss with it, with their intervals "
        "and beside the baselines, before you choose a model.",
        *("Nadeem, Bethke and Reddy 2021, section 7", ACL),
    ),
)


def limits() -> list[str]:
    """The limits as a list in Markdown, and an empty line."""
    return [
        *(f"- **{each.title}** {each.text} ([{each.section}]({each.url}))" for each in LIMITS),
        "",
    ]
