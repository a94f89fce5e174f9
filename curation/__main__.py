"""``python -m curation``, and the command ``curation``."""

from curation import interrupts


def main() -> None:
    """Run the command line. Loading it takes a moment, in which it can be stopped, too."""
    stopped = None
    try:
        with interrupts.stoppable():
            from curation.cli import main as run

            run()
    except interrupts.Stopped as stop:
        stopped = interrupts.Stopped(stop.signal)  # without its traceback, which keeps files open
    if stopped:
        interrupts.leave(stopped)


if __name__ == "__main__":
    main()
