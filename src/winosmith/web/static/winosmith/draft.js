/* Saves a form's input in this browser, separately for each account. If the form has a URL for
   drafts, it also saves the input on the server shortly after each change. A window never overwrites
   a draft that another window saved. Without this script, the form's buttons save drafts. */
(() => {
  "use strict";

  const { account } = document.querySelector("script[data-account]").dataset;
  const name = (ref, owner = account) => `winosmith-draft-${owner} ${ref}`;
  const kept = (ref) => {
    try {
      return JSON.parse(localStorage.getItem(name(ref)));
    } catch {
      return null;
    }
  };
  const keep = (ref, entry) => {
    try {
      localStorage.setItem(name(ref), JSON.stringify(entry));
    } catch {
      /* the browser has no storage; the server still has the last draft */
    }
  };
  const forget = (ref) => {
    try {
      localStorage.removeItem(name(ref));
    } catch {
      /* nothing was stored */
    }
  };

  document.addEventListener("click", (event) => {
    const thrown = event.target.closest("[data-forget]");
    if (thrown) forget(thrown.dataset.forget);
  });
  const before = document.referrer.match(/\/write\/([0-9a-f]{32})\/$/);
  const form = document.querySelector("form[data-ref]");
  if (!form) {
    const sent = document.querySelector("[data-sent]");
    if (sent?.dataset.sent) {
      for (const ref of sent.dataset.sent.split(" ")) if (kept(ref)?.sending) forget(ref);
    } else if (before && sent) forget(before[1]);
    return;
  }

  const WAIT = 700, RETRY = 4000, APART = ["csrfmiddlewaretoken", "version", "key", "do"];
  const { ref } = form.dataset;
  const saved = document.getElementById("saved");
  const conflict = document.getElementById("conflict");
  const alone = !form.dataset.save;
  let timer = 0, busy = false, leaving = false;
  let stopped = alone || Boolean(conflict.firstElementChild);

  const typed = () =>
    Object.fromEntries([...new FormData(form)].filter(([field]) => !APART.includes(field)));
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const say = (text) => { saved.textContent = text; };
  const soon = (wait = WAIT) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(save, wait);
  };

  const fill = (values) => {
    for (const field of form.elements) {
      if (!field.name || APART.includes(field.name)) continue;
      if (field.type === "radio") field.checked = values[field.name] === field.value;
      else if (field.name in values) field.value = values[field.name];
    }
    form.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const answered = async (answer, sent) => {
    if (answer.status === 409) {
      stopped = true;
      conflict.innerHTML = await answer.text();
      say("");
      conflict.scrollIntoView({ block: "nearest" });
      return;
    }
    const told = await answer.json();
    if (answer.status === 410) {
      stopped = true;
      if (told.sent) forget(ref);
      say(`${form.dataset.gone} `);
      const link = document.createElement("a");
      link.href = told.where;
      link.textContent = told.where;
      saved.append(link);
    } else if (answer.ok) {
      form.elements.version.value = told.version;
      if (same(sent, typed())) {
        forget(ref);
        saved.innerHTML = told.said;  // contains a time, which times.js shows in the reader's zone
      } else {
        note();
        soon();
      }
    } else {
      say(told.reason);
      if (answer.status === 429) soon(1000 * answer.headers.get("Retry-After"));
    }
  };

  async function save() {
    if (busy || stopped || leaving) return;
    busy = true;
    const sent = typed();
    try {
      const body = new URLSearchParams(new FormData(form));
      await answered(await fetch(form.dataset.save, { method: "POST", body }), sent);
    } catch {
      say(form.dataset.offline);
      soon(RETRY);
    } finally {
      busy = false;
    }
  }

  const note = (sending = false) =>
    keep(ref, { version: form.elements.version?.value, typed: typed(), sending });

  form.addEventListener("input", () => {
    note();
    const online = alone ? form.dataset.kept : form.dataset.unsaved;
    say(navigator.onLine ? online : form.dataset.offline);
    soon();
  });
  form.addEventListener("submit", (event) => {
    if (alone && !navigator.onLine) {
      event.preventDefault();
      say(form.dataset.offline);
      return;
    }
    if (alone) note(event.submitter?.value === "submit");
    leaving = true;
    clearTimeout(timer);
  });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("online", () => soon(0));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && kept(ref)) soon(0);
  });
  conflict?.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-keep]");
    if (!chosen) return;
    event.preventDefault();
    form.elements.version.value = chosen.dataset.keep;
    conflict.replaceChildren();
    stopped = false;
    note();
    soon(0);
  });

  try {  // input from before the log-in belongs to the account if the user comes from the log-in page
    const nobodys = localStorage.getItem(name(ref, ""));
    if (nobodys && /\/people\/(login|join|consent)\//.test(document.referrer)) {
      localStorage.removeItem(name(ref, ""));
      localStorage.setItem(name(ref), nobodys);
    }
  } catch { /* nothing was stored */ }
  const entry = kept(ref), refused = document.getElementById("refused");
  if (entry && !same(entry.typed, typed()) && (alone || !stopped) && !refused) {
    const now = form.elements.version?.value;
    if (now) form.elements.version.value = entry.version;
    fill(entry.typed);
    say(form.dataset.restored);
    document.addEventListener("DOMContentLoaded", () => {  // htmx listens only from now on
      document.getElementById("checks")?.dispatchEvent(new Event("recheck"));
    });
    if (now !== entry.version) soon(0);
  } else if (entry?.sending) note();
})();
