const WIDE_GUTTER = 168, NARROW_GUTTER = 92, NARROW = 700, LEAST_TEXT = 34;
const KERNELS = ["#3674b5", "#e0a03c", "#2f8a5b", "#8a6bbe", "#b84a42", "#6aaee0", "#b0577d", "#5b7f2b"];
const KINDS = { collective: "#1f4e79", copy: "#2a9d8f", memset: "#8c959f", graph: "#8a6bbe", call: "#8c959f", range: "#c9b458" };
const DARK_TEXT = "#1f2328", LIGHT_TEXT = "#fff";

/** Return whether dark letters have more contrast to a colour than white ones (WCAG's relative luminance). */
function wantsDark(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2;
}

/** One subject's lanes on a canvas. */
class Drawing extends Lanes {
  constructor(view, packed, names) {
    super(packed, names);
    Object.assign(this, { view, selected: -1, hovered: -1 });
    this.canvas = el("canvas", { tabindex: "0", class: "timeline", role: "application" });
    this.context = this.canvas.getContext("2d");
    this.canvas.style.height = `${this.height}px`;
  }

  x(ns) {
    return this.gutter + ((ns - this.view.from) / (this.view.to - this.view.from)) * (this.width - this.gutter);
  }
  at(x) {
    return this.view.from + ((x - this.gutter) / (this.width - this.gutter)) * (this.view.to - this.view.from);
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
    this.gutter = this.width < NARROW ? NARROW_GUTTER : WIDE_GUTTER;
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
    this.canvas.dataset.shown = `${this.view.from} ${this.view.to}`;
  }

  drawRuler() {
    const { context, view } = this;
    const span = view.to - view.from;
    const rough = span / Math.max(2, (this.width - this.gutter) / 120);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough);
    context.fillStyle = this.faint;
    for (const [from, to] of this.packed.steady) {
      const left = Math.max(this.gutter, this.x(from)), right = Math.min(this.width, this.x(to));
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
    if (lane.label) context.fillText(lane.label, 4, lane.y + lane.height / 2, this.gutter - 10);
    context.save();
    context.beginPath();
    context.rect(this.gutter, lane.y, this.width - this.gutter, lane.height);
    context.clip();
    let drawn = -1; // the last pixel column that is filled
    for (let event = this.after(lane, view.from); event < lane.end && this.start[event] <= view.to; event++) {
      const left = Math.max(this.gutter - 1, this.x(this.start[event]));
      const right = Math.min(this.width + 1, this.x(this.stop(event)));
      const dimmed = !this.isWanted(event);
      const kept = event === this.selected || (this.wanted !== null && !dimmed);
      if (right - left < 1 && Math.floor(right) <= drawn && !kept) continue;
      drawn = Math.floor(right);
      const colour = this.colour(lane, event);
      context.globalAlpha = dimmed ? 0.15 : 1;
      context.fillStyle = colour;
      context.fillRect(left, lane.y, Math.max(1, right - left - (right - left > 3 ? 0.5 : 0)), lane.height);
      if (event === this.selected || event === this.hovered) {
        context.strokeStyle = this.ink;
        context.lineWidth = event === this.selected ? 2 : 1;
        context.strokeRect(left + 1, lane.y + 1, Math.max(1, right - left - 2), lane.height - 2);
      }
      if (right - left > LEAST_TEXT && lane.height >= 14) this.write(this.short(event), left + 3, right - 3, lane, colour);
    }
    context.restore();
  }

  write(text, left, right, lane, colour) {
    const room = right - left;
    const whole = this.context.measureText(text).width;
    const kept = whole <= room ? text : `${text.slice(0, Math.max(1, Math.floor((room / whole) * text.length) - 1))}…`;
    this.context.fillStyle = wantsDark(colour) ? DARK_TEXT : LIGHT_TEXT;
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
      context.moveTo(Math.max(this.gutter, this.x(this.stop(above))), from.y + from.height);
      context.lineTo(Math.max(this.gutter, this.x(this.start[below])), to.y);
      context.stroke();
    }
  }
}
