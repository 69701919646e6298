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

// Red, green, blue and opacity of each pixel; what is marked has an orange edge.
function pixelsOfBand(cube, band, showsMarks) {
  const [low, high] = stretchOfBand(cube, band);
  const count = cube.channels.length;
  const colours = new Uint8ClampedArray(cube.width * cube.height * 4);
  const isMarked = (x, y) =>
    x >= 0 && y >= 0 && x < cube.width && y < cube.height && cube.marks[y * cube.width + x] !== 0;
  for (let y = 0; y < cube.height; ++y)
    for (let x = 0; x < cube.width; ++x) {
      const pixel = y * cube.width + x;
      const byte = cube.bytes[pixel * count + band];
      const grey = Math.round((255 * (byte - low)) / Math.max(1, high - low));
      const isEdge = showsMarks && cube.marks !== null && isMarked(x, y) &&
        !(isMarked(x - 1, y) && isMarked(x + 1, y) && isMarked(x, y - 1) && isMarked(x, y + 1));
      colours.set(isEdge ? [234, 88, 12, 255] : [grey, grey, grey, byte === 0 ? 0 : 255], pixel * 4);
    }
  return colours;
}

function wordsOfBand(cube, band) {
  const known = cube.wavelengths.length > 0 ? `, ${cube.wavelengths[band]} nm` : "";
  return `${cube.channels[band]}${known}`;
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
  module.exports = { unpackedCube, spectrumAt, stretchOfBand, pixelsOfBand, wordsOfBand, curveOf };

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
      const canvas = figure.querySelector("canvas");
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
        const colours = pixelsOfBand(cube, band, marks !== null && marks.checked);
        canvas.getContext("2d").putImageData(new ImageData(colours, cube.width, cube.height), 0, 0);
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
