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

/** Let the keyboard scroll the lines whose figure is wider than the window. */
function focusWideFigures() {
  const sizes = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      const line = target.closest("p");
      if (line.scrollWidth > line.clientWidth) line.tabIndex = 0;
      else line.removeAttribute("tabindex");
    }
  });
  for (const figure of document.querySelectorAll('p > img[src$=".svg"]')) {
    sizes.observe(figure);
    sizes.observe(figure.parentElement);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  prepareForPrint();
  openTarget();
  addEventListener("hashchange", openTarget);
  focusWideFigures();
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.documentElement.dataset.ready = "true";
});
