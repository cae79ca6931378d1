// Keeps a page up to date: when the hub reports a change, the page is read again, and the parts of
// it that are marked with data-live are replaced. Pages work without it.
"use strict";
(() => {
const where = document.body.dataset.events;
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

let busy = false, missed = false;
async function changed() {
  missed = true;
  if (busy) return;
  busy = true;
  while (missed) {
    missed = false;
    await refresh().catch(() => {}); // the hub restarts, and the browser connects again
  }
  busy = false;
}

// A browser opens few connections to a host, so a page that is not seen has none.
let source = null, left = false;
function listen(seen) {
  if (seen && !source) {
    source = new EventSource(where);
    source.addEventListener("change", changed);
    if (left) changed();
  } else if (!seen && source) {
    source.close();
    source = null;
    left = true;
  }
}
document.addEventListener("visibilitychange", () => listen(document.visibilityState === "visible"));
addEventListener("pagehide", () => listen(false));
addEventListener("pageshow", () => listen(document.visibilityState === "visible"));
})();
