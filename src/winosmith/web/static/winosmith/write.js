/* Comfort while writing a twin: option names beside the answers, the second answer turned with the
   first, the first half copied, anchor words that light up, Ctrl+Enter. Nothing depends on it. */
(() => {
  "use strict";

  const form = document.getElementById("twin");
  if (!form) return;
  const field = (id) => document.getElementById(id);
  const first = field("sentence_1"), second = field("sentence_2");

  const names = new Map();
  const label = () => {
    for (const shown of form.querySelectorAll("[data-option]")) {
      if (!names.has(shown)) names.set(shown, `${form.dataset.option} ${shown.dataset.option}`);
      shown.textContent = field(`option_${shown.dataset.option}`).value.trim() || names.get(shown);
    }
  };
  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}'’-]+/gu) ?? []);
  const light = () => {
    const [one, other] = [words(first.value), words(second.value)];
    for (const chip of form.querySelectorAll("[data-anchor]")) {
      const held = one.has(chip.dataset.anchor) + other.has(chip.dataset.anchor);
      chip.className = ["", "one", "both"][held];
    }
  };
  const refresh = () => { label(); light(); };

  // What was refused is no longer told of a field that somebody is mending.
  const mend = (event) => {
    const place = event.target.closest?.(".wrong");
    if (!place || place === form) return;
    place.classList.remove("wrong");
    for (const told of place.querySelectorAll(".errorlist")) told.remove();
    event.target.removeAttribute("aria-invalid");
    if (!form.querySelector(".errorlist")) field("refused")?.remove();
  };

  form.addEventListener("input", (event) => { mend(event); refresh(); });
  form.addEventListener("change", (event) => {
    if (event.target.name !== "answer_1") return;
    field(`answer_2_${1 - Number(event.target.value)}`).checked = true;
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
  form.querySelector("[value='copy']").addEventListener("click", (event) => {
    event.preventDefault();
    second.focus();
    second.select();
    // As if typed, so that Ctrl+Z takes it back.
    if (!document.execCommand("insertText", false, first.value)) second.value = first.value;
    second.setSelectionRange(0, 0);
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(field("submit"));
    }
  });
  field("refused")?.focus();
  form.classList.add("live");
  refresh();
})();
