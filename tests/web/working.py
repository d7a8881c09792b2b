"""The worker's part in a test: all jobs that wait, done in this thread."""


def work_off() -> None:
    """Do what waits, and what was interrupted, until nothing is left."""
    from winosmith.web.jobs import LANES, run_next_job

    for kinds in LANES:
        while run_next_job(kinds):
            pass
