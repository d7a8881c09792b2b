/* What is typed into a form stays in this window until the site has it: over a reload, the way back,
   a log-in in between, a connection that failed. A form says data-keep="NAME"; with data-words what
   is chosen is left to another script. Passwords and hidden fields are never kept. */
(() => {
  "use strict";

  const name = (form) => `winosmith-kept-${form.dataset.keep}`;
  const fields = (form) => [...form.elements].filter((field) =>
    field.name && !field.matches("button, fieldset, [type=hidden], [type=password], [type=file]")
    && !("words" in form.dataset && field.matches("[type=radio], [type=checkbox]")));
  const ticked = (field) => field.matches("[type=radio], [type=checkbox]");

  const note = (form, sent) => {
    const typed = fields(form).map((field) =>
      [field.name, ticked(field) ? [field.value, field.checked] : field.value]);
    try {
      for (const [key, entry] of Object.entries(sessionStorage)) {
        if (key.startsWith("winosmith-kept-") && entry.endsWith('"sent":true}')) {
          sessionStorage.removeItem(key);
        }
      }
      sessionStorage.setItem(name(form), JSON.stringify({ typed, sent }));
    } catch { /* a window that stores nothing */ }
  };

  const kept = (form) => {
    try {
      return JSON.parse(sessionStorage.getItem(name(form)));
    } catch {
      return null;
    }
  };

  const fill = (form, typed) => {
    for (const [called, value] of typed) {
      for (const field of fields(form)) {
        if (field.name !== called) continue;
        if (!ticked(field)) field.value = value;
        else if (field.value === value[0]) field.checked = value[1];
        if (field.value) field.closest("details")?.setAttribute("open", "");
      }
    }
  };

  // After a form was sent, the page that was led to from its own has it, or shows it again with what
  // is wrong; a page that was come to by another way may never have got it.
  const restore = () => {
    const [how] = performance.getEntriesByType("navigation");
    const from = document.referrer && new URL(document.referrer).pathname;
    for (const form of document.querySelectorAll("form[data-keep]")) {
      const entry = kept(form);
      if (!entry) continue;
      if (entry.sent && how?.type === "navigate" && from === location.pathname) {
        sessionStorage.removeItem(name(form));
      } else fill(form, entry.typed);
    }
  };

  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      const form = event.target.closest?.("form[data-keep]");
      if (form) note(form, false);
    });
  }
  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-keep]") && kept(event.target)) note(event.target, true);
  });
  restore();
})();
