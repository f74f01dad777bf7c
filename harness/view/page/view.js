/** The stretch of time that all timelines show, in ns from their origins. */
class View {
  constructor() {
    this.listeners = [];
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
  /** Show a stretch with room around it. */
  around(from, to, room) {
    this.set(from - room, to + room);
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
