// Cubes band by band, with the spectrum of the pixel under the pointer.
"use strict";

function bytesOf(base64) {
  const text = atob(base64);
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

// The view with its values as bytes.
function unpackedCube(view) {
  return { ...view, bytes: bytesOf(view.values), marks: view.mask === "" ? null : bytesOf(view.mask) };
}

// Numbers of a pixel, null where there is none.
function spectrumAt(cube, x, y) {
  const count = cube.channels.length;
  const first = (y * cube.width + x) * count;
  return cube.channels.map((_, i) => {
    const byte = cube.bytes[first + i];
    return byte === 0 ? null : cube.least[i] + ((byte - 1) / 254) * (cube.most[i] - cube.least[i]);
  });
}

// The bytes below and above which 2 % of a band's values lie.
function stretchOfBand(cube, band) {
  const counts = new Array(256).fill(0);
  let all = 0;
  for (let i = band; i < cube.bytes.length; i += cube.channels.length)
    if (cube.bytes[i] > 0) {
      ++counts[cube.bytes[i]];
      ++all;
    }
  const edge = (order) => {
    let seen = 0;
    for (const byte of order) {
      seen += counts[byte];
      if (seen > 0.02 * all) return byte;
    }
    return 1;
  };
  const bytes = Array.from({ length: 255 }, (_, i) => i + 1);
  return [edge(bytes), edge(bytes.slice().reverse())];
}

// The lines between what is marked and what is not, as [x1, y1, x2, y2] in pixels, each as long as it goes straight on.
function edgesOf(marks, width, height) {
  const isMarked = (x, y) => x >= 0 && y >= 0 && x < width && y < height && marks[y * width + x] !== 0;
  const edges = [];
  const follow = (length, isEdge, lineFrom) => {
    for (let i = 0, begin = -1; i <= length; ++i) {
      const here = i < length && isEdge(i);
      if (here && begin < 0) begin = i;
      if (here || begin < 0) continue;
      edges.push(lineFrom(begin, i));
      begin = -1;
    }
  };
  for (let y = 0; y <= height; ++y)
    follow(width, (x) => isMarked(x, y - 1) !== isMarked(x, y), (from, to) => [from, y, to, y]);
  for (let x = 0; x <= width; ++x)
    follow(height, (y) => isMarked(x - 1, y) !== isMarked(x, y), (from, to) => [x, from, x, to]);
  return edges;
}

// How many points of a canvas a pixel has, across and down: enough for edges that are thin beside it. `stretch` says
// how much higher than wide it is. The longer side has about 1,000 points, and never more than browsers can hold.
function sizeOfPixel(width, height, stretch) {
  const longest = Math.max(width, height);
  const points = longest <= 1000 ? Math.floor(1000 / longest) : Math.min(1, 4096 / longest);
  return { across: points * Math.max(1, 1 / stretch), down: points * Math.max(1, stretch) };
}

// Red, green, blue and opacity of each pixel in false colours.
function pixelsOfColours(image) {
  const bytes = bytesOf(image.colours);
  const pixels = new Uint8ClampedArray(image.width * image.height * 4);
  for (let i = 0; i < image.width * image.height; ++i)
    pixels.set([bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2], 255], 4 * i);
  return pixels;
}

// Viridis, which keeps its order in grey and for eyes that tell fewer colours apart.
const heat = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

// A score from 1 to 255 as a colour.
function heatOf(byte) {
  const at = ((byte - 1) / 254) * (heat.length - 1);
  const below = Math.min(heat.length - 2, Math.floor(at));
  return heat[below].map((from, i) => Math.round(from + (at - below) * (heat[below + 1][i] - from)));
}

function pixelsOfScores(image) {
  const bytes = bytesOf(image.scores);
  const pixels = new Uint8ClampedArray(bytes.length * 4);
  bytes.forEach((byte, i) => { if (byte > 0) pixels.set([...heatOf(byte), 255], 4 * i); });
  return pixels;
}

// Red, green, blue and opacity of each pixel.
function pixelsOfBand(cube, band) {
  const [low, high] = stretchOfBand(cube, band);
  const count = cube.channels.length;
  const colours = new Uint8ClampedArray(cube.width * cube.height * 4);
  for (let pixel = 0; pixel < cube.width * cube.height; ++pixel) {
    const byte = cube.bytes[pixel * count + band];
    const grey = Math.round((255 * (byte - low)) / Math.max(1, high - low));
    colours.set([grey, grey, grey, byte === 0 ? 0 : 255], pixel * 4);
  }
  return colours;
}

function wordsOfBand(cube, band) {
  const known = cube.wavelengths.length > 0 ? `, ${cube.wavelengths[band]} nm` : "";
  return `${cube.channels[band] + 1}${known}`;
}

// The curve as points of an SVG of 600 x 400, in pieces where values are missing, with the ends of its axes.
function curveOf(cube, spectrum) {
  const places = cube.wavelengths.length > 0 ? cube.wavelengths : cube.channels;
  const there = spectrum.filter((value) => value !== null);
  if (there.length === 0) return null;
  const [left, right] = [Math.min(...places), Math.max(...places)];
  const [least, most] = [Math.min(...cube.least), Math.max(...cube.most)];
  const x = (place) => 70 + (515 * (place - left)) / (right - left || 1);
  const y = (value) => 350 - (330 * (value - least)) / (most - least || 1);
  const pieces = [[]];
  spectrum.forEach((value, i) => {
    if (value === null) pieces.push([]);
    else pieces[pieces.length - 1].push(`${x(places[i]).toFixed(1)},${y(value).toFixed(1)}`);
  });
  return { left, right, least, most, x, pieces: pieces.filter((piece) => piece.length > 0) };
}

