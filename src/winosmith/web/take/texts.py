"""What people agree to before a test; whoever opens a round may put another text in its place."""

from __future__ import annotations

from winosmith.web.take.sheets import minutes

__all__ = ["consent_text"]

CONSENT = """\
What you do

You read short texts, one after another, and say of each what a certain word in it stands for. \
There are {questions} questions; that takes about {minutes} minutes. You can stop whenever you \
like, close the browser, and go on later, also on another device. You may give up at any time, and \
need not say why. It tests the texts, not you.

What is kept

Your answers, for how long each question was before you, what you note about a text or a word, and \
what you choose to tell of yourself on this page. They stand under a random code. One list on this \
site knows which code is yours, so that you are never shown a text whose counterpart you know. The \
texts that you were shown count as read: you will not be asked to judge them or their counterparts \
here. Times are forgotten after as many days as this site keeps such things.

Who sees it

Those who run the test see the answers under the codes, and may publish them so, without any name. \
Nobody is told which answers are yours. If you are erased from this site, so is your entry in the \
list of codes, with everything that you wrote in words of your own; your answers stay as nobody's.

What we ask of you

Answer by yourself, and do not ask a program. Show the texts to nobody, and do not put them on the \
web: people and machines that come after you must not know them.
"""


def consent_text(questions: list[int]) -> str:
    """Return the text for sheets of so many questions; headings are lines without a stop.

    Args:
        questions: how many each sheet has.
    """
    least, most = min(questions), max(questions)
    return CONSENT.format(
        questions=str(most) if least == most else f"{least} to {most}",
        minutes=str(minutes(most))
        if minutes(least) == minutes(most)
        else f"{minutes(least)} to {minutes(most)}",
    )
