"""Runs lm-eval's command line several times in one process, since importing it takes longest.

A request is one line of JSON: the folder to run in, the words after ``lm-eval``, and whether it
reads the thousands of tasks that it has itself, which takes seconds. The answer is the exit status,
or the traceback.
"""

import json
import os
import runpy
import sys
import traceback
from functools import partialmethod


def main() -> None:
    """Answer requests until there are none; other output goes to standard error."""
    from lm_eval.tasks import TaskManager

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    whole = TaskManager.__init__
    for line in sys.stdin:
        request = json.loads(line)
        TaskManager.__init__ = partialmethod(whole, include_defaults=request["defaults"])
        os.chdir(request["folder"])
        sys.argv = ["lm-eval", *request["words"]]
        answer: object = 0
        try:
            runpy.run_module("lm_eval", run_name="__main__")
        except SystemExit as ended:
            answer = ended.code or 0
        except BaseException:
            answer = traceback.format_exc()
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
