const KEYS_TOLD = "Timeline. Left and right move, plus and minus zoom, 0 shows all. Enter selects, then up and down"
  + " go from lane to lane, comma and full stop to the neighbours, n and p to others of the name. Escape forgets.";

/** A drawing that the pointer and the keys move, zoom and select in; `describe` gets each selected event, or -1. */
class Timeline extends Drawing {
  constructor(view, packed, names, describe) {
    super(view, packed, names);
    this.describe = describe;
    this.canvas.setAttribute("aria-label", KEYS_TOLD);
  }

  async load() {
    await super.load();
    this.view.bound(this.first, this.last);
    this.view.listeners.push(() => this.draw());
    this.listenToPointer();
    this.listenToKeys();
  }

  select(event, { move = false } = {}) {
    this.selected = event;
    if (event >= 0 && move) {
      const middle = this.start[event] + this.duration[event] / 2;
      this.view.around(middle, middle, Math.max(this.duration[event] * 6, 1000));
    }
    this.describe(event);
    this.view.draw();
  }

  /** Return the next operation of some names: after the selected one, or after the left edge; -1 without one. */
  following(names, step = 1) {
    const named = this.named(names);
    const place = named.indexOf(this.selected);
    const from = place < 0 ? named.findIndex((event) => this.start[event] >= this.view.from) - 1 : place;
    return named[(from + step + named.length) % named.length] ?? -1;
  }

  /** Select the next operation of a name, and bring it to the middle. */
  next(name, step = 1) {
    const event = this.following([name], step);
    if (event >= 0) this.select(event, { move: true });
  }

  hit(pointer) {
    const box = this.canvas.getBoundingClientRect();
    const x = pointer.clientX - box.left, y = pointer.clientY - box.top;
    const lane = this.lanes.find((each) => y >= each.y && y < each.y + each.height);
    if (!lane || x < this.gutter) return -1;
    const slack = (this.view.to - this.view.from) / (this.width - this.gutter) * 2;
    const event = this.after(lane, this.at(x) - slack);
    return event < lane.end && this.start[event] <= this.at(x) + slack ? event : -1;
  }

  listenToPointer() {
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
        const shift = (moved / (this.width - this.gutter)) * (drag.to - drag.from);
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
  }

  listenToKeys() {
    const { canvas, view } = this;
    const keys = {
      ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
      w: () => view.zoom(0.6), s: () => view.zoom(1 / 0.6), a: () => view.pan(-0.2), d: () => view.pan(0.2),
      0: () => view.set(view.first, view.last), Enter: () => this.enter(),
    };
    const ofSelected = {
      Escape: () => this.select(-1), ArrowUp: () => this.toLane(-1), ArrowDown: () => this.toLane(1),
      ",": () => this.toNeighbour(-1), ".": () => this.toNeighbour(1),
      n: () => this.next(this.text(this.selected)), p: () => this.next(this.text(this.selected), -1),
    };
    canvas.addEventListener("keydown", (key) => {
      const done = keys[key.key] ?? (this.selected >= 0 ? ofSelected[key.key] : undefined);
      if (!done || key.ctrlKey || key.metaKey || key.altKey) return;
      key.preventDefault();
      done();
    });
  }

  /** Select the operation in the middle of the window; zoom to what is selected already. */
  enter() {
    if (this.selected >= 0) return this.select(this.selected, { move: true });
    const lane = this.lanes.find(({ what }) => what === "stream") ?? this.lanes[0];
    this.show(this.nearest(lane, (this.view.from + this.view.to) / 2));
  }

  /** Select the event of a lane above (-1) or below (1) that is nearest to the selected one. */
  toLane(step) {
    const lane = this.lanes[this.lanes.indexOf(this.laneOf(this.selected)) + step];
    if (lane) this.show(this.nearest(lane, this.start[this.selected] + this.duration[this.selected] / 2));
  }

  /** Select the event before (-1) or after (1) the selected one in its lane. */
  toNeighbour(step) {
    const lane = this.laneOf(this.selected), event = this.selected + step;
    if (event >= lane.first && event < lane.end) this.show(event);
  }

  /** Select an event, and move the window to it if it is outside. */
  show(event) {
    const { from, to } = this.view;
    if (this.stop(event) < from || this.start[event] > to) {
      const middle = this.start[event] + this.duration[event] / 2;
      this.view.around(middle, middle, (to - from) / 2);
    }
    this.select(event);
  }
}
