// What the page's script makes of a cube.
"use strict";
const assert = require("node:assert");
const { unpackedCube, spectrumAt, stretchOfBand, edgesOf, sizeOfPixel, pixelsOfBand, pixelsOfColours, pixelsOfScores,
        heatOf, wordsOfBand, curveOf } = require(process.argv[2]);

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

const colours = pixelsOfBand(cube, 1);
assert.strictEqual(colours.length, 24);
assert.deepStrictEqual([...colours.slice(0, 4)], [255, 255, 255, 255]);
assert.strictEqual(colours[23], 0, "no value is seen through");
assert.doesNotThrow(() => pixelsOfBand(unpackedCube({ ...view, mask: "" }), 0));

// All but the last pixel are marked: lines lie between pixels, and go on as long as they are straight.
assert.deepStrictEqual(edgesOf(cube.marks, 3, 2),
                       [[0, 0, 3, 0], [2, 1, 3, 1], [0, 2, 2, 2], [0, 0, 0, 2], [2, 1, 2, 2], [3, 0, 3, 1]]);
assert.deepStrictEqual(edgesOf([0, 0, 0, 0], 2, 2), []);
// Two that touch at a corner, and one apart from another in its line.
assert.strictEqual(edgesOf([1, 0, 0, 1], 2, 2).length, 6);
assert.deepStrictEqual(edgesOf([1, 0, 1], 3, 1).slice(0, 2), [[0, 0, 1, 0], [2, 0, 3, 0]]);

// Pixels are larger than their edges, and square unless the cube would be a sliver.
assert.deepStrictEqual(sizeOfPixel(128, 128, 1), { across: 7, down: 7 });
assert.deepStrictEqual(sizeOfPixel(200, 1, 25), { across: 5, down: 125 });
assert.deepStrictEqual(sizeOfPixel(1, 200, 1 / 25), { across: 125, down: 5 });
const long = sizeOfPixel(100000, 1, 12500);
assert.deepStrictEqual([100000 * long.across, long.down].map(Math.round), [4096, 512], "no canvas is wider");

assert.strictEqual(wordsOfBand(cube, 1), "5, 650 nm");
assert.strictEqual(wordsOfBand({ ...cube, wavelengths: [] }, 1), "5");

const curve = curveOf(cube, [0, 1]);
assert.deepStrictEqual([curve.left, curve.right, curve.least, curve.most], [450, 650, -1, 254]);
assert.deepStrictEqual(curve.pieces.map((piece) => piece.length), [2]);
assert.ok(curve.pieces[0][0].startsWith("70.0,") && curve.pieces[0][1].startsWith("585.0,"));
assert.deepStrictEqual(curveOf(cube, [3, null]).pieces.map((piece) => piece.length), [1]);
assert.strictEqual(curveOf(cube, [null, null]), null);
assert.ok(!curveOf({ ...cube, wavelengths: [500, 500], least: [1, 1], most: [1, 1] }, [1, 1]).pieces[0][0].includes("NaN"));

// Three pixels in a line, of which the last has no score.
const base64 = (numbers) => Buffer.from(numbers).toString("base64");
const image = { height: 1, width: 3, colours: base64([1, 2, 3, 4, 5, 6, 7, 8, 9]), scores: base64([1, 255, 0]) };
assert.deepStrictEqual([...pixelsOfColours(image)], [1, 2, 3, 255, 4, 5, 6, 255, 7, 8, 9, 255]);
assert.deepStrictEqual([...pixelsOfScores(image)], [68, 1, 84, 255, 253, 231, 37, 255, 0, 0, 0, 0]);
assert.deepStrictEqual(heatOf(1), [68, 1, 84]);
assert.deepStrictEqual(heatOf(128), [33, 145, 140]);
