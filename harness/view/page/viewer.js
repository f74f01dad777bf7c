// Draws the page of one or more subjects from the JSON in #data. No name of a capture is ever markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const HEIGHTS = { range: 16, call: 14, idle: 10, stream: 22 };
const GUTTER = 168, RULER = 26, GAP = 2, LEAST_TEXT = 34;
const KERNELS = ["#3674b5", "#e0a03c", "#2f8a5b", "#8a6bbe", "#b84a42", "#6aaee0", "#b0577d", "#5b7f2b"];
const KINDS = { collective: "#1f4e79", copy: "#2a9d8f", memset: "#8c959f", graph: "#8a6bbe", call: "#8c959f", range: "#c9b458" };

/** Return an element with attributes and children; texts become text nodes. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Return a number with at most four significant digits. */
function digits(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** Return nanoseconds in the unit that suits them. */
function time(ns) {
  const size = Math.abs(ns);
  const [unit, scale] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  return `${digits(ns / scale)} ${unit}`;
}

/** Return bytes in the unit that suits them. */
function bytes(count) {
  const [unit, scale] = count >= 1e9 ? ["GB", 1e9] : count >= 1e6 ? ["MB", 1e6] : count >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${digits(count / scale)} ${unit}`;
}

/** Return the numbers of a deflated base64 column as a typed array. */
async function column(text, Type) {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Type(await new Response(stream).arrayBuffer());
}

/** The stretch of time that all timelines show, in ns from their origins. */
class View {
  constructor() {
    this.listeners = [];
    this.search = "";
    this.scheduled = false;
  }
  set(from, to) {
    const least = 20, span = Math.max(to - from, least);
    this.from = Math.max(this.first - span * 0.5, Math.min(from, this.last));
    this.to = this.from + Math.min(span, (this.last - this.first) * 2);
    this.draw();
  }
  bound(first, last) {
    this.first = Math.min(this.first ?? first, first);
    this.last = Math.max(this.last ?? last, last);
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  pan(part) {
    const step = (this.to - this.from) * part;
    this.set(this.from + step, this.to + step);
  }
  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const listener of this.listeners) listener();
    });
  }
}

/** One subject's lanes on a canvas. */
class Timeline {
  constructor(view, packed, names, describe) {
    Object.assign(this, { view, packed, names, describe, selected: -1, hovered: -1 });
    this.canvas = el("canvas", { tabindex: "0", class: "timeline", role: "img" });
    this.canvas.setAttribute("aria-label", "Timeline. Arrow keys move, plus and minus zoom, 0 shows all.");
    this.context = this.canvas.getContext("2d");
    let y = RULER;
    let first = 0;
    this.lanes = packed.lanes.map((lane) => {
      const height = HEIGHTS[lane.what];
      const made = { ...lane, y, height, first, end: first + lane.count };
      y += height + GAP + (lane.what === "idle" ? 2 : 0);
      first = made.end;
      return made;
    });
    this.height = y + 4;
    this.canvas.style.height = `${this.height}px`;
  }

  async load() {
    const types = { start: Float64Array, duration: Float64Array };
    for (const [name, text] of Object.entries(this.packed.columns)) {
      this[name] = await column(text, types[name] ?? Int32Array);
    }
    let first = Infinity, last = -Infinity;
    for (const lane of this.lanes) {
      first = Math.min(first, this.start[lane.first]);
      last = Math.max(last, this.stop(lane.end - 1));
    }
    this.view.bound(first, last);
    this.view.listeners.push(() => this.draw());
    this.listen();
  }

  stop(event) {
    return this.start[event] + this.duration[event];
  }
  text(event) {
    return this.packed.texts[this.name[event]] ?? "";
  }
  short(event) {
    return this.names[this.text(event)] ?? this.text(event);
  }
  x(ns) {
    return GUTTER + ((ns - this.view.from) / (this.view.to - this.view.from)) * (this.width - GUTTER);
  }
  at(x) {
    return this.view.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.view.to - this.view.from);
  }

  /** Return the first event of a lane that ends after a time. */
  after(lane, ns) {
    let low = lane.first, high = lane.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.stop(middle) < ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  colour(lane, event) {
    const kind = this.packed.texts[this.kind[event]];
    if (lane.what === "idle") return data.causes[kind]?.colour ?? "#8c959f";
    if (kind === "kernel") return KERNELS[(this.name[event] * 7) % KERNELS.length];
    return KINDS[kind] ?? "#8c959f";
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    const style = getComputedStyle(this.canvas);
    this.ink = style.color;
    this.faint = style.borderTopColor;
    this.context.scale(ratio, ratio);
    this.context.font = "12px system-ui, sans-serif";
    this.context.textBaseline = "middle";
    this.drawRuler();
    for (const lane of this.lanes) this.drawLane(lane);
    this.drawLinks();
  }

  drawRuler() {
    const { context, view } = this;
    const span = view.to - view.from;
    const rough = span / Math.max(2, (this.width - GUTTER) / 120);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough);
    context.fillStyle = this.faint;
    for (const [from, to] of this.packed.steady) {
      const left = Math.max(GUTTER, this.x(from)), right = Math.min(this.width, this.x(to));
      if (right > left) context.fillRect(left, RULER - 5, Math.max(1, right - left), 3);
    }
    for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
      const x = this.x(tick);
      context.fillStyle = this.faint;
      context.fillRect(x, RULER - 2, 1, this.height - RULER);
      context.fillStyle = this.ink;
      context.fillText(time(Math.abs(tick) < step / 2 ? 0 : tick), x + 3, 10);
    }
  }

  drawLane(lane) {
    const { context, view } = this;
    context.fillStyle = this.ink;
    if (lane.label) context.fillText(lane.label, 4, lane.y + lane.height / 2, GUTTER - 10);
    context.save();
    context.beginPath();
    context.rect(GUTTER, lane.y, this.width - GUTTER, lane.height);
    context.clip();
    let drawn = -1; // the last pixel column that is filled
    for (let event = this.after(lane, view.from); event < lane.end && this.start[event] <= view.to; event++) {
      const left = Math.max(GUTTER - 1, this.x(this.start[event]));
      const right = Math.min(this.width + 1, this.x(this.stop(event)));
      const found = this.matches(event);
      if (right - left < 1 && Math.floor(right) <= drawn && event !== this.selected && !(found && view.search)) continue;
      drawn = Math.floor(right);
      context.globalAlpha = view.search && !found ? 0.15 : 1;
      context.fillStyle = this.colour(lane, event);
      context.fillRect(left, lane.y, Math.max(1, right - left - (right - left > 3 ? 0.5 : 0)), lane.height);
      if (event === this.selected || event === this.hovered) {
        context.strokeStyle = this.ink;
        context.lineWidth = event === this.selected ? 2 : 1;
        context.strokeRect(left + 1, lane.y + 1, Math.max(1, right - left - 2), lane.height - 2);
      }
      if (right - left > LEAST_TEXT && lane.height >= 14) this.write(this.short(event), left + 3, right - 3, lane);
    }
    context.restore();
  }

  write(text, left, right, lane) {
    const room = right - left;
    const whole = this.context.measureText(text).width;
    const kept = whole <= room ? text : `${text.slice(0, Math.max(1, Math.floor((room / whole) * text.length) - 1))}…`;
    this.context.fillStyle = "#fff";
    if (lane.what === "range") this.context.fillStyle = "#1f2328";
    this.context.fillText(kept, left, lane.y + lane.height / 2 + 0.5);
  }

  /** Draw a line from the selected call to what it launched, or back. */
  drawLinks() {
    if (this.selected < 0 || this.correlation[this.selected] < 0) return;
    const { context } = this;
    const own = this.laneOf(this.selected);
    context.strokeStyle = this.ink;
    context.lineWidth = 1;
    for (const other of this.partners(this.selected)) {
      const lane = this.laneOf(other);
      const [above, below] = own.y < lane.y ? [this.selected, other] : [other, this.selected];
      const [from, to] = own.y < lane.y ? [own, lane] : [lane, own];
      context.beginPath();
      context.moveTo(Math.max(GUTTER, this.x(this.stop(above))), from.y + from.height);
      context.lineTo(Math.max(GUTTER, this.x(this.start[below])), to.y);
      context.stroke();
    }
  }

  /** Return the events of the other side of a launch: at most 200 of them. */
  partners(event) {
    const wanted = this.correlation[event];
    const side = this.laneOf(event).what;
    const found = [];
    for (const lane of this.lanes) {
      if (lane.what === side || (lane.what !== "call" && lane.what !== "stream")) continue;
      for (let other = lane.first; other < lane.end && found.length < 200; other++) {
        if (this.correlation[other] === wanted) found.push(other);
      }
    }
    return found;
  }

  laneOf(event) {
    return this.lanes.find((lane) => event < lane.end);
  }

  matches(event) {
    return this.matching ? this.matching[this.name[event]] : true;
  }

  /** Dim all events but those whose names hold a text. */
  find(text) {
    const wanted = text.toLowerCase();
    this.matching = wanted ? this.packed.texts.map((each) => each.toLowerCase().includes(wanted)) : null;
    let count = 0, total = 0;
    if (wanted) {
      for (const lane of this.lanes) {
        if (lane.what === "idle") continue;
        for (let event = lane.first; event < lane.end; event++) {
          if (!this.matches(event)) continue;
          count += 1;
          total += this.duration[event];
        }
      }
    }
    return { count, total };
  }

  hit(pointer) {
    const box = this.canvas.getBoundingClientRect();
    const x = pointer.clientX - box.left, y = pointer.clientY - box.top;
    const lane = this.lanes.find((each) => y >= each.y && y < each.y + each.height);
    if (!lane || x < GUTTER) return -1;
    const slack = (this.view.to - this.view.from) / (this.width - GUTTER) * 2;
    const event = this.after(lane, this.at(x) - slack);
    return event < lane.end && this.start[event] <= this.at(x) + slack ? event : -1;
  }

  select(event, { move = false } = {}) {
    this.selected = event;
    if (event >= 0 && move) {
      const span = Math.max(this.duration[event] * 12, 2000);
      const middle = this.start[event] + this.duration[event] / 2;
      this.view.set(middle - span / 2, middle + span / 2);
    }
    this.describe(event);
    this.view.draw();
  }

  /** Select the next event of a name, from the selected one on, or from the left edge. */
  next(name, step = 1) {
    const index = this.packed.texts.indexOf(name);
    const named = [];
    for (const lane of this.lanes) {
      if (lane.what !== "stream") continue;
      for (let event = lane.first; event < lane.end; event++) if (this.name[event] === index) named.push(event);
    }
    if (!named.length) return;
    named.sort((one, other) => this.start[one] - this.start[other]);
    const place = named.indexOf(this.selected);
    const from = place < 0 ? named.findIndex((event) => this.start[event] >= this.view.from) - 1 : place;
    this.select(named[(from + step + named.length) % named.length], { move: true });
  }

  listen() {
    const { canvas, view } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (pointer) => {
      drag = { x: pointer.clientX, from: view.from, to: view.to, moved: false };
      canvas.setPointerCapture(pointer.pointerId);
    });
    canvas.addEventListener("pointermove", (pointer) => {
      if (drag) {
        const moved = pointer.clientX - drag.x;
        drag.moved ||= Math.abs(moved) > 3;
        const shift = (moved / (this.width - GUTTER)) * (drag.to - drag.from);
        if (drag.moved) view.set(drag.from - shift, drag.to - shift);
        return;
      }
      const event = this.hit(pointer);
      if (event === this.hovered) return;
      this.hovered = event;
      canvas.title = event < 0 ? "" : `${this.text(event)}\n${time(this.duration[event])}`;
      view.draw();
    });
    canvas.addEventListener("pointerup", (pointer) => {
      if (drag && !drag.moved) this.select(this.hit(pointer));
      drag = null;
    });
    canvas.addEventListener("dblclick", (pointer) => this.select(this.hit(pointer), { move: true }));
    canvas.addEventListener("wheel", (wheel) => {
      wheel.preventDefault();
      if (wheel.shiftKey || Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) view.pan((wheel.deltaX || wheel.deltaY) / 1000);
      else view.zoom(1.002 ** wheel.deltaY, this.at(wheel.clientX - canvas.getBoundingClientRect().left));
    }, { passive: false });
    const keys = {
      ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
      w: () => view.zoom(0.6), s: () => view.zoom(1 / 0.6), a: () => view.pan(-0.2), d: () => view.pan(0.2),
      0: () => view.set(view.first, view.last), Escape: () => this.select(-1),
      n: () => this.selected >= 0 && this.next(this.text(this.selected)),
      p: () => this.selected >= 0 && this.next(this.text(this.selected), -1),
    };
    canvas.addEventListener("keydown", (key) => {
      if (!keys[key.key] || key.ctrlKey || key.metaKey) return;
      key.preventDefault();
      keys[key.key]();
    });
  }
}

/** How values of a table's column are written, by the ending of the column's name. */
function written(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (name.endsWith("_ns")) return time(value);
  if (name.endsWith("bytes")) return bytes(value);
  if (name === "share") return `${digits(value * 100)} %`;
  return digits(value);
}

/** Return a table that is sorted by a click on a column's head; `choose` gets the row clicked on. */
function table(caption, rows, { short, open, choose }) {
  const names = Object.keys(rows[0]).filter((name) => rows.some((row) => row[name] !== null));
  const numeric = (name) => rows.every((row) => row[name] === null || typeof row[name] === "number");
  const body = el("tbody");
  const fill = (sorted) => body.replaceChildren(...sorted.map((row) => {
    const cells = names.map((name) => {
      const value = written(name, row[name]);
      if (numeric(name)) return el("td", { class: "number" }, value);
      return el("td", { class: "name", title: value }, short[value] ?? value);
    });
    const line = el("tr", { "data-text": names.map((name) => row[name]).join(" ").toLowerCase() }, ...cells);
    if (choose) {
      cells[0].replaceChildren(el("button", { type: "button", class: "link", onclick: () => choose(row) }, cells[0].textContent));
    }
    return line;
  }));
  const head = names.map((name) => {
    const title = name.replace(/_(ns|pct)$/, (end) => (end === "_pct" ? " (%)" : "")).replaceAll("_", " ");
    const cell = el("th", numeric(name) ? { scope: "col", class: "number" } : { scope: "col" });
    cell.append(el("button", { type: "button", onclick: () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of head) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => one === null ? 1 : other === null ? -1 : one < other ? -1 : one > other ? 1 : 0;
      fill([...rows].sort((one, other) => (down ? -1 : 1) * order(one[name], other[name])));
    } }, title));
    return cell;
  });
  fill(rows);
  return el("details", open ? { open: "" } : {}, el("summary", {}, `${caption} (${rows.length})`),
    el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), body)));
}

/** Return a finding's id, as a link to the page that explains it, if the site has one. */
function named(id) {
  const code = el("code", {}, id);
  return data.pages[id] ? el("a", { href: data.pages[id] }, code) : code;
}

/** Return findings, a line each; the first one is open, with its evidence and what to do. */
function findings(list) {
  return el("ol", { class: "findings" }, ...list.map((finding, place) => el("li", {}, el("details", place ? {} : { open: "" },
    el("summary", {}, finding.title, " ", named(finding.id), ` ${finding.cost}`),
    el("ul", {}, ...finding.evidence.map((line) => el("li", {}, line))),
    ...finding.advice.map((line) => el("p", {}, line))))));
}

/** Return what the page says of a selected event. */
function describe(timeline, panel, event) {
  if (event < 0) return [el("p", {}, "Click on an event; drag to move, scroll to zoom.")];
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
  for (const [name, value] of Object.entries(panel.counters[timeline.text(event)] ?? {})) rows.push([name.replaceAll("_", " "), written(name, value)]);
  const title = lane.what === "idle" ? `idle: ${data.causes[kind]?.text ?? kind}` : timeline.text(event);
  return [el("h3", {}, title), el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))];
}

async function panelOf(view, panel) {
  const section = el("section", {});
  if (data.panels.length > 1) section.append(el("h2", {}, panel.label));
  if (panel.findings.length) section.append(findings(panel.findings));
  let timeline = null;
  if (panel.timeline) {
    const detail = el("div", { class: "detail", "aria-live": "polite" });
    timeline = new Timeline(view, panel.timeline, panel.short, (event) => detail.replaceChildren(...describe(timeline, panel, event)));
    detail.replaceChildren(...describe(timeline, panel, -1));
    await timeline.load();
    section.append(timeline.canvas, detail);
  }
  if (panel.memory) section.append(el("img", { src: panel.memory, alt: "Reserved and allocated memory over the events of the allocator" }));
  const choose = (row) => {
    timeline.next(row.name);
    timeline.canvas.scrollIntoView({ block: "nearest" });
  };
  for (const [place, [caption, rows]] of Object.entries(panel.tables).entries()) {
    const open = place === 0 && data.panels.length === 1;
    section.append(table(caption, rows, { short: panel.short, open, choose: timeline && caption === "Kernels" ? choose : null }));
  }
  const conditions = Object.entries(panel.conditions).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  if (conditions.length) section.append(el("details", {}, el("summary", {}, "How it was recorded"), el("dl", {}, ...conditions)));
  return { section, timeline };
}

async function main() {
  const view = new View();
  const root = document.querySelector("main");
  const panels = [];
  for (const panel of data.panels) panels.push(await panelOf(view, panel));
  const timelines = panels.map((panel) => panel.timeline).filter(Boolean);
  const counted = el("output", { for: "search" });
  const search = el("input", { id: "search", type: "search", placeholder: "name of a kernel, call or range", oninput: () => {
    view.search = search.value;
    const found = timelines.map((timeline) => timeline.find(search.value));
    counted.textContent = search.value ? found.map(({ count, total }) => `${digits(count)} events, ${time(total)}`).join(" · ") : "";
    for (const row of document.querySelectorAll("tbody tr")) row.hidden = !row.dataset.text.includes(search.value.toLowerCase());
    view.draw();
  } });
  const tools = el("div", { class: "tools" }, el("label", { for: "search" }, "Find "), search, counted);
  if (timelines.length) {
    const steady = timelines.flatMap((timeline) => timeline.packed.steady);
    const whole = () => view.set(view.first, view.last);
    const step = () => view.set(Math.min(...steady.map(([from]) => from)), Math.max(...steady.map(([, to]) => to)));
    tools.append(el("button", { type: "button", onclick: whole }, "all"), el("button", { type: "button", onclick: () => view.zoom(0.5) }, "zoom in"),
      el("button", { type: "button", onclick: () => view.zoom(2) }, "zoom out"));
    if (steady.length) tools.append(el("button", { type: "button", onclick: step }, "steady state"));
    tools.append(el("ul", { class: "legend" }, ...Object.entries(data.causes).filter(([cause]) => timelines.some((timeline) => timeline.packed.causes.includes(cause)))
      .map(([, { text, colour }]) => { const mark = el("span", { class: "mark" }); mark.style.background = colour; return el("li", {}, mark, `idle: ${text}`); })));
    if (steady.length) step();
    else whole();
    new ResizeObserver(() => view.draw()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.draw());
  }
  root.append(tools, ...panels.map((panel) => panel.section));
  view.draw();
  const [, kernel] = location.hash.split("#kernel=");
  if (kernel) for (const timeline of timelines) timeline.next(decodeURIComponent(kernel));
  document.documentElement.dataset.ready = "true";
}

main();
