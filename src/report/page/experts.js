// The graph of the experts, with a slider over the epochs. Where everything stands was decided when the page was
// written; text from outside only ever becomes text.
"use strict";

// Where a tie leads to: a triangle at its end.
function headOfTie({ x1, y1, x2, y2 }) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [alongX, alongY] = [(x2 - x1) / length, (y2 - y1) / length];
  const corner = (back, aside) =>
    `${(x2 - alongX * back - alongY * aside).toFixed(1)},${(y2 - alongY * back + alongX * aside).toFixed(1)}`;
  return [corner(0, 0), corner(10, 4), corner(10, -4)].join(" ");
}

// A moment as parts of an SVG: name, attributes, and parts or a text in it.
function partsOfExperts(moment) {
  const ties = moment.ties.map((tie) => ["g", { class: `tie-${tie.tie}` }, [
    ["line", { x1: tie.x1, y1: tie.y1, x2: tie.x2, y2: tie.y2,
               "stroke-width": 0.8 + 2.6 * Math.min(1, Math.max(0, tie.weight)) }, ""],
    ...(tie.tie === "similar" ? [] : [["polygon", { points: headOfTie(tie) }, ""]]),
    ["title", {}, `${tie.tie}: ${tie.weight}`],
  ]]);
  const experts = moment.experts.map((expert) => ["g", { class: "expert" }, [
    // What lies below must not shine through.
    ["circle", { class: "ground", cx: expert.x, cy: expert.y, r: expert.radius }, ""],
    ["circle", { class: "shade", cx: expert.x, cy: expert.y, r: expert.radius,
                 "fill-opacity": 0.06 + 0.94 * expert.specialisation }, ""],
    ...(expert.radius < 9 ? [] : [["text", {
      class: expert.specialisation > 0.5 ? "number light" : "number", x: expert.x, y: expert.y,
      "font-size": Math.min(18, expert.radius), "text-anchor": "middle", "dominant-baseline": "central",
    }, String(expert.number)]]),
    ...(expert.label === "" ? [] : [["text", {
      class: "label", x: expert.label_x, y: expert.label_y, "dominant-baseline": "central",
      "text-anchor": expert.side < 0 ? "end" : expert.side > 0 ? "start" : "middle",
    }, expert.label]]),
    ["title", {}, `expert ${expert.number}: ${expert.rows.toLocaleString("en-US")} rows since the sleep before, ` +
                  `specialisation ${expert.specialisation}`],
  ]]);
  return [...ties, ...experts];
}

function wordsOfExperts(moment) {
  const count = moment.experts.length;
  const hesitation = moment.hesitation === null ? "" : `, hesitation ${moment.hesitation.toFixed(2)}`;
  return `epoch ${moment.epoch}, step ${moment.step.toLocaleString("en-US")}: ` +
         `${count} ${count === 1 ? "expert" : "experts"}${hesitation}`;
}

if (typeof module !== "undefined") module.exports = { headOfTie, partsOfExperts, wordsOfExperts };

if (typeof document !== "undefined") {
  (() => {
    const figures = document.querySelectorAll("figure[data-experts]");
    if (figures.length === 0) return;
    const data = JSON.parse(document.getElementById("data").textContent);
    const built = ([name, attributes, within]) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (typeof within === "string") element.textContent = within;
      else element.append(...within.map(built));
      return element;
    };
    figures.forEach((figure) => {
      const moments = data.experts[Number(figure.dataset.experts)];
      const slider = figure.querySelector("input[type=range]");
      const show = () => {
        const moment = moments[Number(slider.value)];
        figure.querySelector("g.moment").replaceChildren(...partsOfExperts(moment).map(built));
        figure.querySelector("output").textContent = wordsOfExperts(moment);
        slider.setAttribute("aria-valuetext", wordsOfExperts(moment));
      };
      slider.addEventListener("input", show);
      show();
    });
  })();
}
