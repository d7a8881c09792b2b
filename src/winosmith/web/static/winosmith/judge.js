// Keyboard shortcuts for judging. Without this script, all buttons and boxes still work.
"use strict";

(() => {
  const form = () => document.querySelector("form[data-judge]");
  const skip = () => document.querySelector("details[data-skip]");
  const undo = () => document.querySelector("form[data-undo]:not([hidden])");

  // Submit a form only once: ignore a second click. After the back button, reload the form.
  document.addEventListener("submit", (event) => {
    const sent = event.target;
    if (!sent.matches("main form")) return;
    if (sent.dataset.sent) event.preventDefault();
    sent.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });

  // htmx replaces the submitted form with the next page. If the response is not such a page, or if
  // there is none, the browser submits the form itself; the form's key prevents a second action.
  const alone = (event) => {
    if (event.detail.elt.matches("main form")) event.detail.elt.submit();
  };
  document.addEventListener("htmx:sendError", alone);
  document.addEventListener("htmx:responseError", alone);
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (![409, 422].includes(event.detail.xhr.status)) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });
  document.addEventListener("htmx:afterSwap", () => {
    document.getElementById("content").focus({ preventScroll: true });
    hideUndo();
  });

  function hideUndo() {
    const shown = undo();
    if (shown) setTimeout(() => { shown.hidden = true; }, Number(shown.dataset.undo) * 1000);
  }
  hideUndo();

  const writes = (element) =>
    element.matches("textarea, select, input:not([type=radio], [type=checkbox]), [contenteditable]");

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (!(at instanceof Element)) return;
    if (writes(at)) {
      if (event.key === "Escape") at.blur();
      return;
    }
    const key = event.key.toLowerCase();
    const judged = form();
    if (key === "enter") {
      if (at.closest("a, button, summary, [data-skip] form")) return;
      const button = document.querySelector("[data-key=enter]");
      if (!button || event.repeat) return;
      event.preventDefault();
      button.click();
    } else if (judged && key === "n" && skip()) {
      event.preventDefault();
      skip().open = !skip().open;
      if (skip().open) skip().querySelector("input[type=radio]").focus();
    } else if (key === "u" && undo() && !event.repeat) {
      event.preventDefault();
      undo().requestSubmit();
    } else if (judged && key === "c" && judged.querySelector("details.comment")) {
      event.preventDefault();
      judged.querySelector("details.comment").open = true;
      judged.querySelector("textarea").focus();
    } else if (judged && /^[1-9as]$/.test(key)) {
      const field = judged.querySelector(`[data-key="${key}"]`);
      if (!field) return;
      event.preventDefault();
      if (field.type === "radio") field.checked = true;
      else if (!event.repeat) field.checked = !field.checked;
      field.focus();
    }
  }
  document.addEventListener("keydown", pressed);
})();
