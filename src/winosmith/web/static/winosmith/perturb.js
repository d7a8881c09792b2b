/* A convenience for perturbing, in addition to authoring.js: a button that restores the parent's
   text. The form works without it. */
(() => {
  "use strict";

  const form = document.getElementById("perturb");
  if (!form) return;
  const field = (id) => document.getElementById(id);

  const afresh = field("afresh");
  afresh.hidden = false;
  afresh.addEventListener("click", () => {
    for (let n = 1; n <= Number(afresh.dataset.options); n += 1) {
      window.putText(field(`option_${n}`), afresh.getAttribute(`data-option-${n}`));
    }
    window.putText(field("sentence"), afresh.dataset.sentence);
    field("sentence").setSelectionRange(0, 0);
    for (const answer of form.elements.answer) answer.checked = false;
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();
