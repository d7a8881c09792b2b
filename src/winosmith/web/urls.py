"""The site's URLs, grouped by area."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, include, path, re_path
from django.views.generic import TemplateView
from django.views.i18n import set_language

from winosmith.web.api import views as api
from winosmith.web.families import lists, views as families
from winosmith.web.judge import views as judge
from winosmith.web.market import views as market
from winosmith.web.market.workers import abandon_participation, finish_participation
from winosmith.web.moderate import views as moderate
from winosmith.web.people import views as people
from winosmith.web.perturb import views as perturb
from winosmith.web.predict import views as predict
from winosmith.web.read import downloads, views as read
from winosmith.web.rounds import views as rounds
from winosmith.web.run import views as run
from winosmith.web.take import views as take
from winosmith.web.write import views as write

handler400 = "winosmith.web.api.views.handle_bad_request"
handler500 = "winosmith.web.api.views.handle_error"

AREAS: dict[str, list[URLPattern]] = {
    "read": [
        path("", read.show_home, name="home"),
        path("problems/", read.browse_problems, name="browse"),
        path("problems/<str:ref>/", read.show_problem, name="problem"),
        path("download/", downloads.show_downloads, name="download"),
        path("download/<str:name>", downloads.download_file, name="file"),
        path("guidelines/", read.show_guidelines, name="guidelines"),
        path("card/", read.show_card, name="card"),
        path("card/data-card.md", read.download_card, name="card_text"),
    ],
    "people": [
        path("", people.show_profile, name="me"),
        path("news/", people.show_news, name="news"),
        path("about-me.json", people.download_data, name="data"),
        path("hide/", people.withdraw_texts, name="hide"),
        path("erase/", people.erase, name="erase"),
        path("erase/<int:number>/", people.erase_other_person, name="erase_other"),
        path("join/", people.join, name="join"),
        path("join/<str:token>/", people.join, name="invited"),
        path("login/", people.login, name="login"),
        path("logout/", people.logout, name="logout"),
        path("password/", people.change_password, name="password"),
        path("password/lost/", people.request_reset, name="reset"),
        path("mail/", people.edit_mail_address, name="mail"),
        path("mail/<str:token>/", people.confirm_mail_address, name="mail_confirm"),
        path("consent/", people.ask_consent, name="consent"),
        path("texts/", people.show_texts, name="texts"),
        path("texts/<slug:kind>/<int:version>/", people.show_text, name="text"),
        path("invitations/", people.manage_invitations, name="invitations"),
        path("invitations/<int:number>/take-back/", people.revoke_invitation, name="take_back"),
    ],
    "write": [
        path("", write.show_start, name="start"),
        path("mine/", write.show_twins, name="mine"),
        path("mine/<slug:ref>/", write.show_twin, name="twin"),
        path("mine/<slug:ref>/withdraw/", write.withdraw_twin, name="withdraw"),
        path("mine/<slug:ref>/revise/", write.revise_twin, name="revise"),
        path("mine/<slug:ref>/appeal/", write.appeal_decision, name="appeal"),
        path("<slug:ref>/", write.show_draft, name="draft"),
        path("<slug:ref>/check/", write.check_draft, name="check"),
        path("<slug:ref>/save/", write.save_draft, name="save"),
        path("<slug:ref>/discard/", write.discard_draft, name="discard"),
    ],
    "judge": [
        path("", judge.show_turn, name="turn"),
        path("next/", judge.take_next, name="next"),
        path("local/", judge.submit_local, name="local"),
        path("answer/", judge.submit_answer, name="answer"),
        path("skip/", judge.skip_problem, name="skip"),
        path("undo/", judge.undo_answer, name="undo"),
        path("checked/<str:ref>/", judge.show_gold_result, name="checked"),
        path("contest/<str:ref>/", judge.contest_gold_answer, name="contest"),
        path("agreement/", judge.show_agreement, name="agreement"),
        path("history/", judge.show_history, name="history"),
    ],
    "perturb": [
        path("", perturb.show_start, name="start"),
        path("made/<str:ref>/", perturb.show_version, name="made"),
        path("made/<str:ref>/predictions/", perturb.show_predictions, name="predictions"),
        path("<str:ref>/", perturb.perturb_sentence, name="build"),
        path("<str:ref>/check/", perturb.check_sentence, name="check"),
        path("<str:ref>/revise/", perturb.revise_version, name="revise"),
        path("<str:ref>/revise/check/", perturb.check_revision, name="check_revision"),
    ],
    "predict": [
        path("", predict.show_models, name="models"),
        path("<slug:name>/", predict.show_model, name="model"),
        path("<slug:name>/again/", predict.retry_predictions, name="again"),
    ],
    "families": [
        path("", lists.show_families, name="index"),
        path("models/", families.show_models, name="models"),
        path("data/<str:name>", families.download_file, name="file"),
        path("<str:ref>/", families.show_family, name="family"),
        path("<str:ref>/below/<str:version>/", families.show_subtree, name="below"),
    ],
    "take": [
        path("", take.show_tests, name="start"),
        path("round/<slug:name>/", take.show_test, name="about"),
        path("sheet/<slug:ref>/", take.show_sheet, name="sheet"),
        path("sheet/<slug:ref>/<int:number>/", take.show_question, name="question"),
        path("sheet/<slug:ref>/end/", take.show_end, name="end"),
        path("sheet/<slug:ref>/give-up/", take.give_up_test, name="give_up"),
        path("progress/", take.show_rounds, name="progress"),
        path("progress/<slug:name>/", take.show_round, name="round"),
        path("progress/<slug:name>/count/", take.approve_held_sheet, name="count"),
    ],
    "rounds": [
        path("", rounds.list_rounds, name="index"),
        path("round/<slug:name>/", rounds.show_round, name="one"),
        path("round/<slug:name>/progress/", rounds.progress, name="progress"),
        path("start/", rounds.start_round, name="start"),
        *(
            path(f"round/<slug:name>/{act}/", rounds.change_round, {"action": act}, name=act)
            for act in ("publish", "stop", "resume")
        ),
        path("round/<slug:name>/report/", rounds.show_report, name="report"),
        path("round/<slug:name>/build-report/", rounds.show_build_report, name="build_report"),
        path("round/<slug:name>/<str:which>", rounds.download_file, name="file"),
    ],
    "api": [
        path("", api.show_operations, name="index"),
        path("openapi.json", api.send_description, name="openapi-json"),  # as ninja calls it
        # `<path:rest>` does not match a newline, for which Django would return an HTML page.
        re_path(r"^v1/(?P<rest>[\s\S]+)\Z", api.handle_request, name="v1"),
    ],
    "market": [
        path("", market.show_work, name="work"),
        path("welcome/", market.show_welcome, name="welcome"),
        path("finish/", market.end_work, {"end": finish_participation}, name="finish"),
        path("leave/", market.end_work, {"end": abandon_participation}, name="leave"),
        path("ledger/<slug:name>/", market.show_ledger, name="ledger"),
        path("ledger/<slug:name>/ledger.csv", market.download_ledger, name="table"),
        path("ledger/<slug:name>/bonuses.csv", market.download_bonuses, name="bonuses"),
        path("<str:token>/", market.store_link_ids, name="enter"),
    ],
    "moderate": [
        path("", moderate.show_queue, name="queue"),
        path("problems/<str:ref>/", moderate.show_problem, name="problem"),
        path("ask/", moderate.ask_reason, name="ask"),
        path("act/", moderate.apply_action, name="act"),
        path("undo/", moderate.undo_decisions, name="undo"),
        path("batches/<str:mark>/", moderate.show_batch, name="batch"),
        path("jobs/<str:mark>/", moderate.handle_job, name="job"),
        path("contests/", moderate.show_contested_questions, name="contests"),
        path("contests/<int:number>/settle/", moderate.settle_contest, name="settle"),
        path("log/", moderate.show_log, name="log"),
        path("people/", moderate.list_people, name="people"),
        path("agreement/", moderate.show_agreement, name="agreement"),
        path("people/<str:name>/", moderate.show_person, name="person"),
        path("people/<str:name>/appoint/", moderate.change_person, name="appoint"),
    ],
    "run": [
        path("", run.show_start, name="start"),
        path("dashboard/", run.show_dashboard, name="dashboard"),
        path("settings/", run.edit_settings, name="settings"),
        path("import/", run.import_problems, name="import"),
        path("tests/", run.show_tests, name="tests"),
        path("tests/<slug:name>/close/", run.close_test, name="close_test"),
        path("tests/<slug:name>/publish/", run.preview_publication, name="publish_test"),
        path("studies/", run.show_studies, name="studies"),
        path("studies/<slug:name>/", run.show_study, name="study"),
        path("studies/<slug:name>/link/", run.change_study, {"action": "link"}, name="new_link"),
        path(
            "studies/<slug:name>/close/",
            run.change_study,
            {"action": "close"},
            name="close_study",
        ),
        path("backups/", run.show_backups, name="backups"),
        path("jobs/", run.show_jobs, name="jobs"),
        path("jobs/<str:mark>/", run.show_job, name="job"),
        path("files/<slug:mark>/", run.upload_chunk, name="piece"),
        path("jobs/<str:mark>/confirm/", run.decide_job, name="confirm"),
        path("jobs/<str:mark>/progress/", run.progress, name="progress"),
        path("log/", run.show_log, name="log"),
    ],
}
"""The patterns of each area's URLs, below the area's prefix."""

PREFIXES = {"read": "", "predict": "models/", "take": "tests/", "market": "study/", "run": "admin/"}
"""The prefixes of areas whose URLs do not start with the area's name."""

urlpatterns = [
    *(
        path(PREFIXES.get(name, f"{name}/"), include((patterns, name)))
        for name, patterns in AREAS.items()
    ),
    path("language/", TemplateView.as_view(template_name="language.html"), name="language"),
    path("language/set/", set_language, name="set_language"),
    path("admin/tables/", admin.site.urls),
]
