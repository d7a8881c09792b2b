/* Conveniences for writing a twin, in addition to authoring.js: choosing the first half's answer sets
   the second half's, a button copies the first half, and anchor words in use are highlighted. The
   form works without it. */
(() => {
  "use strict";

  const form = document.getElementById("twin");
  if (!form) return;
  const field = (id) => document.getElementById(id);
  const first = field("sentence_1"), second = field("sentence_2");

  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}'’-]+/gu) ?? []);
  const light = () => {
    const [one, other] = [words(first.value), words(second.value)];
    for (const chip of form.querySelectorAll("[data-anchor]")) {
      const held = one.has(chip.dataset.anchor) + other.has(chip.dataset.anchor);
      chip.className = ["", "one", "both"][held];
    }
  };
  const typed = () => form.dispatchEvent(new Event("input", { bubbles: true }));

  form.addEventListener("input", light);
  form.addEventListener("change", (event) => {
    if (event.target.name !== "answer_1") return;
    field(`answer_2_${1 - Number(event.target.value)}`).checked = true;
    typed();
  });
  form.querySelector("[value='copy']").addEventListener("click", (event) => {
    event.preventDefault();
    window.putText(second, first.value);
    second.setSelectionRange(0, 0);
    typed();
  });
  light();
})();
