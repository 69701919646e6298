// What the page's script makes of a cube.
"use strict";
const assert = require("node:assert");
const { unpackedCube, spectrumAt, stretchOfBand, pixelsOfBand, pixelsOfColours, pixelsOfScores, heatOf, wordsOfBand,
        curveOf } = require(process.argv[2]);

// 2 pixels high, 3 wide, 2 channels; the last pixel has no value in the second.
const bytes = [1, 255, 128, 1, 255, 128, 1, 1, 64, 64, 255, 0];
const view = {
  side: 1, height: 2, width: 3, channels: [0, 4], wavelengths: [450, 650], least: [0, -1], most: [254, 1],
  values: Buffer.from(bytes).toString("base64"), mask: Buffer.from([1, 1, 1, 1, 1, 0]).toString("base64"),
};
const cube = unpackedCube(view);
assert.deepStrictEqual(spectrumAt(cube, 0, 0), [0, 1]);
assert.deepStrictEqual(spectrumAt(cube, 2, 1), [254, null]);
assert.strictEqual(spectrumAt(cube, 1, 0)[0], 127);
assert.deepStrictEqual(stretchOfBand(cube, 0), [1, 255]);
assert.deepStrictEqual(stretchOfBand(cube, 1), [1, 255], "what has no value has no part in it");

const colours = pixelsOfBand(cube, 1, false);
assert.strictEqual(colours.length, 24);
assert.deepStrictEqual([...colours.slice(0, 4)], [255, 255, 255, 255]);
assert.strictEqual(colours[23], 0, "no value is seen through");
assert.deepStrictEqual([...pixelsOfBand(cube, 1, true).slice(0, 3)], [234, 88, 12], "the edge of what is marked");
assert.deepStrictEqual([...pixelsOfBand(cube, 1, true).slice(20, 23)], [...colours.slice(20, 23)], "not marked");
assert.doesNotThrow(() => pixelsOfBand(unpackedCube({ ...view, mask: "" }), 0, true));

assert.strictEqual(wordsOfBand(cube, 1), "4, 650 nm");
assert.strictEqual(wordsOfBand({ ...cube, wavelengths: [] }, 1), "4");

const curve = curveOf(cube, [0, 1]);
assert.deepStrictEqual([curve.left, curve.right, curve.least, curve.most], [450, 650, -1, 254]);
assert.deepStrictEqual(curve.pieces.map((piece) => piece.length), [2]);
assert.ok(curve.pieces[0][0].startsWith("70.0,") && curve.pieces[0][1].startsWith("585.0,"));
assert.deepStrictEqual(curveOf(cube, [3, null]).pieces.map((piece) => piece.length), [1]);
assert.strictEqual(curveOf(cube, [null, null]), null);
assert.ok(!curveOf({ ...cube, wavelengths: [500, 500], least: [1, 1], most: [1, 1] }, [1, 1]).pieces[0][0].includes("NaN"));

// Three pixels in a line: the first is marked and found, the second found alone.
const base64 = (numbers) => Buffer.from(numbers).toString("base64");
const image = { height: 1, width: 3, colours: base64([1, 2, 3, 4, 5, 6, 7, 8, 9]), scores: base64([1, 255, 0]),
                actual: base64([1, 0, 0]), found: base64([1, 1, 0]) };
assert.deepStrictEqual([...pixelsOfColours(image)], [250, 204, 21, 255, 34, 211, 238, 255, 7, 8, 9, 255]);
assert.deepStrictEqual([...pixelsOfColours({ ...image, actual: "", found: "" }).slice(0, 4)], [1, 2, 3, 255]);
assert.deepStrictEqual([...pixelsOfScores(image)], [255, 255, 255, 255, 253, 231, 37, 255, 0, 0, 0, 0]);
assert.deepStrictEqual(heatOf(1), [68, 1, 84]);
assert.deepStrictEqual(heatOf(128), [33, 145, 140]);
