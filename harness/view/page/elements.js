// Elements, numbers and times of the page. No name of a capture is ever markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

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
  return `${ns < 0 ? "−" : ""}${digits(size / scale)} ${unit}`;
}

/** Return bytes in the unit that suits them. */
function bytes(count) {
  const [unit, scale] = count >= 1e9 ? ["GB", 1e9] : count >= 1e6 ? ["MB", 1e6] : count >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${digits(count / scale)} ${unit}`;
}

/** Return a value of a table's column as text, by the ending of the column's name. */
function written(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (name === "change_ns") return `${value > 0 ? "+" : ""}${time(value)}`;
  if (name.endsWith("_ns")) return time(value);
  if (name.endsWith("bytes")) return bytes(value);
  if (name.endsWith("_pct")) return `${digits(value)} %`;
  if (name === "share") return `${digits(value * 100)} %`;
  return digits(value);
}

/** Return a column's name as a reader sees it. */
function heading(name) {
  return name.replace(/_(ns|pct)$/, "").replaceAll("_", " ").replace(/^(dram|sm)\b/, (unit) => unit.toUpperCase());
}
