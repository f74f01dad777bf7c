/** Unfold all that is folded while the page is printed. */
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

/** Return the field that finds events by their names, and says how many there are. */
function finder(view, timelines) {
  const counted = el("output", { for: "search" });
  const search = el("input", { id: "search", type: "search", placeholder: "name of a kernel, call or range", oninput: () => {
    const text = search.value.toLowerCase();
    const found = timelines.map((timeline) => timeline.keep(text ? (name) => name.toLowerCase().includes(text) : null));
    counted.textContent = text ? found.map(({ count, total }) => `${digits(count)} events, ${time(total)}`).join(" · ") : "";
    for (const row of document.querySelectorAll("tbody tr")) row.hidden = !row.dataset.text.includes(text);
    view.draw();
  } });
  return [el("label", { for: "search" }, "Find "), search, counted];
}

/** Return the legend: each cause of idle time that a timeline has. */
function legend(timelines) {
  const shown = Object.entries(data.causes).filter(([cause]) => timelines.some((timeline) => timeline.packed.causes.includes(cause)));
  return el("ul", { class: "legend" }, ...shown.map(([, { text, colour }]) => {
    const mark = el("span", { class: "mark" });
    mark.style.background = colour;
    return el("li", {}, mark, `idle: ${text}`);
  }));
}

/** Return the buttons that zoom all timelines, after the first zoom: to the steady state, where there is one. */
function zooming(view, timelines) {
  const steady = timelines.flatMap((timeline) => timeline.packed.steady);
  const whole = () => view.set(view.first, view.last);
  const step = () => view.set(Math.min(...steady.map(([from]) => from)), Math.max(...steady.map(([, to]) => to)));
  const buttons = [["all", whole], ["zoom in", () => view.zoom(0.5)], ["zoom out", () => view.zoom(2)]];
  if (steady.length) buttons.push(["steady state", step]);
  if (steady.length) step();
  else whole();
  return buttons.map(([text, onclick]) => el("button", { type: "button", onclick }, text));
}

async function main() {
  const view = new View();
  const root = document.querySelector("main");
  const panels = [];
  for (const panel of data.panels) panels.push(await panelOf(view, panel));
  const timelines = panels.map((panel) => panel.timeline).filter(Boolean);
  const tools = el("div", { class: "tools" }, ...finder(view, timelines));
  if (timelines.length) {
    tools.append(...zooming(view, timelines), legend(timelines));
    new ResizeObserver(() => view.draw()).observe(root);
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => view.draw());
  }
  const between = data.difference ? [difference(view, panels)] : [];
  const [first, ...others] = panels;
  root.append(tools, first.top, ...between, ...others.map(({ top }) => top),
    el("div", { class: "rest" }, ...panels.map(({ rest }) => rest)));
  view.draw();
  unfoldForPrint();
  const [, kernel] = location.hash.split("#kernel=");
  if (kernel) for (const { show } of panels) show(decodeURIComponent(kernel));
  document.documentElement.dataset.ready = "true";
}

main();
