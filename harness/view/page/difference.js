const SELECT = "Times of a step. Choose a kernel or a copy: both timelines select it and dim the rest, until Find is used."
  + " Drag a timeline to move, scroll to zoom, click on an event for its details.";

/** Return what changed between two panels, a row a part; a click shows the part on both timelines. */
function difference(view, sides) {
  const { headline, notes, rows } = data.difference;
  const section = el("section", { class: "difference" }, el("h2", {}, "What changed from A to B"), el("p", {}, headline),
    ...notes.map((note) => el("p", {}, note)));
  if (!rows.length) return section;
  const told = el("output", {}, SELECT);
  const named = new Map(rows.map(({ a, b, ...shown }) => [shown, [a, b]]));
  const choose = (row) => {
    const chosen = sides.map(({ timeline }, place) => selected(timeline, named.get(row)[place]));
    const shown = chosen.filter(({ event }) => event >= 0);
    if (shown.length) {
      const from = Math.min(...shown.map(({ timeline, event }) => timeline.start[event]));
      const to = Math.max(...shown.map(({ timeline, event }) => timeline.stop(event)));
      view.around(from, to, Math.max(to - from, 1000) / 2);
    }
    told.textContent = chosen.map(({ count, total }, place) => `${"AB"[place]}: ${digits(count)} operations, ${time(total)}`).join(" · ");
    view.draw();
  };
  const choosable = (row) => named.get(row).some((names) => names.length);
  section.append(table("What changed", [...named.keys()], { short: {}, choose, choosable }), told);
  return section;
}

/** Select the first operation of some names in the steady state; dim the others; return how many have the names. */
function selected(timeline, names) {
  if (!timeline) return { count: 0, total: 0, event: -1 };
  const wanted = new Set(names);
  const found = timeline.keep((text) => wanted.has(text));
  const from = timeline.packed.steady[0]?.[0] ?? timeline.first;
  const events = timeline.named(names);
  const event = events.find((each) => timeline.start[each] >= from) ?? events[0] ?? -1;
  timeline.select(event);
  return { ...found, timeline, event };
}
