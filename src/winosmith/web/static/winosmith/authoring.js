/* Comfort wherever sentences with options are written: option names beside the answers, faults that
   go while somebody mends them, Ctrl+Enter. Nothing depends on it. Loaded before write.js and
   perturb.js, which add what is theirs; `putText` is for them. */
(() => {
  "use strict";

  const form = document.querySelector("form[data-option]");
  if (!form) return;
  const field = (id) => document.getElementById(id);

  const label = () => {
    for (const shown of form.querySelectorAll("[data-option]")) {
      const { option } = shown.dataset;
      shown.textContent = field(`option_${option}`).value.trim() || `${form.dataset.option} ${option}`;
    }
  };

  // What was refused is no longer told of a field that somebody is mending.
  const mend = (event) => {
    const place = event.target.closest?.(".wrong");
    if (!place || place === form) return;
    place.classList.remove("wrong");
    for (const told of place.querySelectorAll(".errorlist")) told.remove();
    event.target.removeAttribute("aria-invalid");
    if (!form.querySelector(".errorlist")) field("refused")?.remove();
  };

  // As if typed, so that Ctrl+Z takes it back.
  window.putText = (where, text) => {
    where.focus();
    where.select();
    if (!document.execCommand("insertText", false, text)) where.value = text;
  };

  form.addEventListener("input", (event) => { mend(event); label(); });
  form.addEventListener("change", mend);
  // The browser brings a field's caret into view; what surrounds it shall not lie under the bar.
  // Nothing moves beneath a pointer: a click whose button scrolled away between down and up is lost.
  form.addEventListener("focusin", ({ target }) => {
    if (target.matches(":focus-visible") && !target.closest(".send")) target.scrollIntoView({ block: "nearest" });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(field("submit"));
    }
  });
  // That it is not checked for now is told where the checks stand.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status === 429 && detail.target.id === "checks") detail.shouldSwap = true;
  });
  field("refused")?.focus();
  form.classList.add("live");
  label();
})();
