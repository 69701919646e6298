// Which labels of an axis are drawn and how, so that none lies over another. Sizes are in pixels.
"use strict";

// Names that stand side by side along an axis: level where all have room, else turned by 45 degrees and, of
// very many, every second, third, …
function layoutOfNames(widths, room, lineHeight) {
  const place = room / Math.max(1, widths.length);
  const widest = widths.reduce((most, width) => Math.max(most, width), 0);
  if (widest + lineHeight / 2 <= place) return { turned: false, step: 1, depth: lineHeight };
  const step = Math.max(1, Math.ceil((lineHeight * Math.SQRT2) / place));
  return { turned: true, step, depth: (widest + lineHeight) / Math.SQRT2 };
}

// A name as it is drawn below an axis: names that begin alike differ at their ends.
function shortened(name, longest = 24) {
  const letters = [...String(name)];
  if (letters.length <= longest) return letters.join("");
  const atEnd = longest / 2 - 1;
  return `${letters.slice(0, longest - 1 - atEnd).join("")}…${letters.slice(-atEnd).join("")}`;
}

if (typeof module !== "undefined") module.exports = { layoutOfNames, shortened };
