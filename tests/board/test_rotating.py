"""Test sets are closed and revealed, and the next ones are opened."""

import json
import shutil
import signal
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from curation.files import dump_line
from curation.pages.board.log import Closed, Opened, Scored
from curation.release.hidden import commitments
from curation.steps.board.creating import today
from curation.steps.board.folder import Board, open_board
from curation.steps.board.values import values
from support.expected import has
from support.labelled import Desk, proof
from support.strike import strike, times
from support.written import files, lines
