"""Administration: setting up a site and running it."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.signals import request_started


class Config(AppConfig):
    name = "winosmith.web.run"

    def ready(self) -> None:
        from winosmith.web.jobs import Job, file_readers, runners
        from winosmith.web.pages import reload_rules
        from winosmith.web.people.privacy import cleaners
        from winosmith.web.run import backups, files, human_tests, studies

        kind = Job.Kind
        file_readers |= {
            kind.IMPORT: files.preview_import,
            kind.TEST: human_tests.preview_test,
            kind.STUDY_LIST: studies.preview_screening_list,
            kind.STUDY_PAID: studies.preview_decisions,
            kind.STUDY_BONUS: studies.preview_bonuses,
        }
        runners |= {
            kind.IMPORT: files.run_import,
            kind.TEST: human_tests.open_test,
            kind.TEST_PUBLISH: human_tests.publish_test,
            kind.STUDY_PLACES: studies.change_places,
            kind.STUDY_LIST: studies.apply_screening_list,
            kind.STUDY_PAID: studies.apply_decisions,
            kind.STUDY_BONUS: studies.apply_bonuses,
            kind.BACKUP: backups.make_backup,
        }
        reload_rules()
        request_started.connect(lambda **_: reload_rules(), weak=False)
        cleaners["run"] = files.delete_unconfirmed_jobs
