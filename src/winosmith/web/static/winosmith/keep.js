/* Keeps the input of forms in this window until the site has stored it: through a reload, the back
   button, a log-in or a lost connection. This covers every POST form in the page's main part, stored
   under the form's action, or under data-keep="NAME" if forms share an action. With data-words,
   another script keeps the choices; with data-ref, draft.js keeps all input. Passwords, files and
   hidden fields are never kept. An entry belongs to the account that typed it; logging out removes
   all entries. */
(() => {
  "use strict";

  const PREFIX = "winosmith-kept-", OURS = "main form[method=post]:not([data-ref])";
  const ENTRANCE = /^\/people\/(login|join|consent)\//, LOGOUT = /\/logout\/$/;
  const { account, restored, discard } = document.currentScript.dataset;
  const main = document.querySelector("main");
  const path = (url) => url && new URL(url, location.href).pathname;
  const before = path(document.referrer);

  const action = (form) => form.getAttribute("action") || location.pathname;
  const title = (form) => form.dataset.keep || action(form);
  const name = (form, owner = account) => `${PREFIX}${owner} ${title(form)}`;
  const ticked = (field) => field.matches("[type=radio], [type=checkbox]");
  const fields = (form) => [...form.elements].filter((field) =>
    field.name && !field.matches("button, fieldset, [readonly]")
    && !field.matches("[type=hidden], [type=password], [type=file]")
    && !("words" in form.dataset && ticked(field)));

  const read = (key) => JSON.parse(sessionStorage.getItem(key));
  const write = (key, entry) => {
    try {
      sessionStorage.setItem(key, JSON.stringify(entry));
    } catch { /* the session storage is full */ }
  };
  const remove = (key) => sessionStorage.removeItem(key);
  const keys = (start = PREFIX) => Object.keys(sessionStorage).filter((key) => key.startsWith(start));

  const note = (form, sent) => {
    const typed = fields(form).map((field) =>
      [field.name, ticked(field) ? [field.value, field.checked] : field.value]);
    if (!typed.length) return;
    write(name(form), { typed, sent, from: location.pathname, page: location.href });
  };

  const forgetAll = () => {
    for (const store of [sessionStorage, localStorage]) {
      for (const key of Object.keys(store)) if (/^winosmith[ -]/.test(key)) store.removeItem(key);
    }
  };

  // Fill in the kept input; return whether this changed a field.
  const fill = (form, typed) => {
    const left = fields(form);
    let changed = false;
    for (const [called, value] of typed) {
      const at = left.findIndex((field) =>
        field.name === called && (!ticked(field) || field.value === value[0]));
      if (at < 0) continue;
      const [field] = left.splice(at, 1);
      const [what, wanted] = ticked(field) ? ["checked", value[1]] : ["value", value];
      if (field[what] === wanted) continue;
      field[what] = wanted;
      field.closest("details")?.setAttribute("open", "");
      changed = true;
    }
    return changed;
  };

  const say = (form) => {
    const line = document.createElement("p"), button = document.createElement("button");
    line.className = "hint";
    line.setAttribute("role", "status");
    button.type = "button";
    button.className = "link";
    button.textContent = discard;
    button.addEventListener("click", () => { form.reset(); remove(name(form)); line.remove(); });
    line.append(`${restored} `, button);
    form.prepend(line);
  };

  // Input from before the log-in belongs to the account if the user comes from the log-in page.
  const kept = (form) => {
    const nobodys = name(form, "");
    if (account && ENTRANCE.test(before) && read(nobodys)) {
      write(name(form), read(nobodys));
      remove(nobodys);
    }
    return read(name(form));
  };

  const restore = (part) => {
    for (const form of part.querySelectorAll(OURS)) {
      const entry = kept(form);
      if (!entry) continue;
      write(name(form), { ...entry, sent: false, again: false });
      if (fill(form, entry.typed)) say(form);
    }
  };

  // The page that follows a submitted form confirms that the site has the input, or shows the form
  // again with errors. An interim page (a log-in, an error) or any other page confirms nothing.
  const arrive = () => {
    const [how] = performance.getEntriesByType("navigation");
    for (const key of keys()) {
      const entry = read(key);
      if (!entry.sent) continue;
      if ("interim" in main.dataset) write(key, { ...entry, sent: false, again: true });
      else if (how?.type !== "back_forward" && before === entry.from) {
        remove(key);
        const again = [...document.querySelectorAll(OURS)].some((form) => name(form) === key);
        // The form is shown again at a URL that accepts only POST: a reload must open its own page.
        if (again && location.pathname !== entry.from) history.replaceState(null, "", entry.page);
      }
    }
    if (account && !("interim" in main.dataset)) setTimeout(() => keys(`${PREFIX} `).forEach(remove));
  };

  const sent = (event) => {
    const form = event.target;
    if (form.matches("[data-again]")) {
      for (const key of keys()) {
        if (read(key).again) write(key, { ...read(key), sent: true, from: location.pathname });
      }
    } else if (form.matches(OURS)) note(form, true);
  };

  try {
    sessionStorage.getItem(PREFIX);
  } catch {
    return;  // the window has no session storage
  }
  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      const form = event.target.form;
      if (form?.matches(OURS)) note(form, false);
    });
  }
  document.addEventListener("submit", (event) => {
    if (LOGOUT.test(path(action(event.target)))) forgetAll();
    else if (!event.defaultPrevented) sent(event);
  });
  document.addEventListener("leave", sent);  // from scripts that submit a form themselves
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.matches(OURS)) note(event.target, true);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const form = event.detail.requestConfig.elt;
    if (form.matches("form[method=post]:not([data-ref])")) remove(name(form));
    restore(event.detail.target);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) restore(document); });
  if ("leave" in main.dataset) forgetAll();
  arrive();
  restore(document);
})();
