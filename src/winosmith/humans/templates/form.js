"use strict";
(() => {
  const code = document.body.dataset.code;
  const key = "winosmith " + code;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const items = all(".item");
  const screens = [one("#start"), ...items, one("#end")];
  const TEXTS = { recognised: "source", words: "word" };

  // What is kept: `at` is the screen, `seconds` by number; the rest goes into the file as it is.
  let state = { at: 0, subject: "", started: null, letters: {}, seconds: {}, noted: {}, declared: {} };
  let since = null;
  let forgotten = false;

  const read = () => {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  };
  const keep = () => {
    if (forgotten) return;
    try { localStorage.setItem(key, JSON.stringify(state)); } catch { /* private window: nothing is kept */ }
  };

  // A question's time runs while it is on the screen and the page is seen.
  const stop = () => {
    if (since === null) return;
    const number = screens[state.at].dataset.number;
    if (number) state.seconds[number] = (state.seconds[number] || 0) + (performance.now() - since) / 1000;
    since = null;
  };
  const run = () => {
    since = document.visibilityState === "visible" && screens[state.at].dataset.number ? performance.now() : null;
  };

  const show = (at, focus = true) => {
    stop();
    state.at = Math.max(0, Math.min(at, screens.length - 1));
    screens.forEach((screen, index) => { screen.hidden = index !== state.at; });
    const item = items.includes(screens[state.at]);
    one("#move").hidden = state.at === 0;
    one("#next").hidden = !item;
    one("#along").hidden = state.at === 0;
    one("#progress").value = Object.keys(state.letters).length;
    if (screens[state.at].id === "end") missing();
    if (focus) {
      screens[state.at].querySelector("[tabindex]").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    run();
    keep();
  };

  const missing = () => {
    const empty = items.map((item) => item.dataset.number).filter((number) => !state.letters[number]);
    one("#missing").hidden = empty.length === 0;
    one("#numbers").replaceChildren(...empty.map((number) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = number;
      button.addEventListener("click", () => show(Number(number)));
      return button;
    }));
  };

  const choose = (number, letter) => {
    state.letters[number] = letter;
    one("#progress").value = Object.keys(state.letters).length;
    keep();
  };

  const begin = () => {
    const subject = one("#subject").value.trim();
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,15}$/.test(subject)) {
      one("#wrong").textContent = "Please type the subject code that you were given.";
      one("#subject").focus();
      return;
    }
    one("#wrong").textContent = "";
    state.subject = subject;
    state.started ||= new Date().toISOString();
    show(1);
  };

  const addRow = (box) => {
    const rows = box.querySelectorAll(".row");
    const row = rows[rows.length - 1].cloneNode(true);
    row.querySelectorAll("input").forEach((input) => { input.value = ""; });
    rows[rows.length - 1].after(row);
    return row;
  };
  const noted = (box) => [...box.querySelectorAll(".row")].map((row) => {
    const [number, what] = [row.querySelector(".number").value.trim(), row.querySelector(".what").value.trim()];
    const known = /^\d+$/.test(number) && Number(number) >= 1 && Number(number) <= items.length;
    return { number: known ? Number(number) : null, [TEXTS[box.dataset.noted]]: known || !number ? what : number + ": " + what };
  }).filter((row) => row.number !== null || row[TEXTS[box.dataset.noted]]);
  const gather = () => {
    all("[data-noted]").forEach((box) => { state.noted[box.dataset.noted] = noted(box); });
    state.declared = {};
    all("[data-declared]").forEach((input) => {
      const value = input.type === "radio" ? (input.checked ? input.value : "") : input.value.trim();
      if (value) state.declared[input.dataset.declared] = value;
    });
    keep();
  };

  const tenths = (seconds) => Math.round(seconds * 10) / 10;
  const save = () => {
    gather();
    const answers = {};
    items.map((item) => item.dataset.number).forEach((number) => {
      answers[number] = { letter: state.letters[number] || null, seconds: tenths(state.seconds[number] || 0) };
    });
    const record = {
      winosmith: "answers",
      version: Number(document.body.dataset.version),
      sheet: code,
      subject: state.subject,
      started: state.started,
      ended: new Date().toISOString(),
      seconds: tenths(Object.values(state.seconds).reduce((sum, each) => sum + each, 0)),
      answers,
      recognised: state.noted.recognised,
      words: state.noted.words,
      attributes: state.declared,
    };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(record, null, 1) + "\n"], { type: "application/json" }));
    link.download = "answers-" + state.subject + "-" + code + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    one("#saved").textContent = "Saved as " + link.download + ". Please hand this file in.";
  };

  const forget = () => {
    const button = one("#clear");
    if (!button.dataset.sure) {
      button.dataset.sure = "yes";
      button.textContent = "Press again to delete your answers";
      return;
    }
    try { localStorage.removeItem(key); } catch { /* nothing was kept */ }
    forgotten = true;  // leaving the page keeps what is there
    location.reload();
  };

  const restore = () => {
    const kept = read();
    if (!kept) return;
    state = kept;
    one("#subject").value = state.subject || one("#subject").value;
    Object.entries(state.letters).forEach(([number, letter]) => {
      const input = one(`input[name="q${number}"][value="${letter}"]`);
      if (input) input.checked = true;
    });
    all("[data-noted]").forEach((box) => (state.noted[box.dataset.noted] || []).forEach((each, index) => {
      const row = index ? addRow(box) : box.querySelector(".row");
      row.querySelector(".number").value = each.number ?? "";
      row.querySelector(".what").value = each[TEXTS[box.dataset.noted]];
    }));
    all("[data-declared]").forEach((input) => {
      const value = state.declared[input.dataset.declared];
      if (input.type === "radio") input.checked = input.value === value;
      else input.value = value || "";
    });
    show(state.at, false);
  };

  one("#begin").addEventListener("click", begin);
  one("#subject").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.stopPropagation();  // or it would leave the first question, too
    begin();
  });
  one("#back").addEventListener("click", () => show(state.at - 1));
  one("#next").addEventListener("click", () => show(state.at + 1));
  one("#save").addEventListener("click", save);
  one("#clear").addEventListener("click", forget);
  all(".more").forEach((button) => button.addEventListener("click", () => {
    addRow(button.parentElement).querySelector("input").focus();
  }));
  items.forEach((item) => item.addEventListener("change", (event) => choose(item.dataset.number, event.target.value)));
  one("#end").addEventListener("input", gather);
  document.addEventListener("keydown", (event) => {
    const item = screens[state.at];
    if (!one("#keys").checked || !item.dataset.number || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      show(state.at + 1);
      return;
    }
    const input = event.key.length === 1 && /[a-z]/i.test(event.key)
      && item.querySelector(`input[value="${event.key.toUpperCase()}"]`);
    if (input) {
      input.checked = true;
      input.focus({ preventScroll: true });
      choose(item.dataset.number, input.value);
    }
  });
  document.addEventListener("visibilitychange", () => { stop(); run(); keep(); });
  window.addEventListener("pagehide", () => { stop(); keep(); });
  restore();
})();
