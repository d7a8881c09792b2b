"""The addresses of the site, an area each."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, include, path, re_path

from winosmith.web import pages
from winosmith.web.api import views as api
from winosmith.web.families import views as families
from winosmith.web.judge import views as judge
from winosmith.web.market import views as market
from winosmith.web.moderate import views as moderate
from winosmith.web.people import views as people
from winosmith.web.perturb import views as perturb
from winosmith.web.predict import views as predict
from winosmith.web.read import downloads, views as read
from winosmith.web.rounds import views as rounds
from winosmith.web.run import views as run
from winosmith.web.take import views as take
from winosmith.web.write import views as write

handler400 = "winosmith.web.api.views.unreadable"
handler500 = "winosmith.web.pages.failed"

AREAS: dict[str, tuple[str, list[URLPattern]]] = {
    "read": (
        "",
        [
            path("", read.home, name="home"),
            path("problems/", read.browse, name="browse"),
            path("problems/<str:ref>/", read.problem, name="problem"),
            path("download/", downloads.index, name="download"),
            path("download/<str:name>", downloads.file, name="file"),
            path("guidelines/", read.guidelines, name="guidelines"),
            path("card/", read.card, name="card"),
            path("card/data-card.md", read.card_text, name="card_text"),
        ],
    ),
    "people": (
        "people/",
        [
            path("", people.me, name="me"),
            path("news/", people.news, name="news"),
            path("about-me.json", people.data, name="data"),
            path("hide/", people.hide, name="hide"),
            path("erase/", people.erase, name="erase"),
            path("erase/<int:number>/", people.erase_other, name="erase_other"),
            path("join/", people.join, name="join"),
            path("join/<str:token>/", people.join, name="invited"),
            path("login/", people.login, name="login"),
            path("logout/", people.logout, name="logout"),
            path("password/", people.password, name="password"),
            path("password/lost/", people.reset_asked, name="reset"),
            path("mail/", people.mail, name="mail"),
            path("mail/<str:token>/", people.mail_confirm, name="mail_confirm"),
            path("consent/", people.consent, name="consent"),
            path("texts/", people.texts, name="texts"),
            path("texts/<slug:kind>/<int:version>/", people.text, name="text"),
            path("invitations/", people.invitations, name="invitations"),
            path("invitations/<int:number>/take-back/", people.take_back, name="take_back"),
        ],
    ),
    "write": (
        "write/",
        [
            path("", write.start, name="start"),
            path("mine/", write.twins, name="mine"),
            path("mine/<slug:ref>/", write.twin, name="twin"),
            path("mine/<slug:ref>/withdraw/", write.withdraw, name="withdraw"),
            path("mine/<slug:ref>/revise/", write.revise, name="revise"),
            path("mine/<slug:ref>/appeal/", write.appeal, name="appeal"),
            path("<slug:ref>/", write.draft, name="draft"),
            path("<slug:ref>/check/", write.check, name="check"),
            path("<slug:ref>/save/", write.save, name="save"),
            path("<slug:ref>/discard/", write.discard, name="discard"),
        ],
    ),
    "judge": (
        "judge/",
        [
            path("", judge.turn, name="turn"),
            path("next/", judge.take, name="next"),
            path("local/", judge.local, name="local"),
            path("answer/", judge.whole, name="answer"),
            path("skip/", judge.pass_on, name="skip"),
            path("undo/", judge.take_back, name="undo"),
            path("checked/<str:ref>/", judge.checked, name="checked"),
            path("contest/<str:ref>/", judge.contest, name="contest"),
            path("agreement/", judge.agreement, name="agreement"),
            path("history/", judge.judged, name="history"),
        ],
    ),
    "perturb": (
        "perturb/",
        [
            path("", perturb.start, name="start"),
            path("made/<str:ref>/", perturb.made, name="made"),
            path("made/<str:ref>/predictions/", perturb.predictions, name="predictions"),
            path("<str:ref>/", perturb.build, name="build"),
            path("<str:ref>/check/", perturb.check, name="check"),
            path("<str:ref>/revise/", perturb.revise, name="revise"),
            path("<str:ref>/revise/check/", perturb.check_revision, name="check_revision"),
        ],
    ),
    "predict": (
        "models/",
        [
            path("", predict.models, name="models"),
            path("<slug:name>/", predict.model, name="model"),
            path("<slug:name>/again/", predict.try_again, name="again"),
        ],
    ),
    "families": (
        "families/",
        [
            path("", families.index, name="index"),
            path("board/", families.boards, name="board"),
            path("models/", families.models, name="models"),
            path("data/<str:name>", families.file, name="file"),
            path("<str:ref>/", families.family, name="family"),
            path("<str:ref>/below/<str:version>/", families.below, name="below"),
        ],
    ),
    "take": (
        "tests/",
        [
            path("", take.start, name="start"),
            path("round/<slug:name>/", take.about, name="about"),
            path("sheet/<slug:ref>/", take.sheet, name="sheet"),
            path("sheet/<slug:ref>/<int:number>/", take.question, name="question"),
            path("sheet/<slug:ref>/end/", take.end, name="end"),
            path("sheet/<slug:ref>/give-up/", take.leave, name="give_up"),
            path("progress/", take.rounds, name="progress"),
            path("progress/<slug:name>/", take.one, name="round"),
            path("progress/<slug:name>/count/", take.count, name="count"),
        ],
    ),
    "rounds": (
        "rounds/",
        [
            path("", rounds.index, name="index"),
            path("mine/", rounds.mine, name="mine"),
            path("round/<slug:name>/", rounds.one, name="one"),
            path("round/<slug:name>/progress/", rounds.progress, name="progress"),
            path("start/", rounds.start, name="start"),
            path("round/<slug:name>/publish/", rounds.act, {"do": "publish"}, name="publish"),
            path("round/<slug:name>/stop/", rounds.act, {"do": "stop"}, name="stop"),
            path("round/<slug:name>/resume/", rounds.act, {"do": "resume"}, name="resume"),
            path("round/<slug:name>/report/", rounds.page, name="report"),
            path("round/<slug:name>/build-report/", rounds.build_page, name="build_report"),
            path("round/<slug:name>/<str:which>", rounds.file, name="file"),
        ],
    ),
    "api": (
        "api/",
        [
            path("", api.index, name="index"),
            path("openapi.json", api.description, name="openapi-json"),  # as ninja calls it
            # `<path:rest>` is no line's end, and its 404 would be a page.
            re_path(r"^v1/(?P<rest>[\s\S]+)\Z", api.door, name="v1"),
        ],
    ),
    "tokens": (
        "tokens/",
        [
            path("", api.tokens, name="mine"),
            path("<int:number>/revoke/", api.revoke, name="revoke"),
            path("revoke/", api.revoke_all, name="revoke_all"),
        ],
    ),
    "market": (
        "study/",
        [
            path("", market.work, name="work"),
            path("welcome/", market.welcome, name="welcome"),
            path("finish/", market.end_it, name="finish"),
            path("leave/", market.give_up, name="leave"),
            path("ledger/<slug:name>/", market.one, name="ledger"),
            path("ledger/<slug:name>/ledger.csv", market.table, name="table"),
            path("<str:token>/", market.enter, name="enter"),
        ],
    ),
    "moderate": (
        "moderate/",
        [
            path("", moderate.queue, name="queue"),
            path("problems/<str:ref>/", moderate.problem, name="problem"),
            path("ask/", moderate.ask, name="ask"),
            path("act/", moderate.act, name="act"),
            path("undo/", moderate.undo, name="undo"),
            path("batches/<str:mark>/", moderate.batch, name="batch"),
            path("jobs/<str:mark>/", moderate.job, name="job"),
            path("contests/", moderate.contests, name="contests"),
            path("contests/<int:number>/settle/", moderate.settle, name="settle"),
            path("log/", moderate.log, name="log"),
            path("log.csv", moderate.download, name="log_csv"),
            path("people/", moderate.people, name="people"),
            path("agreement/", moderate.agreement, name="agreement"),
            path("agreement.csv", moderate.agreement_csv, name="agreement_csv"),
            path("people/<str:name>/", moderate.person, name="person"),
            path("people/<str:name>/appoint/", moderate.appoint, name="appoint"),
        ],
    ),
    "run": (
        "admin/",
        [
            path("", run.start, name="start"),
            path("dashboard/", run.dashboard, name="dashboard"),
            path("settings/", run.settings, name="settings"),
            path("import/", run.import_, name="import"),
            path("tests/", run.tests, name="tests"),
            path("tests/<slug:name>/close/", run.close_test, name="close_test"),
            path("tests/<slug:name>/publish/", run.publish_test, name="publish_test"),
            path("studies/", run.studies, name="studies"),
            path("studies/<slug:name>/", run.study, name="study"),
            path("studies/<slug:name>/link/", run.new_link, name="new_link"),
            path("studies/<slug:name>/close/", run.close_study, name="close_study"),
            path("backups/", run.backups, name="backups"),
            path("jobs/", run.jobs, name="jobs"),
            path("jobs/<str:mark>/", run.job, name="job"),
            path("files/<slug:mark>/", run.piece, name="piece"),
            path("jobs/<str:mark>/confirm/", run.confirmed, name="confirm"),
            path("jobs/<str:mark>/progress/", run.progress, name="progress"),
            path("log/", run.log, name="log"),
        ],
    ),
}
"""Of each area, by the name of its addresses: where they begin, and what follows."""

urlpatterns = [
    *(path(start, include((rest, name))) for name, (start, rest) in AREAS.items()),
    path("language/", pages.choose_language, name="language"),
    path("admin/tables/", admin.site.urls),
]
