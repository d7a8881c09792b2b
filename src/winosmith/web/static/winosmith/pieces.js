/* Uploads a file that is too large for one request in chunks. Then it submits the form without the
   file, but with the mark of the uploaded chunks. Without this script, small files are part of the
   form. */
(() => {
  "use strict";

  const TRIES = 5;  // attempts for each chunk
  const PAUSE = 1000;  // milliseconds before the second attempt; each later pause is longer by this
  const FIRST = 100000, LEAST = 10000;  // bytes: the server waits at most 30 s for a chunk
  const GOAL = 5000;  // target time for one chunk, in milliseconds
  const form = document.querySelector("form[data-pieces]");
  if (!form) return;
  const { pieces, piece, most } = form.dataset;
  const picked = form.querySelector("[type=file]");
  const field = (name) => form.querySelector(`[name$="${name}"]`);
  const part = (name) => form.querySelector(`[data-${name}]`);
  const show = (name, on) => { part(name).hidden = !on; };
  const failed = part("failed").querySelector("p");
  const lost = failed.textContent;
  const newMark = () => [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const nothing = { file: null, mark: "", at: 0 };
  let size = FIRST;
  let under = nothing;
  let stopped = null;

  class Refused extends Error {}

  // After each chunk, adapt the size to the target time, growing at most fourfold. If a chunk does
  // not arrive, halve the size.
  const fitted = (wanted) => Math.round(Math.min(Number(piece), Math.max(LEAST, wanted)));

  const put = async (file, signal) => {
    for (let tried = 1; ; tried += 1) {
      const body = file.slice(under.at, under.at + size);
      const began = performance.now();
      try {
        const answer = await fetch(`${pieces}${under.mark}/?at=${under.at}`, {
          method: "POST",
          body,
          signal,
          redirect: "error",
          headers: {
            "Content-Type": "application/octet-stream",
            "X-CSRFToken": form.elements.csrfmiddlewaretoken.value,
          },
        });
        if (answer.status === 204) {
          under.at += body.size;
          size = fitted(size * Math.min(4, GOAL / (performance.now() - began)));
          return;
        }
        if (answer.status === 422) throw new Refused(await answer.text());
      } catch (error) {
        if (error instanceof Refused || signal.aborted || tried === TRIES) throw error;
      }
      if (tried === TRIES) throw new Error("no answer");
      size = fitted(size / 2);
      await new Promise((later) => { setTimeout(later, PAUSE * tried); });
    }
  };

  const tell = (all) => {
    const bar = part("sending").querySelector("progress");
    bar.max = all;
    bar.value = under.at;
    part("share").textContent = `${Math.floor((100 * under.at) / all)} %`;
  };

  form.addEventListener("submit", async (event) => {
    const file = picked.files[0];
    show("large", false);
    show("failed", false);
    if (!file || file.size <= Number(piece)) return;
    event.preventDefault();
    if (stopped) return;
    if (file.size > Number(most)) { show("large", true); return; }
    if (under.file !== file) under = { file, mark: newMark(), at: 0 };
    const buttons = [...form.querySelectorAll("button:not([type=button])")];
    stopped = new AbortController();
    const { signal } = stopped;
    buttons.forEach((button) => { button.disabled = true; });
    show("sending", true);
    try {
      for (tell(file.size); under.at < file.size; tell(file.size)) await put(file, signal);
      field("sent").value = under.mark;
      field("sent_name").value = file.name;
      field("sent_bytes").value = file.size;
      picked.disabled = true;
      form.dispatchEvent(new Event("leave", { bubbles: true }));
      form.submit();
    } catch (error) {
      const refused = error instanceof Refused;
      failed.textContent = refused ? error.message : lost;
      show("failed", !signal.aborted);
      if (signal.aborted || refused) under = nothing;  // the next upload starts from the beginning
      show("sending", false);
      buttons.forEach((button) => { button.disabled = false; });
      stopped = null;
    }
  });

  part("cancel").addEventListener("click", () => stopped?.abort());
  // Reload a page from the back button's cache, because its form was already submitted.
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });
})();
