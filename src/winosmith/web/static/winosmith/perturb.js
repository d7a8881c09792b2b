/* Comfort while perturbing: option names beside the answers, a way back to the parent's words,
   Ctrl+Enter. Nothing depends on it. */
(() => {
  "use strict";

  const form = document.getElementById("perturb");
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

  const told = () => form.dispatchEvent(new Event("input", { bubbles: true }));

  // As if typed, so that Ctrl+Z takes it back.
  const put = (where, text) => {
    where.focus();
    where.select();
    if (!document.execCommand("insertText", false, text)) where.value = text;
  };

  form.addEventListener("input", (event) => { mend(event); label(); });
  form.addEventListener("change", mend);
  const afresh = field("afresh");
  afresh.hidden = false;
  afresh.addEventListener("click", () => {
    for (let n = 1; n <= Number(afresh.dataset.options); n += 1) {
      put(field(`option_${n}`), afresh.getAttribute(`data-option-${n}`));
    }
    put(field("sentence"), afresh.dataset.sentence);
    field("sentence").setSelectionRange(0, 0);
    for (const answer of form.elements.answer) answer.checked = false;
    told();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(field("submit"));
    }
  });
  field("refused")?.focus();
  form.classList.add("live");
  label();
})();
