/* Shows times in the reader's time zone, with its name. Without this script, the pages show times in
   UTC, and say so. */
(() => {
  "use strict";

  const { lang } = document.documentElement;
  const locale = lang === "en" ? "en-GB" : lang;  // day before month, 24 hours, as on the pages
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  const forms = { clock, moment: { day: "numeric", month: "short", year: "numeric", ...clock } };

  const show = (part) => {
    for (const time of part.querySelectorAll("time[data-form]")) {
      const form = forms[time.dataset.form];
      delete time.dataset.form;
      time.title = time.textContent;
      time.textContent = new Date(time.dateTime).toLocaleString(locale, form);
    }
  };
  const watch = new MutationObserver(() => show(document));
  watch.observe(document.body, { childList: true, subtree: true });
  show(document);
})();
