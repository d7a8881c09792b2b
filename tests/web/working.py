"""Run the waiting jobs of the worker in this thread."""


def work_off() -> None:
    """Run waiting and interrupted jobs until none is left."""
    from winosmith.web.jobs import LANES, run_next_job

    for kinds in LANES:
        while run_next_job(kinds):
            pass
