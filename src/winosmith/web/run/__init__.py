"""The platform's area `run`: what an admin does to begin a site and to keep it going."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what is done by and by."""

    name = "winosmith.web.run"

    def ready(self) -> None:
        """Register how jobs are carried out; apply the chosen settings; forget files."""
        from winosmith.web.jobs import Job, looks, works
        from winosmith.web.pages import renew_rules
        from winosmith.web.people.privacy import tidying
        from winosmith.web.run import backups, files, human_tests, studies, uploads

        kind = Job.Kind
        looks |= {
            kind.IMPORT: files.look,
            kind.TEST: human_tests.look_test,
            kind.STUDY_LIST: studies.look_list,
            kind.STUDY_PAID: studies.look_paid,
        }
        works |= {
            kind.IMPORT: files.let_in,
            kind.TEST: human_tests.open_test,
            kind.TEST_PUBLISH: human_tests.publish_test,
            kind.STUDY_PLACES: studies.change_places,
            kind.STUDY_LIST: studies.let_come,
            kind.STUDY_PAID: studies.reconcile,
            kind.BACKUP: backups.make,
        }
        renew_rules()
        tidying["run"] = uploads.forget_files
