// Keys for judging. Without this script every button and box works as it is.
"use strict";

(() => {
  const form = document.querySelector("form[data-judge]");
  const skip = document.querySelector("details[data-skip]");
  const undo = document.querySelector("form[data-undo]");

  // A form is sent once: a second click does nothing, and the back button finds it ready again.
  for (const each of document.querySelectorAll("main form")) {
    each.addEventListener("submit", (event) => {
      if (each.dataset.sent) event.preventDefault();
      each.dataset.sent = "yes";
    });
  }
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });

  if (undo) setTimeout(() => { undo.hidden = true; }, Number(undo.dataset.undo) * 1000);

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
    if (key === "enter") {
      if (at.closest("a, button, summary, [data-skip] form")) return;
      const button = form ? form.querySelector("button") : document.querySelector("[data-key=enter]");
      if (!button || event.repeat) return;
      event.preventDefault();
      button.click();
    } else if (form && key === "n" && skip) {
      event.preventDefault();
      skip.open = !skip.open;
      if (skip.open) skip.querySelector("input[type=radio]").focus();
    } else if (key === "u" && undo && !undo.hidden && !event.repeat) {
      event.preventDefault();
      undo.requestSubmit();
    } else if (form && key === "c" && form.querySelector("details.comment")) {
      event.preventDefault();
      form.querySelector("details.comment").open = true;
      form.querySelector("textarea").focus();
    } else if (form && /^[1-9as]$/.test(key)) {
      const field = form.querySelector(`[data-key="${key}"]`);
      if (!field) return;
      event.preventDefault();
      if (field.type === "radio") field.checked = true;
      else if (!event.repeat) field.checked = !field.checked;
      field.focus();
    }
  }
  document.addEventListener("keydown", pressed);
})();
