// Conveniences for tests: keyboard shortcuts, the time that a question is visible, and answers that
// are kept without a connection. Without this script, all buttons work, and the server measures time.
"use strict";

(() => {
  const form = document.querySelector("form[data-taking]");
  const away = document.querySelector("[data-away]");
  const FRESH = 60000;  // milliseconds
  const kept = form && `winosmith take ${form.dataset.taking}`;
  const chosen = () => (form.querySelector("input[name=letter]:checked") || {}).value || "";

  // Measure the time during which the question's page is visible.
  let since = null;
  let seen = 0;
  let stored = form ? chosen() : "";
  let sending = false;
  const stop = () => {
    if (since !== null) seen += (performance.now() - since) / 1000;
    since = null;
  };
  const run = () => {
    since = document.visibilityState === "visible" ? performance.now() : null;
  };

  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // When the user leaves the page, store a choice made without pressing Next, and the time so far.
  const leave = () => {
    stop();
    if (!form || sending || (seen < 0.05 && chosen() === stored)) return;
    const body = new FormData(form);
    body.set("key", newKey());
    body.set("do", "stay");
    body.set("seconds", seen.toFixed(3));
    if (chosen() !== stored) remember(chosen());
    if (navigator.sendBeacon(form.action, body)) {
      seen = 0;
      stored = chosen();
    }
  };

  // Remember the last choice until the server is sure to have it: a reload may overtake the request
  // sent on leaving, and without a connection no request arrives.
  const remember = (letter) => {
    try {
      if (letter) localStorage.setItem(kept, JSON.stringify([letter, Date.now()]));
      else localStorage.removeItem(kept);
    } catch { /* a private window has no storage */ }
  };
  const remembered = () => {
    try {
      const [letter, at] = JSON.parse(localStorage.getItem(kept)) || ["", 0];
      return !stored || Date.now() - at < FRESH ? letter : "";
    } catch { return ""; }
  };

  // Submit the form by fetch, so that the page remains visible if there is no connection.
  async function send(button) {
    if (sending) return;
    sending = true;
    stop();
    const sent = Number(form.dataset.sent || 0) + seen;
    form.elements.seconds.value = sent.toFixed(3);
    const body = new FormData(form);
    body.set("do", button.value);
    remember(chosen());
    let answer;
    try {
      answer = await fetch(form.action, {
        method: "POST", body, headers: { Accept: "application/json" }, keepalive: true,
      });
    } catch {
      form.dataset.sent = sent;  // visible time before the failed attempt
      seen = 0;
      sending = false;
      away.hidden = false;
      form.dataset.button = button.value;
      run();
      return;
    }
    const json = (answer.headers.get("Content-Type") || "").startsWith("application/json");
    if (answer.ok && json) {
      remember("");
      form.dispatchEvent(new Event("leave", { bubbles: true }));
      window.location.assign((await answer.json()).to);
      return;
    }
    // Any other response is a page (a log-in, an error): let the browser submit the form and show it.
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "do", value: button.value });
    form.append(field);
    form.dispatchEvent(new Event("leave", { bubbles: true }));
    form.submit();
  }

  if (form) {
    const letter = remembered();
    const input = letter && form.querySelector(`input[name=letter][value="${letter}"]`);
    if (input) input.checked = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(event.submitter || form.querySelector("button[value=next]"));
    });
    // A change after a failed attempt is a new answer, because the first one may have arrived anyway.
    form.addEventListener("input", () => {
      if (!away.hidden) form.elements.key.value = newKey();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") leave();
      else run();
    });
    window.addEventListener("pagehide", leave);
    window.addEventListener("online", () => {
      if (!away.hidden) form.querySelector(`button[value="${form.dataset.button}"]`).click();
    });
    run();
  }
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });

  const writes = (element) => element.matches("textarea, select, input:not([type=radio])");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (!(at instanceof Element) || writes(at)) return;
    if (event.key === "Enter") {
      if (at.closest("a, button, summary") || event.repeat) return;
      const next = form ? form.querySelector("button[value=next]")
        : document.querySelector("[data-key=enter]");
      if (!next) return;
      event.preventDefault();
      next.click();
    } else if (form && /^[a-z]$/i.test(event.key)) {
      const input = form.querySelector(`input[name=letter][value="${event.key.toUpperCase()}"]`);
      if (!input) return;
      event.preventDefault();
      input.checked = true;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      input.focus({ preventScroll: true });
    }
  });
})();
