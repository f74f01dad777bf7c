const HOW_TO = "Click on an event, or press Enter on the timeline; drag to move, scroll to zoom.";
const NO_COUNTERS = "No hardware counters: Nsight Compute recorded none of this variant and case.";
const OTHER_COUNTERS = "No hardware counters: Nsight Compute recorded other kernels of this variant and case.";

/** Return findings, a line each; the first one is open, with its evidence and what to do. */
function findings(list) {
  return el("ol", { class: "findings" }, ...list.map((finding, place) => el("li", {}, el("details", place ? {} : { open: "" },
    el("summary", {}, finding.title, " ", el("code", {}, finding.id), ` ${finding.cost}`),
    el("ul", {}, ...finding.evidence.map((line) => el("li", {}, line))),
    ...finding.advice.map((line) => el("p", {}, line)), ...explained(finding.id)))));
}

/** Return a link to the page that explains a finding, if the site has one. */
function explained(id) {
  return data.pages[id] ? [el("p", {}, el("a", { href: data.pages[id] }, `${id}: what it is, shown on a case`))] : [];
}

/** Return names and values as a list of definitions. */
function definitions(rows, kind = "") {
  return el("dl", { class: kind }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** Return a kernel's point in the roofline of its panel, or a line on why it has none. */
function roofline(panel, name) {
  const place = panel.roofline.points[name];
  if (place === undefined) return el("p", { class: "none" }, panel.roofline.missing[name]);
  const figure = document.getElementById(panel.roofline.figure).content.cloneNode(true);
  figure.querySelector(`[data-point="${place}"]`).classList.add("chosen");
  return el("figure", {}, figure, el("figcaption", {}, panel.roofline.said[name]));
}

/** Return what the page says of a kernel: rows on its launch, then its counters and its roofline. */
function ofKernel(panel, name, rows) {
  const counted = panel.counters[name];
  const left = el("div", {}, el("h3", {}, name), definitions(rows));
  if (counted) {
    const counters = Object.entries(counted).filter(([key]) => key !== "name");
    left.append(el("h4", {}, "Under Nsight Compute"), definitions(counters.map(([key, value]) => [heading(key), written(key, value)]), "counters"));
    return [left, roofline(panel, name)];
  }
  left.append(el("p", { class: "none" }, Object.keys(panel.counters).length ? OTHER_COUNTERS : NO_COUNTERS));
  return [left];
}

/** Return what the page says of a selected event. */
function describe(timeline, panel, event) {
  if (event < 0) return data.panels.length > 1 ? [] : [el("p", {}, HOW_TO)];
  const lane = timeline.laneOf(event);
  const kind = timeline.packed.texts[timeline.kind[event]];
  const rows = [["time", `${time(timeline.start[event])} to ${time(timeline.stop(event))}`], ["duration", time(timeline.duration[event])]];
  const detail = timeline.packed.texts[timeline.detail[event]];
  if (detail) rows.push([lane.what === "idle" ? "host" : "shape", detail]);
  if (lane.label) rows.push(["lane", lane.label]);
  const partner = timeline.correlation[event] >= 0 ? timeline.partners(event)[0] : undefined;
  if (partner !== undefined) {
    const [call, operation] = lane.what === "call" ? [event, partner] : [partner, event];
    rows.push(["from launch to start", time(timeline.start[operation] - timeline.start[call])]);
  }
  if (kind === "kernel") return ofKernel(panel, timeline.text(event), rows);
  const title = lane.what === "idle" ? `idle: ${data.causes[kind]?.text ?? kind}` : timeline.text(event);
  return [el("div", {}, el("h3", {}, title), definitions(rows))];
}

/** Return what stands in place of a timeline: the counters of the longest kernel, where there are any. */
function withoutTimeline(panel) {
  const [longest] = Object.keys(panel.counters);
  return longest ? ofKernel(panel, longest, []) : [el("p", {}, "No timeline: no capture here holds one.")];
}

/** Return a panel's parts: its timeline, null without one, what stands at `top` and the `rest`. */
async function panelOf(view, panel) {
  const several = data.panels.length > 1;
  const label = () => (several ? [el("h2", {}, panel.label)] : []);
  const step = panel.step ? [el("p", {}, panel.step)] : [];
  const found = panel.findings.length ? [...step, findings(panel.findings)] : step;
  const leftOut = panel.left_out.map((line) => el("p", { class: "left-out" }, line));
  const top = el("section", { class: "top" }, ...label(), ...leftOut, ...(several ? [] : found));
  const rest = el("section", {}, ...label(), ...(several ? found : []));
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  let timeline = null;
  if (panel.timeline) {
    timeline = new Timeline(view, panel.timeline, panel.short, (event) => detail.replaceChildren(...describe(timeline, panel, event)));
    detail.replaceChildren(...describe(timeline, panel, -1));
    await timeline.load();
    top.append(timeline.canvas);
  }
  const show = (name) => {
    if (timeline) timeline.next(name);
    else detail.replaceChildren(...ofKernel(panel, name, []));
    (timeline?.canvas ?? detail).scrollIntoView({ block: "nearest" });
  };
  top.append(detail);
  if (!timeline) detail.replaceChildren(...withoutTimeline(panel));
  if (panel.memory) rest.append(el("img", { src: panel.memory, alt: "Reserved and allocated memory over the events of the allocator" }));
  for (const [place, [caption, rows]] of Object.entries(panel.tables).entries()) {
    const choose = caption.startsWith("Kernels") ? (row) => show(row.name) : null;
    rest.append(folded(caption, rows, place === 0 && !several, { short: panel.short, choose, of: several ? panel.label : "" }));
  }
  const conditions = Object.entries(panel.conditions);
  if (conditions.length) rest.append(el("details", {}, el("summary", {}, "How it was recorded"), definitions(conditions)));
  return { panel, timeline, top, rest, show };
}
