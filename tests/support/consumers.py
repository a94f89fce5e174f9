"""The libraries with which people read a release, each set in an environment of its own.

``consumer_process.py`` runs there and answers requests. The first environment takes about 810 MB.
``$CURATION_CONSUMERS`` and ``$CURATION_CITATIONS`` name the pythons of others that have the
packages. cffconvert needs an older jsonschema than the others.
"""

from pathlib import Path

from support import environments
from support.environments import Process

READERS = (
    *("datasets==5.2.0", "mlcroissant==1.1.1", "frictionless[json]==5.21.0"),
    *("inspect-ai==0.3.285", "pandas==3.1.1", "pyarrow==26.0.1"),
)
CITATIONS = ("cffconvert==2.0.0",)
SCRIPT = Path(__file__).with_name("consumer_process.py")


def readers(caches: Path) -> Process:
    """A process that answers requests for the packages in ``READERS``.

    Args:
        caches: a folder for what these libraries store.

    Raises:
        NotThereError: there is no environment, and none can be made.
    """
    python = environments.python("consumers", READERS, named="CURATION_CONSUMERS")
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TQDM_DISABLE"), "1")
    places = {
        "HF_HOME": str(caches / "hub"),
        "HF_DATASETS_CACHE": str(caches / "datasets"),
        "CROISSANT_CACHE": str(caches / "croissant"),
        "INSPECT_LOG_DIR": str(caches / "inspect"),
        "INSPECT_DISPLAY": "none",
    }
    return Process([python, "-P", SCRIPT], {**offline, **places})


def citations() -> Process:
    """A process that answers requests for cffconvert.

    Raises:
        NotThereError: there is no environment, and none can be made.
    """
    python = environments.python("citations", CITATIONS, named="CURATION_CITATIONS")
    return Process([python, "-P", SCRIPT], {})
