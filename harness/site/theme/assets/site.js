// What the pages of the site do beyond the theme.
"use strict";

/** On paper, show what is folded in light colours; afterwards, as it was. */
function prepareForPrint() {
  let folded = [], scheme = "";
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
    scheme = document.body.dataset.mdColorScheme;
    document.body.dataset.mdColorScheme = "default";
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
    document.body.dataset.mdColorScheme = scheme;
  });
}

/** Open the details that the address names, and those around them. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target?.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  target?.scrollIntoView();
}

/** Let the keyboard scroll what is wider than its place: figures, listings and tables. */
function focusWide() {
  const sizes = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      const place = target.closest("p") ?? target;
      if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
      else place.removeAttribute("tabindex");
    }
  });
  const seen = new Set();
  return () => {
    const wide = 'p > img[src$=".svg"], p:has(> img[src$=".svg"]), pre > code, .md-typeset__scrollwrap';
    for (const each of document.querySelectorAll(wide)) {
      if (!seen.has(each)) sizes.observe(each);
      seen.add(each);
    }
  };
}

/** Mend what the theme's script puts around listings and tables, now and when it adds more. */
function mendTheme() {
  const focus = focusWide();
  const mend = () => {
    focus();
    for (const bar of document.querySelectorAll("nav.md-code__nav:not([role])")) bar.setAttribute("role", "presentation");
  };
  new MutationObserver(mend).observe(document.querySelector(".md-content") ?? document.body, { childList: true, subtree: true });
  mend();
}

document.addEventListener("DOMContentLoaded", () => {
  prepareForPrint();
  openTarget();
  addEventListener("hashchange", openTarget);
  mendTheme();
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.documentElement.dataset.ready = "true";
});
