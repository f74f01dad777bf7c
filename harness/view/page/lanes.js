const HEIGHTS = { range: 16, call: 15, idle: 13, stream: 22 };
const RULER = 26, GAP = 2;

/** Return the numbers of a deflated base64 column as a typed array. */
async function column(text, Type) {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Type(await new Response(stream).arrayBuffer());
}

/** One subject's events, lane by lane. `wanted` holds which names are not dimmed, null if none is. */
class Lanes {
  constructor(packed, names) {
    Object.assign(this, { packed, names, wanted: null });
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
  }

  async load() {
    const types = { start: Float64Array, duration: Float64Array };
    for (const [name, text] of Object.entries(this.packed.columns)) {
      this[name] = await column(text, types[name] ?? Int32Array);
    }
    this.first = Math.min(...this.lanes.map((lane) => this.start[lane.first]));
    this.last = Math.max(...this.lanes.map((lane) => this.stop(lane.end - 1)));
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
  laneOf(event) {
    return this.lanes.find((lane) => event < lane.end);
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

  /** Return a lane's event at a time, else the one next to it. */
  nearest(lane, ns) {
    const event = Math.min(this.after(lane, ns), lane.end - 1);
    if (event === lane.first) return event;
    return ns - this.stop(event - 1) < this.start[event] - ns ? event - 1 : event;
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

  /** Return the GPU's operations of some names, by start. */
  named(names) {
    const indexes = new Set(names.map((name) => this.packed.texts.indexOf(name)));
    const found = [];
    for (const lane of this.lanes) {
      if (lane.what !== "stream") continue;
      for (let event = lane.first; event < lane.end; event++) if (indexes.has(this.name[event])) found.push(event);
    }
    return found.sort((one, other) => this.start[one] - this.start[other]);
  }

  /** Dim all events but those whose names pass a test; without one, none. Return how many those are and their time. */
  keep(test) {
    this.wanted = test ? this.packed.texts.map(test) : null;
    let count = 0, total = 0;
    for (const lane of this.wanted ? this.lanes : []) {
      if (lane.what === "idle") continue;
      for (let event = lane.first; event < lane.end; event++) {
        if (!this.isWanted(event)) continue;
        count += 1;
        total += this.duration[event];
      }
    }
    return { count, total };
  }

  isWanted(event) {
    return this.wanted === null || this.wanted[this.name[event]];
  }
}
