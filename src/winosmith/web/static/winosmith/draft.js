/* Keeps what is typed in a draft: on the server a moment after each change, and in this browser
   until the server has it. A window never overwrites what another one saved. Without this script
   the form's buttons do the same. */
(() => {
  "use strict";

  const name = (ref) => `winosmith-draft-${ref}`;
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
      /* a browser that stores nothing: the server still has what was saved */
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
  const form = document.getElementById("twin");
  if (!form) {
    if (before && document.querySelector("[data-sent]")) forget(before[1]);
    return;
  }

  const WAIT = 700, RETRY = 4000, APART = ["csrfmiddlewaretoken", "version", "key", "do"];
  const { ref } = form.dataset;
  const saved = document.getElementById("saved");
  const conflict = document.getElementById("conflict");
  let timer = 0, busy = false, stopped = Boolean(conflict.firstElementChild), leaving = false;

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
      forget(ref);
      say(`${form.dataset.gone} `);
      const link = document.createElement("a");
      link.href = told.where;
      link.textContent = told.where;
      saved.append(link);
    } else if (answer.ok) {
      form.elements.version.value = told.version;
      if (same(sent, typed())) {
        forget(ref);
        say(told.said);
      } else {
        note();
        soon();
      }
    } else {
      say(told.reason);
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

  const note = () => keep(ref, { version: form.elements.version.value, typed: typed() });

  form.addEventListener("input", () => {
    note();
    say(navigator.onLine ? form.dataset.unsaved : form.dataset.offline);
    soon();
  });
  form.addEventListener("submit", () => {
    leaving = true;
    clearTimeout(timer);
  });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("online", () => soon(0));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && kept(ref)) soon(0);
  });
  conflict.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-keep]");
    if (!chosen) return;
    event.preventDefault();
    form.elements.version.value = chosen.dataset.keep;
    conflict.replaceChildren();
    stopped = false;
    note();
    soon(0);
  });

  const entry = kept(ref);
  if (entry && !same(entry.typed, typed()) && !stopped && !document.getElementById("refused")) {
    const now = form.elements.version.value;
    form.elements.version.value = entry.version;
    fill(entry.typed);
    say(form.dataset.restored);
    if (now !== entry.version) soon(0);
  }
})();
