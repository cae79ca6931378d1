// Keeps a page up to date: when something has changed on the hub, the page is read again, and the
// parts of it that are marked with data-live are replaced. Pages work without it.
"use strict";
(() => {
const where = document.body.dataset.version;
if (!where) return;

// name identifies what has the focus, so that what replaces it gets it.
const name = (e) => e.id ? "#" + CSS.escape(e.id)
    : e.getAttribute("href") ? `a[href="${CSS.escape(e.getAttribute("href"))}"]` : "";

function replace(old, fresh) {
  if (old.innerHTML === fresh.innerHTML) return;
  const focused = old.contains(document.activeElement) && document.activeElement !== old
      ? document.activeElement : null;
  if (focused?.matches("input,select,button")) return; // it is being used: the next change will do
  old.replaceChildren(...fresh.childNodes);
  const again = focused && name(focused);
  if (again) old.querySelector(again)?.focus({preventScroll: true});
}

async function refresh() {
  const answer = await fetch(location.href, {headers: {Accept: "text/html"}, redirect: "error"});
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (fresh) replace(old, fresh);
  }
}

// A page that is not seen asks for nothing. Without a change it is read again for the times on it.
const often = 2000, seldom = 30000; // milliseconds
let busy = false, version = "", read = Date.now();
async function look() {
  if (busy || document.visibilityState !== "visible") return;
  busy = true;
  try {
    const answer = await fetch(where, {redirect: "error"});
    const now = answer.ok ? await answer.text() : version;
    if (version && now !== version || Date.now() - read >= seldom) {
      await refresh();
      read = Date.now();
    }
    version = now;
  } catch { /* the hub restarts: the next time will do */ }
  busy = false;
}
look();
setInterval(look, often);
document.addEventListener("visibilitychange", look);
})();
