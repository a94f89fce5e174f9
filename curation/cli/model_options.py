"""Options of the commands that run a model."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from curation.files import CurationError


class EngineName(StrEnum):
    """Where the work is done."""

    local = "local"
    ray = "ray"


Device = Annotated[
    str, typer.Option(help="auto, cpu, cuda, cuda:1 …, or map to spread the model over all GPUs.")
]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
BatchTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Tokens per batch; default: set for the device.", show_default=False),
]
Revision = Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")]
Remote = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
EngineOption = Annotated[
    EngineName, typer.Option(help="local, or ray for the cluster at RAY_ADDRESS.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of processes, each with its own copy of the model; default: 1, or with Ray as "
        "many as the cluster allows.",
        show_default=False,
    ),
]


def options_of_work(engine: EngineName, workers: int | None, device: str) -> dict[str, Any]:
    """The arguments ``engine`` and ``workers`` of a measure.

    Raises:
        CurationError: Ray cannot give its workers this device.
    """
    if engine is EngineName.ray and (device == "map" or device.startswith("cuda:")):
        raise CurationError(
            f"--device {device} with --engine ray: Ray gives each worker a GPU of its own",
            "use --device cuda",
        )
    one = 1 if engine is EngineName.local else None
    return {"engine": engine.value, "workers": workers or one}