if (typeof module !== "undefined")
  module.exports = { unpackedCube, spectrumAt, stretchOfBand, edgesOf, sizeOfPixel, pixelsOfBand, pixelsOfColours,
                     pixelsOfScores, heatOf, wordsOfBand, curveOf };

if (typeof document !== "undefined") {
  (() => {
    const figures = document.querySelectorAll("figure[data-cube]");
    if (figures.length === 0) return;
    const data = JSON.parse(document.getElementById("data").textContent);
    const shortNumber = (value) => String(Number(value.toPrecision(4)));
    const part = (name, attributes, text = "") => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.textContent = text;
      return element;
    };
    figures.forEach((figure) => {
      const cube = unpackedCube(data.cubes[Number(figure.dataset.cube)]);
      const slider = figure.querySelector("input[type=range]");
      const marks = figure.querySelector("input[type=checkbox]");
      // With lines of some colour and width along the edges of marks, the first below the others.
      const paint = (kind, pixels, { width, height }, outlines) => {
        const canvas = figure.querySelector(`canvas[data-image=${kind}]`);
        const { across, down } = sizeOfPixel(width, height, Number(canvas.dataset.stretch));
        const small = document.createElement("canvas");
        [small.width, small.height] = [width, height];
        small.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
        [canvas.width, canvas.height] = [Math.round(width * across), Math.round(height * down)];
        const context = canvas.getContext("2d");
        context.imageSmoothingEnabled = false;
        context.drawImage(small, 0, 0, canvas.width, canvas.height);
        for (const { edges, colour, thickness } of outlines) {
          context.strokeStyle = colour;
          context.lineWidth = thickness;
          context.lineCap = "square";
          const inside = (place, end) => Math.min(Math.max(place, thickness / 2), end - thickness / 2);
          context.beginPath();
          for (const [x1, y1, x2, y2] of edges) {
            context.moveTo(inside(x1 * across, canvas.width), inside(y1 * down, canvas.height));
            context.lineTo(inside(x2 * across, canvas.width), inside(y2 * down, canvas.height));
          }
          context.stroke();
        }
      };
      const { image } = cube;
      const outline = (marks, colour, thickness) =>
        marks === "" ? [] : [{ edges: edgesOf(bytesOf(marks), image.width, image.height), colour, thickness }];
      // What was found shows on both sides where it is also marked.
      paint("colours", pixelsOfColours(image), image,
            [...outline(image.found, "#22d3ee", 3), ...outline(image.actual, "#facc15", 1.5)]);
      paint("scores", pixelsOfScores(image), image, outline(image.actual, "#ffffff", 1.5));
      const edges = cube.marks === null ? [] : edgesOf(cube.marks, cube.width, cube.height);
      const canvas = figure.querySelector("canvas[data-image=band]");
      const chart = figure.querySelector("svg");
      let [pointedX, pointedY] = [Math.floor(cube.width / 2), Math.floor(cube.height / 2)];
      const showSpectrum = () => {
        const curve = curveOf(cube, spectrumAt(cube, pointedX, pointedY));
        const title = `pixel ${pointedX * cube.side}, ${pointedY * cube.side}` +
          (cube.marks !== null && cube.marks[pointedY * cube.width + pointedX] !== 0 ? ", marked" : "");
        chart.replaceChildren(part("text", { x: 330, y: 14, "text-anchor": "middle" }, title));
        if (curve === null) return chart.append(part("text", { x: 330, y: 200, "text-anchor": "middle" }, "no value"));
        const band = curve.x((cube.wavelengths.length > 0 ? cube.wavelengths : cube.channels)[Number(slider.value)]);
        chart.append(
          part("line", { class: "band", x1: band, x2: band, y1: 20, y2: 350 }),
          part("line", { class: "axis", x1: 70, x2: 585, y1: 350, y2: 350 }),
          part("line", { class: "axis", x1: 70, x2: 70, y1: 20, y2: 350 }),
          ...curve.pieces.map((points) => part("polyline", { class: "spectrum", points: points.join(" ") })),
          part("text", { x: 64, y: 354, "text-anchor": "end" }, shortNumber(curve.least)),
          part("text", { x: 64, y: 26, "text-anchor": "end" }, shortNumber(curve.most)),
          part("text", { x: 70, y: 372 }, shortNumber(curve.left)),
          part("text", { x: 585, y: 372, "text-anchor": "end" }, shortNumber(curve.right)),
          part("text", { x: 330, y: 392, "text-anchor": "middle" },
               cube.wavelengths.length > 0 ? "Wavelength in nm" : "Channel"));
      };
      const show = () => {
        const band = Number(slider.value);
        const showsMarks = marks !== null && marks.checked;
        paint("band", pixelsOfBand(cube, band), cube, showsMarks ? [{ edges, colour: "#ea580c", thickness: 1.5 }] : []);
        figure.querySelector("output").textContent = wordsOfBand(cube, band);
        slider.setAttribute("aria-valuetext", wordsOfBand(cube, band));
        showSpectrum();
      };
      const pointTo = (x, y) => {
        pointedX = Math.min(cube.width - 1, Math.max(0, x));
        pointedY = Math.min(cube.height - 1, Math.max(0, y));
        showSpectrum();
      };
      canvas.addEventListener("pointermove", (event) => {
        const place = canvas.getBoundingClientRect();
        pointTo(Math.floor(((event.clientX - place.left) / place.width) * cube.width),
                Math.floor(((event.clientY - place.top) / place.height) * cube.height));
      });
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        pointTo(pointedX + step[0], pointedY + step[1]);
      });
      slider.addEventListener("input", show);
      if (marks !== null) marks.addEventListener("input", show);
      show();
    });
  })();
}
