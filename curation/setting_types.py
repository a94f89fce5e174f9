"""The types of the settings: ranges and forms that several of them share."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME = r"^[^\x00-\x20/\x7f][^\x00-\x1f/\x7f]*$"
Name = Annotated[str, StringConstraints(pattern=NAME, max_length=100)]
RoundName = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*$", max_length=100)]
LanguageCode = Annotated[
    str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$", max_length=35)
]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=40)]
Cap = Annotated[int, Field(ge=0, le=1_000_000_000)]
Words = Annotated[str, StringConstraints(max_length=300)]
Place = Annotated[str, StringConstraints(max_length=4000)]  # a path, a URL or a name on the hub
ListFile = Annotated[str, StringConstraints(pattern=r"^[^/\\]+$", max_length=250)]
"""A file in a stage's folder, or one that comes with curation."""
MaybeFile = Annotated[str, StringConstraints(pattern=r"^[^/\\]*$", max_length=250)]
Count = Annotated[int, Field(le=1_000_000_000)]
Few = Annotated[int, Field(le=1000)]  # items on a term, people, votes
Seconds = Annotated[float, Field(le=86_400)]  # at most a day
Amount = Annotated[float, Field(le=1_000_000_000)]
T = TypeVar("T")
Many = Annotated[tuple[T, ...], Field(max_length=100_000)]


class Section(BaseModel):
    """One table of ``campaign.toml``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
