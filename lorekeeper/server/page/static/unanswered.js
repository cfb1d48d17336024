// No answer.

// A request that has failed leaves the page as it was before: it says so, until the same is asked with success.
const STOPPED = "LoreKeeper does not answer. If it has ended, start it again with 'lorekeeper open'.";
let failed;  // the request, to be sent again

function lose({ elt, target, pathInfo, requestConfig }, why = STOPPED) {
  const path = pathInfo?.finalRequestPath, click = requestConfig?.triggeringEvent?.type === "click";
  failed = { elt, path, target, click, isStopped: why === STOPPED };
  document.documentElement.dataset.lost = failed.isStopped || target?.matches("#results, #main") ? "all" : "part";
  $("#lost span").textContent = why;
  $("#lost").hidden = false;
  if ($("#results")) busy(false);
}

function find() {
  failed = undefined;
  delete document.documentElement.dataset.lost;
  $("#lost").hidden = true;
}

function retry() {
  const again = failed;
  if (!again) return;
  if ($("#rest") && answered !== $("#q").value) htmx.trigger("#rest", "rest");
  else if (again.elt?.isConnected && again.click) again.elt.click();
  else if (again.target?.isConnected && again.path) ask(again.path, again.target, "innerHTML");
  else location.reload();
}

// Whether an answer has come, and is shown.
async function ask(path, target, swap) {
  let isShown = false;
  const shown = (event) => { if (event.detail.pathInfo.requestPath === path && event.detail.successful) isShown = true; };
  document.addEventListener("htmx:afterRequest", shown);
  try { await htmx.ajax("GET", path, { target, swap, source: target instanceof Element ? target : document.body }); } catch { /* lose() has said so */ }
  document.removeEventListener("htmx:afterRequest", shown);
  return isShown;
}

function reasonOf(xhr) {
  const text = new DOMParser().parseFromString(xhr.responseText, "text/html").body.textContent.trim();
  return text && text.length < 400 && !text.startsWith("{") ? text : `LoreKeeper cannot answer this (${xhr.status}).`;
}

document.addEventListener("htmx:sendError", (event) => lose(event.detail));
document.addEventListener("htmx:historyCacheMissLoadError", () => lose({}));
document.addEventListener("htmx:responseError", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) lose(event.detail, reasonOf(event.detail.xhr));
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!failed || !detail.successful) return;
  const again = failed;
  find();
  if (!again.isStopped || again.path === detail.pathInfo.finalRequestPath) return;
  failed = again;
  retry();
});
addEventListener("focus", () => { if (failed?.isStopped) retry(); });
addEventListener("pageshow", (event) => { if (event.persisted) find(); });
