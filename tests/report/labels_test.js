// Names below an axis as boxes: none may lie over another, whatever their number and length.
"use strict";
const assert = require("node:assert");
const { layoutOfNames, shortened } = require(process.argv[2]);

const line = 15;
for (const room of [170, 600, 1100]) {
  for (const count of [1, 2, 5, 12, 40, 300, 5000]) {
    for (const letters of [1, 8, 24]) {
      const widths = Array.from({ length: count }, (_, i) => 7 * Math.max(1, letters - (i % 3)));
      const { turned, step, depth } = layoutOfNames(widths, room, line);
      const apart = (room / count) * step;
      // Turned lines are as far apart as their places times the sine of 45 degrees.
      const needed = turned ? line : Math.max(...widths);
      const found = turned ? apart * Math.SQRT1_2 : apart;
      if (count > step) assert.ok(found >= needed - 1e-9, `${count} names of ${letters} letters in ${room}`);
      if (turned) assert.ok(depth >= Math.max(...widths) * Math.SQRT1_2);
    }
  }
}
assert.deepStrictEqual(layoutOfNames([20, 20], 300, line), { turned: false, step: 1, depth: line });
assert.strictEqual(layoutOfNames([], 300, line).step, 1);
assert.strictEqual(shortened("a short one"), "a short one");
assert.strictEqual([...shortened("é".repeat(100))].length, 24);
assert.strictEqual(shortened("a name of very many letters: 17"), "a name of ve…letters: 17");
