"""Moderation: the queue, moderators' decisions, and the audit log."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.moderate"

    def ready(self) -> None:
        from winosmith.web.jobs import BATCH, VOTES, runners
        from winosmith.web.moderate import batches, decisions, people, queue
        from winosmith.web.people import accounts, news, privacy
        from winosmith.web.problems import search

        runners[BATCH], runners[VOTES] = batches.run_batch_job, people.run_vote_job
        search.index_creators.append(queue.create_indexes)
        privacy.erasers.append(decisions.erase_appeal_texts)
        accounts.adopters.append(decisions.move_appeals_to_account)
        news.news_sources += [queue.iter_moderation_news, people.iter_vote_decisions]
        news.work_sources.append(queue.iter_moderation_work)
