"""Measure the time and memory of writing and reading a workbook that people fill in.

Makes the tasks of a round of validation. Runs four jobs, each in its own process: pandas writes the
bare table and reads it again, curation writes the workbook with its lists, colours and
instructions, and reads the filled-in answers. Prints one table. Targets: writing under 6 times
(every cell has a format) and reading under 3 times the time of pandas, both under 1 GB.

    python benchmarks/workbooks.py [TASKS]
"""

import multiprocessing as mp
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

KIND, VERSION = "validation", "1-abcdef"


def cells(tasks: int) -> list[dict[str, str]]:
    """The rows of the table, with answers."""
    return [
        {
            "task_id": f"t-{n}", "target": "baker", "domain": "profession",
            "context": f"The baker opens shop {n} in the morning.",
            **{f"text_{k}": f"In shop {n} the bread is number {k} of the day." for k in (1, 2, 3)},
            "label_1": "stereotype", "label_2": "anti-stereotype", "label_3": "unrelated",
            "annotator": f"person-{n % 50}", "consent": VERSION,
        }
        for n in range(tasks)
    ]  # fmt: skip


def pandas_writes(folder: Path, tasks: int) -> float:
    """For comparison: the bare table."""
    import pandas as pd

    table = pd.DataFrame(cells(tasks))
    start = time.perf_counter()
    table.to_excel(folder / "pandas.xlsx", index=False)
    return time.perf_counter() - start


def we_write(folder: Path, tasks: int) -> float:
    """Ours: the table with lists, colours, locks and instructions."""
    from curation.rounds.platforms import pages
    from curation.rounds.workbooks import Row, columns, round_workbook

    texts = pages.texts("en", None, study={"institution": "A", "contact": "a@example.invalid"})
    chosen = columns(KIND, texts, consent=VERSION, personal=False)
    rows = [Row(row) for row in cells(tasks)]
    start = time.perf_counter()
    content = round_workbook(KIND, texts, chosen, rows)
    (folder / "ours.xlsx").write_bytes(content)
    return time.perf_counter() - start


def pandas_reads(folder: Path, tasks: int) -> float:
    """For comparison: the bare table."""
    import pandas as pd

    start = time.perf_counter()
    table = pd.read_excel(folder / "pandas.xlsx")
    assert len(table) == tasks
    return time.perf_counter() - start


def we_read(folder: Path, tasks: int) -> float:
    """Ours: the sheet of tasks, with every check of its cells."""
    from curation.formats.rows import read_rows
    from curation.rounds.answers.rows import columns_of

    start = time.perf_counter()
    rows = list(read_rows(folder / "ours.xlsx", None, columns_of))
    assert len(rows) == tasks
    return time.perf_counter() - start


def apart(work: Callable[[Path, int], float], folder: Path, tasks: int) -> tuple[float, float]:
    """Run ``work`` in its own process; return the time and the peak memory in MB."""
    with mp.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, folder, tasks))


def _measured(work: Callable[[Path, int], float], folder: Path, tasks: int) -> tuple[float, float]:
    seconds = work(folder, tasks)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    jobs = {
        "pandas to_excel": pandas_writes,
        "curation writes": we_write,
        "pandas read_excel": pandas_reads,
        "curation reads": we_read,
    }
    with tempfile.TemporaryDirectory() as name:
        print(f"{tasks} tasks\n\n{'what':24}{'seconds':>9}{'ratio':>8}{'peak MB':>9}")
        base = 0.0
        for what, work in jobs.items():
            seconds, peak = apart(work, Path(name), tasks)
            base = seconds if what.startswith("pandas") else base
            print(f"{what:24}{seconds:9.2f}{seconds / base:8.2f}{peak:9.0f}")


if __name__ == "__main__":
    main()
