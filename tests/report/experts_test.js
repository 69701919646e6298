// The parts of the graph of experts that the page's script makes of a moment.
"use strict";
const assert = require("node:assert");
const { headOfTie, partsOfExperts, wordsOfExperts } = require(process.argv[2]);

const expert = (number, more) => ({
  number, x: 10, y: 20, radius: 30, rows: 1200, specialisation: 0.25, label: "", label_x: 0, label_y: 0, side: 1, ...more,
});
const moment = {
  epoch: 3, step: 1500, hesitation: 0.456,
  experts: [expert(0), expert(7, { radius: 4, label: "<b>cat</b>", side: -1 })],
  ties: [{ tie: "similar", weight: 0.9, x1: 1, y1: 2, x2: 3, y2: 4 }, { tie: "follows", weight: 5, x1: 1, y1: 2, x2: 3, y2: 4 }],
};
const parts = partsOfExperts(moment);
assert.deepStrictEqual(parts.map(([name]) => name), ["g", "g", "g", "g"]);
assert.deepStrictEqual(parts.map(([, attributes]) => attributes.class),
                       ["tie-similar", "tie-follows", "expert", "expert"], "ties lie below the experts");
const namesIn = ([, , within]) => within.map(([name]) => name);
assert.deepStrictEqual(namesIn(parts[0]), ["line", "title"], "who is similar has no direction");
assert.deepStrictEqual(namesIn(parts[1]), ["line", "polygon", "title"]);
assert.ok(parts[1][2][0][1]["stroke-width"] < 3.5, "a weight beyond 1 is drawn as 1");
assert.strictEqual(headOfTie({ x1: 0, y1: 5, x2: 50, y2: 5 }), "50.0,5.0 40.0,9.0 40.0,1.0");
assert.ok(!headOfTie({ x1: 1, y1: 1, x2: 1, y2: 1 }).includes("NaN"));

const texts = (part) => part[2].filter(([name]) => name === "text").map(([, attributes, text]) => [attributes.class, text]);
assert.deepStrictEqual(texts(parts[2]), [["number", "0"]]);
assert.deepStrictEqual(texts(parts[3]), [["label", "<b>cat</b>"]], "a small one has no room for its number");
assert.strictEqual(parts[3][2].find(([, attributes]) => attributes.class === "label")[1]["text-anchor"], "end");

assert.strictEqual(wordsOfExperts(moment), "epoch 3, step 1,500: 2 experts, hesitation 0.46");
assert.strictEqual(wordsOfExperts({ ...moment, hesitation: null, experts: [expert(0)] }), "epoch 3, step 1,500: 1 expert");
