// Keyboard shortcuts for moderators; each one presses a button or follows a link of the page.
"use strict";

(() => {
  const rows = [...document.querySelectorAll("[data-row]")];
  const letters = document.getElementById("letters");
  const STORED = "moderate-letters";
  let at = -1;

  const stored = () => {
    try { return localStorage.getItem(STORED) !== "off"; } catch { return true; }
  };
  const on = () => (letters ? letters.checked : stored());

  const show = () => document.body.classList.toggle("letters-off", !on());

  const count = () => {
    const place = document.querySelector("[data-selected]");
    if (place) {
      const chosen = document.querySelectorAll("input[name=pick]:checked").length;
      place.textContent = chosen ? `✓ ${chosen}` : "";
    }
  };

  const go = (to) => {
    if (!rows.length) return;
    at = Math.max(0, Math.min(rows.length - 1, to));
    rows.forEach((row, number) => row.classList.toggle("current", number === at));
    rows[at].focus();
    rows[at].scrollIntoView({ block: "nearest" });
  };

  const box = (row) => row && row.querySelector("input[name=pick]");

  // If no row is selected, an action applies to the current row.
  const select = () => {
    const everything = document.getElementById("everything");
    if (!rows.length || (everything && everything.checked)) return;
    if (document.querySelector("input[name=pick]:checked")) return;
    const here = box(rows[at]);
    if (here) here.checked = true;
  };

  const press = (key) => {
    const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!found) return false;
    if (found.type === "radio") { found.checked = true; found.focus(); return true; }
    if (found.name === "action") select();
    found.click();
    return true;
  };

  const keys = {
    j: () => go(at + 1),
    k: () => go(at - 1),
    x: () => { const here = box(rows[at]); if (here) here.click(); },
    v: () => { const link = (rows[at] || document).querySelector("[data-open]"); if (link) link.click(); },
    "/": () => {
      const field = document.getElementById("f-text");
      if (!field) return;
      field.closest("details").open = true;
      field.focus();
    },
  };

  const inText = (target) =>
    target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
    if (!on() || inText(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === "enter" && event.target.type === "radio") { event.target.form.requestSubmit(); event.preventDefault(); return; }
    if (keys[key] ? (keys[key](), true) : press(key)) event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    if (event.target === letters) {
      try { localStorage.setItem(STORED, letters.checked ? "on" : "off"); } catch { /* the choice applies only to this page */ }
      show();
    }
    count();
  });

  rows.forEach((row, number) => row.addEventListener("focusin", () => { at = number; }));
  document.querySelectorAll("[data-keys]").forEach((legend) => { legend.hidden = false; });
  if (letters) letters.checked = stored();
  show();
  count();
  // A page from the back button's cache is outdated. The server checks decisions made there, but the
  // list should be current.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
