/* Conveniences for forms in which people write sentences: answers are labelled with the options,
   errors disappear while they are being corrected, and Ctrl+Enter submits the form. The forms work
   without this script. It is loaded before write.js and perturb.js, which use `putText`. */
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

  // Remove the error messages of the field that is being corrected.
  const clearErrors = (event) => {
    const place = event.target.closest?.(".wrong");
    if (!place || place === form) return;
    place.classList.remove("wrong");
    for (const list of place.querySelectorAll(".errorlist")) list.remove();
    event.target.removeAttribute("aria-invalid");
    if (!form.querySelector(".errorlist")) field("refused")?.remove();
  };

  // Insert the text as if it was typed, so that Ctrl+Z can undo it.
  window.putText = (where, text) => {
    where.focus();
    where.select();
    if (!document.execCommand("insertText", false, text)) where.value = text;
  };

  form.addEventListener("input", (event) => { clearErrors(event); label(); });
  form.addEventListener("change", clearErrors);
  // Keep a field that gets the keyboard focus clear of the sticky bar. Do not scroll for a pointer:
  // if a button moves between pointer down and pointer up, the click is lost.
  form.addEventListener("focusin", ({ target }) => {
    if (target.matches(":focus-visible") && !target.closest(".send")) target.scrollIntoView({ block: "nearest" });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(field("submit"));
    }
  });
  // Show the message that the limit of checks is reached in place of the checks.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status === 429 && detail.target.id === "checks") detail.shouldSwap = true;
  });
  field("refused")?.focus();
  form.classList.add("live");
  label();
})();
