"""wefe, a library of bias measures, in a process of an environment of its own.

It needs an older numpy than ours. ``wefe_process.py`` runs there and answers requests. The
environment takes about 700 MB; ``$CURATION_WEFE`` names the python of another that has wefe.
"""

from pathlib import Path

from support import environments
from support.environments import Process

PACKAGES = ("wefe==1.0.1",)
SCRIPT = Path(__file__).with_name("wefe_process.py")


def wefe() -> Process:
    """A process that answers requests for wefe.

    Raises:
        NotThereError: there is no environment, and none can be made.
    """
    python = environments.python("wefe", PACKAGES, named="CURATION_WEFE")
    return Process([python, "-P", SCRIPT], {"TQDM_DISABLE": "1"})
