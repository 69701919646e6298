import type { PlotSeries } from './plot_data';
import { figure } from './format';

// What a preview tells of rows that are hyperspectral cubes (CubesLook of the service). Earlier services tell no sight.

export interface CubeSight {
  cube: string;
  side: number; // a pixel of the picture stands for so many squared of the cube
  height: number;
  width: number;
  channels: number[]; // that are red, green and blue
  red: number[];
  green: number[];
  blue: number[];
  mask: number[]; // empty without masks
  spectra: { class: number; pixels: number; mean: (number | null)[] }[];
}

export interface CubesLook {
  count: number;
  height: number;
  width: number;
  channels: number;
  wavelengths: number[];
  lowest: number;
  highest: number;
  nan_pixels: number;
  infinite_pixels: number;
  with_masks: number;
  classes: { class: number; name: string; pixels: number }[];
  sight?: CubeSight | null;
}

// Bytes of an image: three of the channels, and an outline around what is marked, inside of it.
const outline = [250, 204, 21];
export function pixelsOf(sight: CubeSight): Uint8ClampedArray<ArrayBuffer> {
  const { width, height, mask } = sight;
  const pixels = new Uint8ClampedArray(4 * width * height);
  const isMarked = (y: number, x: number) => y >= 0 && x >= 0 && y < height && x < width && (mask[y * width + x] ?? 0) > 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = y * width + x;
      const isEdge = isMarked(y, x) && !(isMarked(y - 1, x) && isMarked(y + 1, x) && isMarked(y, x - 1) && isMarked(y, x + 1));
      const colour = isEdge ? outline : [sight.red[at] ?? 0, sight.green[at] ?? 0, sight.blue[at] ?? 0];
      pixels.set([...colour, 255] as number[], 4 * at);
    }
  return pixels;
}

// "650, 550 and 450 nm", or the numbers of the channels where nobody knows their wavelengths.
export function bandsOf(look: CubesLook): string[] {
  return (look.sight?.channels ?? []).map((channel) => (look.wavelengths[channel] === undefined ? String(channel) : `${figure(look.wavelengths[channel])} nm`));
}

const colours = ['run', 'ember', 'ok', 'table', 'spec', 'muted'] as const;

// The mean spectrum of each class over the wavelengths, or over the channels by their numbers.
export function spectraOf(look: CubesLook, nameOf: (pixelClass: number, name: string, pixels: number) => string): PlotSeries[] {
  const x = look.wavelengths.length > 0 ? look.wavelengths : Array.from({ length: look.channels }, (_, channel) => channel);
  return (look.sight?.spectra ?? []).map((each, place) => ({
    label: nameOf(each.class, look.classes.find((one) => one.class === each.class)?.name ?? '', each.pixels),
    colour: colours[place % colours.length]!,
    kind: 'line',
    x,
    y: each.mean,
  }));
}
