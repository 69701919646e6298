import { describe, expect, it } from 'vitest';
import { bandsOf, pixelsOf, spectraOf, type CubesLook, type CubeSight } from './cube_picture';

// 3 × 4 pixels, all marked but the last column: the one in the middle has marked ones on all sides.
const sight: CubeSight = {
  cube: 'a', side: 1, height: 3, width: 4, channels: [2, 1, 0],
  red: Array(12).fill(10), green: Array(12).fill(20), blue: Array(12).fill(30),
  mask: [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0],
  spectra: [{ class: 1, pixels: 9, mean: [1, null, 3] }, { class: 0, pixels: 3, mean: [4, 5, 6] }],
};
const look: CubesLook = {
  count: 1, height: 3, width: 4, channels: 3, wavelengths: [450, 550, 650], lowest: 0, highest: 6, nan_pixels: 0, infinite_pixels: 0,
  with_masks: 1, classes: [{ class: 1, name: 'stone', pixels: 9 }], sight,
};
const pixel = (at: number) => [...pixelsOf(sight).slice(4 * at, 4 * at + 4)];

describe('the picture of a cube', () => {
  it('has three channels as red, green and blue', () => {
    expect(pixel(3)).toEqual([10, 20, 30, 255]);
    expect(bandsOf(look)).toEqual(['650 nm', '550 nm', '450 nm']);
    expect(bandsOf({ ...look, wavelengths: [] })).toEqual(['2', '1', '0']);
  });
  it('has an outline around what is marked', () => {
    expect(pixel(5)).toEqual([10, 20, 30, 255]);
    expect(pixel(0)).toEqual([250, 204, 21, 255]);
    expect(pixel(6)).toEqual([250, 204, 21, 255]);
  });
});

describe('spectra', () => {
  it('are named by their class and lie over the wavelengths', () => {
    const series = spectraOf(look, (number, name, pixels) => `${number} ${name} ${pixels}`);
    expect(series.map(({ label }) => label)).toEqual(['1 stone 9', '0  3']);
    expect(series[0]).toMatchObject({ x: [450, 550, 650], y: [1, null, 3] });
  });
  it('lie over the channels where nobody knows the wavelengths, and are none without a sight', () => {
    expect(spectraOf({ ...look, wavelengths: [] }, () => '')[1]!.x).toEqual([0, 1, 2]);
    expect(spectraOf({ ...look, sight: null }, () => '')).toEqual([]);
  });
});
