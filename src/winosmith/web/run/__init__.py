"""The platform's area `run`: what an admin does to begin a site and to keep it going."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what is done by and by."""

    name = "winosmith.web.run"

    def ready(self) -> None:
        """Say how deeds are carried out; let them go on; go by what was chosen; forget files."""
        from winosmith.web._background import hourly
        from winosmith.web.pages import renew_rules
        from winosmith.web.people.privacy import tidying
        from winosmith.web.run.backups import make
        from winosmith.web.run.deeds import forget_files, go_on, looks, works
        from winosmith.web.run.files import let_in, look
        from winosmith.web.run.human_tests import look_test, open_test, publish_test
        from winosmith.web.run.models import (
            BACKUP,
            IMPORT,
            STUDY_LIST,
            STUDY_PAID,
            STUDY_PLACES,
            TEST,
            TEST_PUBLISH,
        )
        from winosmith.web.run.studies import (
            change_places,
            let_come,
            look_list,
            look_paid,
            reconcile,
        )

        looks.update({IMPORT: look, TEST: look_test, STUDY_LIST: look_list, STUDY_PAID: look_paid})
        works.update(
            {
                IMPORT: let_in,
                TEST: open_test,
                TEST_PUBLISH: publish_test,
                STUDY_PLACES: change_places,
                STUDY_LIST: let_come,
                STUDY_PAID: reconcile,
                BACKUP: make,
            }
        )
        renew_rules()
        hourly.insert(0, renew_rules)  # a process to which nobody comes goes by them, too
        hourly.append(go_on)
        tidying["run"] = forget_files
