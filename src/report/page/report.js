// Draws the plots of the report from the data that the page carries. Text from outside only ever becomes text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const height = 340;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function shown(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-6 || size >= 1e15)) return value.toExponential(3);
    return Number(value.toPrecision(6)).toLocaleString("en-US", { maximumSignificantDigits: 6 });
  }

  // Of text in the font of an axis.
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = "12px system-ui, sans-serif";
  const widthOf = (text) => ruler.measureText(text).width;
  const lineHeight = 15;

  const axis = (label, more) => ({
    label,
    size: 40,
    stroke: colour("--quiet"),
    labelSize: 24,
    labelFont: "13px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    space: 90,  // the longest number that is shown, and some more
    values: (plot, ticks) => ticks.map((tick) => (tick === null ? "" : shown(tick))),
    ...more,
  });

  // As wide as its numbers are, so that they do not run into its label.
  const upright = (label, more) => axis(label, {
    space: 30,
    size: (plot, values) => 22 + Math.max(38, ...(values ?? []).map(widthOf)),
    ...more,
  });

  // Names in place of numbers, at 0, 1, 2, …
  function named(label, names) {
    const written = names.map((name) => shortened(name));
    const widths = written.map(widthOf);
    const layout = (plot) => layoutOfNames(widths, Math.max(100, plot.width - 110), lineHeight);
    return axis(label, {
      splits: (plot) => written.map((name, index) => index).filter((index) => index % layout(plot).step === 0),
      values: (plot, splits) => splits.map((index) => written[index]),
      rotate: (plot) => (layout(plot).turned ? 45 : 0),
      size: (plot) => 22 + layout(plot).depth,
    });
  }

  // Dragging along one axis zooms that axis, dragging a box zooms both; a double click shows everything again.
  const base = (holder) => ({
    width: Math.max(280, holder.clientWidth),
    height,
    pxAlign: false,
    cursor: { drag: { x: true, y: true, uni: 30 }, points: { size: 8 } },
    legend: { live: true },
  });

  // A dashed line across the plot at one value of x.
  const mark = (x, name) => (plot) => {
    const at = plot.valToPos(x, "x", true);
    const { left, top, width, height: tall } = plot.bbox;
    if (at < left || at > left + width) return;
    const context = plot.ctx;
    context.save();
    context.strokeStyle = colour(name);
    context.lineWidth = devicePixelRatio;
    context.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    context.beginPath();
    context.moveTo(at, top);
    context.lineTo(at, top + tall);
    context.stroke();
    context.restore();
  };

  function lossPlot(holder, curve, settings) {
    const points = { show: curve.epochs.length <= 30, size: 6 };
    const line = (label, stroke) => ({ label, stroke, width: 2, points, value: (plot, value) => shown(value) });
    const series = [{ label: "Epoch", value: (plot, value) => shown(value) }, line("training", colour("--training"))];
    const values = [curve.epochs, curve.training];
    if (curve.validation) {
      series.push(line("validation", colour("--validation")));
      values.push(curve.validation);
    }
    series.push({ ...line("learning rate", colour("--quiet")), scale: "rate", show: false });
    values.push(curve.learning_rate);
    const hooks = curve.best > 0 && curve.validation ? { draw: [mark(curve.best, "--quiet")] } : {};
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false }, y: { distr: settings.log ? 3 : 1 }, rate: { auto: true } },
      axes: [axis("Epoch", { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5] }),
             upright("Loss")],
      series,
      hooks,
    }, values, holder);
  }

  // Learning rate, throughput and the like, by epoch.
  const courses = (data.curves ?? []).flatMap((curve) =>
    (curve.courses ?? []).map((course) => ({ epochs: curve.epochs, ...course })));
  const sized = (bytes) => {
    if (bytes === null || bytes === undefined) return "";
    const power = Math.min(4, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1024)));
    return `${shown(Number((bytes / 1024 ** power).toPrecision(4)))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  };
  function coursePlot(holder, course) {
    const written = course.axis === "Bytes" ? sized : shown;
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false },
                y: course.begins_at_zero ? { range: (plot, low, high) => [0, (high || 1) * 1.08] } : {} },
      axes: [axis("Epoch", { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5] }),
             upright(course.axis, { values: (plot, ticks) => ticks.map((tick) => (tick === null ? "" : written(tick))) })],
      series: [{ label: "Epoch", value: (plot, value) => shown(value) },
               { label: course.axis.toLowerCase(), stroke: colour("--mark"), width: 2,
                 points: { show: course.epochs.length <= 30, size: 6 }, value: (plot, value) => written(value) }],
    }, [course.epochs, course.values], holder);
  }

  // Every row as a dot of its own, so that where many lie over each other it gets darker.
  const dots = (radius, fill) => (plot, series) => {
    const [xs, ys] = [plot.data[0], plot.data[series]];
    const { left, top, width, height: tall } = plot.bbox;
    const context = plot.ctx;
    context.save();
    context.beginPath();
    context.rect(left, top, width, tall);
    context.clip();
    context.fillStyle = fill;
    for (let i = 0; i < xs.length; ++i) {
      if (ys[i] === null) continue;
      context.beginPath();
      context.arc(plot.valToPos(xs[i], "x", true), plot.valToPos(ys[i], "y", true), radius * devicePixelRatio, 0, 2 * Math.PI);
      context.fill();
    }
    context.restore();
    return null;
  };

  function predictedPlot(holder, scatter) {
    const [lowest, highest] = [scatter.actual[0], scatter.actual[scatter.actual.length - 1]];
    const room = (highest - lowest || Math.abs(highest) || 1) * 0.03;
    // Room at the ends only while everything is shown: what was zoomed to is shown as it is.
    const range = (plot, low, high) => low <= lowest && high >= highest ? [lowest - room, highest + room] : [low, high];
    const value = (plot, number) => shown(number);
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false, range } },
      axes: [axis(`Actual ${scatter.target}`), upright(`Predicted ${scatter.target}`)],
      series: [
        { label: "actual", value },
        { label: "predicted", value, stroke: colour("--mark"), paths: dots(2.5, colour("--points")), points: { show: false } },
        { label: "predicted = actual", stroke: colour("--aside"), width: 1.5, points: { show: false }, value: () => "" },
      ],
    }, [scatter.actual, scatter.predicted, scatter.actual], holder);
  }

  // A series: what was predicted and what came, over the time that it was predicted from.
  function overTimePlot(holder, course) {
    const value = (plot, number) => shown(number);
    const moment = (plot, time) =>
      time === null || time === undefined ? ""
        : course.has_dates ? new Date(time * 1000).toISOString().slice(0, 19).replace("T", " ") : shown(time);
    const line = (label, stroke) => ({ label, stroke, width: 1.5, points: { show: false }, value });
    return new uPlot({
      ...base(holder),
      ...(course.has_dates ? { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") } : {}),
      scales: { x: { time: course.has_dates } },
      axes: [axis(course.axis, course.has_dates ? { values: undefined } : {}), upright(course.target)],
      series: [{ label: course.axis, value: moment }, line("actual", colour("--ink")), line("predicted", colour("--forecast"))],
    }, [course.time, course.actual, course.predicted], holder);
  }

  function residualsPlot(holder, histogram) {
    const { first_edge: first, width, counts } = histogram;
    const centres = counts.map((count, bin) => first + (bin + 0.5) * width);
    const span = (plot, centre) =>
      centre === null || centre === undefined ? "" : `${shown(centre - width / 2)} to ${shown(centre + width / 2)}`;
    return new uPlot({
      ...base(holder),
      scales: {
        x: { time: false, range: (plot, low, high) => low === high ? [low - width, high + width] : [low - width / 2, high + width / 2] },
        y: { range: (plot, low, high) => [0, high * 1.08] },
      },
      axes: [axis(`Actual − predicted ${histogram.target}`), upright("Rows")],
      series: [
        { label: "residual", value: span },
        { label: "rows", value: (plot, count) => shown(count), stroke: colour("--mark"), fill: colour("--points"), width: 1,
          paths: uPlot.paths.bars({ size: [0.94, Infinity] }), points: { show: false } },
      ],
      hooks: { draw: [mark(0, "--aside")] },
    }, [centres, counts], holder);
  }

  // An error at each step ahead, beside that of the plainest forecast.
  function stepsPlot(holder, steps) {
    const ahead = steps.values.map((value, index) => index + 1);
    const points = { show: ahead.length <= 60, size: 6 };
    const line = (label, stroke) => ({ label, stroke, width: 2, points, value: (plot, value) => shown(value) });
    const series = [{ label: "Steps ahead", value: (plot, value) => shown(value) },
                    line("model", colour("--mark"))];
    const values = [ahead, steps.values];
    if (steps.plain) {
      series.push(line(steps.predicts, colour("--aside")));
      values.push(steps.plain);
    }
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false }, y: { range: (plot, low, high) => [0, (high || 1) * 1.08] } },
      axes: [axis("Steps ahead", { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] }),
             upright(`${steps.metric} of ${steps.target}`)],
      series,
    }, values, holder);
  }

  // Score of every candidate against one searched setting; values that are no numbers stand side by side.
  function scorePlot(holder, score) {
    const { xs, finished, pruned, labels } = score;
    const log = score.log || score.by_logarithm;
    const value = (plot, number) => shown(number);
    const valueNamed = (plot, x) => (x === null || x === undefined ? "" : labels ? labels[x] ?? "" : shown(x));
    const [lowest, highest] = [xs[0], xs[xs.length - 1]];
    const room = (highest - lowest || Math.abs(highest) || 1) * 0.05;
    const range = (plot, low, high) =>
      log ? [low / 1.2, high * 1.2] : low <= lowest && high >= highest ? [lowest - room, highest + room] : [low, high];
    const series = [{ label: score.setting, value: valueNamed },
                    { label: "trained to the end", value, stroke: colour("--mark"),
                      paths: dots(3.5, colour("--mark")), points: { show: false } }];
    const values = [xs, finished];
    if (pruned.some((each) => each !== null)) {
      series.push({ label: "given up early", value, stroke: colour("--quiet"), paths: dots(3, colour("--quiet")),
                    points: { show: false } });
      values.push(pruned);
    }
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false, distr: log ? 3 : 1, range } },
      axes: [labels ? named(score.setting, labels) : axis(score.setting), upright(data.metric)],
      series,
      hooks: score.best === null ? {} : { draw: [mark(score.best, "--aside")] },
    }, values, holder);
  }

  // Validation losses of the best candidates, the best first.
  function candidatesPlot(holder, curves, settings) {
    const epochs = [...new Set(curves.flatMap((curve) => curve.epochs))].sort((a, b) => a - b);
    const series = [{ label: "Epoch", value: (plot, value) => shown(value) }];
    const values = [epochs];
    curves.forEach((curve, index) => {
      const at = new Map(curve.epochs.map((epoch, i) => [epoch, curve.losses[i]]));
      values.push(epochs.map((epoch) => (at.has(epoch) ? at.get(epoch) : undefined)));
      series.push({ label: `trial ${curve.trial}`, stroke: `hsl(${(215 + index * 47) % 360} 65% 50%)`,
                    width: index === 0 ? 3 : 1.5, points: { show: epochs.length <= 30, size: 5 },
                    value: (plot, value) => shown(value) });
    });
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false }, y: { distr: settings.log ? 3 : 1 } },
      axes: [axis("Epoch"), upright("Validation loss")],
      series,
    }, values, holder);
  }

  // Curves of cubes over wavelengths or recall, some with a band around them.
  function linesPlot(holder, plotted) {
    const value = (plot, number) => shown(number);
    const colours = ["--mark", "--aside"].map(colour);
    const strokeOf = (line, index) =>
      line.of ? colour(`--${line.of}`) : colours[index] ?? `hsl(${(215 + index * 47) % 360} 65% 50%)`;
    const series = [{ label: plotted.x_label, value }];
    const values = [plotted.x];
    const bands = [];
    plotted.lines.forEach((line, index) => {
      series.push({ label: line.label, stroke: strokeOf(line, index), width: 2,
                    points: { show: plotted.x_label === "Epoch" && plotted.x.length <= 30, size: 6 }, value });
      values.push(line.values);
      if (line.deviation === null) return;
      for (const sign of [1, -1]) {
        // Without a place in the legend, which its name would take.
        series.push({ label: "", stroke: "transparent", width: 0, points: { show: false }, class: "edge", value: () => "" });
        values.push(line.values.map((mean, i) => (mean === null ? null : mean + sign * line.deviation[i])));
      }
      bands.push({ series: [values.length - 2, values.length - 1], fill: colour(index === 0 ? "--points" : "--band") });
    });
    return new uPlot({
      ...base(holder),
      scales: { x: { time: false, ...(plotted.is_share ? { range: [0, 1] } : {}) },
                y: plotted.is_share ? { range: [0, 1.02] } : {} },
      axes: [axis(plotted.x_label, plotted.x_label === "Epoch" ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4] } : {}),
             upright(plotted.y_label)],
      series,
      bands,
      hooks: { draw: plotted.marks.map((x) => mark(x, "--quiet")) },
    }, values, holder);
  }

  const kinds = {
    score: (holder, index) => scorePlot(holder, data.scores[index]),
    candidates: (holder, index, settings) => candidatesPlot(holder, data.candidates, settings),
    loss: (holder, index, settings) => lossPlot(holder, data.curves[index], settings),
    course: (holder, index) => coursePlot(holder, courses[index]),
    predicted: (holder, index) => predictedPlot(holder, data.scatters[index]),
    over_time: (holder, index) => overTimePlot(holder, data.over_time[index]),
    residuals: (holder, index) => residualsPlot(holder, data.histograms[index]),
    steps: (holder, index) => stepsPlot(holder, data.steps[index]),
    lines: (holder, index) => linesPlot(holder, data.lines[index]),
  };

  // One figure: its holder, its switches, and the plot that is made anew when colours or switches change.
  function show(figure) {
    const holder = figure.querySelector(".plot");
    const log = figure.querySelector("input.log");
    let plot = null;
    const redraw = () => {
      if (plot) plot.destroy();
      plot = kinds[figure.dataset.kind](holder, Number(figure.dataset.index), { log: log ? log.checked : false });
    };
    if (log) log.addEventListener("change", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new ResizeObserver(() => {
      const width = Math.max(280, holder.clientWidth);
      if (plot && plot.width !== width) plot.setSize({ width, height });
    }).observe(holder);
    redraw();
  }

  document.querySelectorAll("figure[data-kind]").forEach(show);
})();
