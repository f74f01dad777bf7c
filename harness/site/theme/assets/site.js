// What the pages of the site do beyond the theme.
"use strict";

/** Show what is folded on paper, and fold it again. */
function unfoldForPrint() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
  });
}

/** Open the details that the address names, and those around them. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target?.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  target?.scrollIntoView();
}

document.addEventListener("DOMContentLoaded", () => {
  unfoldForPrint();
  openTarget();
  addEventListener("hashchange", openTarget);
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.documentElement.dataset.ready = "true";
});
