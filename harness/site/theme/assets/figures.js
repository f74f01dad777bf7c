// Figures that a reader can zoom into: drawn by Vega, which is loaded when the first one is asked for.
"use strict";

const assets = new URL(".", document.currentScript.src).href;
let specification = null;

/** Take the specification that a figure's script holds. */
function figure(given) {
  specification = given;
}

/** Load a script once. */
const loaded = new Map();
function load(url) {
  if (!loaded.has(url)) {
    loaded.set(url, new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = url;
      script.addEventListener("load", () => done(specification));
      script.addEventListener("error", () => failed(new Error(`cannot load ${url}`)));
      document.head.append(script);
    }));
  }
  return loaded.get(url);
}

/**
 * Draw a figure into a box; its expressions are interpreted, as the page allows no code made of text,
 * and its styles are those of site.css, as it allows no style sheet that a script adds.
 */
async function draw(box, url) {
  await load(`${assets}vega.js`);
  const given = await load(url);
  const styles = { defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  await window.vegaEmbed(box, structuredClone(given), { ast: true, actions: false, renderer: "svg", ...styles });
}

/** Put a button beside a figure that draws it anew, or shows the picture again. */
function offer(mark) {
  const picture = mark.closest("p").querySelector("img");
  const button = document.createElement("button");
  button.type = "button";
  let box = null;
  const name = () => {
    button.textContent = box && !box.hidden ? "Show the picture" : "Make it interactive";
    button.title = box && !box.hidden ? "" : "Point at marks for their values, scroll to zoom, drag to move";
  };
  button.addEventListener("click", async () => {
    if (!box) {
      box = document.createElement("span");
      box.className = "drawn";
      picture.before(box);
      button.disabled = true;
      await draw(box, new URL(mark.dataset.figure, location.href).href);
      button.disabled = false;
      box.hidden = true;
    }
    box.hidden = !box.hidden;
    picture.hidden = !box.hidden;
    name();
  });
  name();
  mark.append(button);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const mark of document.querySelectorAll(".interactive")) offer(mark);
});
