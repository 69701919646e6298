import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '../app/theme';
import { text } from '../text';
import { alignedSeries, type PlotSeries } from './plot_data';

interface PlotProps {
  label: string; // what it shows, for those who cannot see it
  series: PlotSeries[];
  height?: number;
  xTitle?: string;
  yTitle?: string;
  logarithmic?: boolean;
  xLogarithmic?: boolean;
  xWhole?: boolean; // x is counted: no ticks between whole numbers
  xWords?: readonly string[] | null; // x counts these, from 0 on
  xRange?: [number, number] | undefined; // such as all epochs of a training that is under way
  legend?: boolean;
  onPick?: (series: number, point: number) => void; // of the point that is nearest to a click
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const wholeSteps = [1, 2, 5].flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

function optionsOf(props: PlotProps, width: number, pick: (plot: uPlot) => void): uPlot.Options {
  const grid = { stroke: colour('line'), width: 1 };
  const axis = { stroke: colour('muted'), grid, ticks: { show: false }, font: '10px system-ui', labelFont: '11px system-ui', labelSize: 16 };
  const scale = (logarithmic: boolean | undefined) => (logarithmic ? { distr: 3 as const } : {});
  const words = props.xWords;
  const xRange = props.xRange ?? (words ? ([-0.5, words.length - 0.5] as [number, number]) : undefined);
  const inWords = words ? { incrs: [1], values: (_: uPlot, ticks: number[]) => ticks.map((tick) => words[tick] ?? '') } : {};
  return {
    width,
    height: props.height ?? 140,
    legend: { show: props.legend ?? false, live: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, ...scale(props.xLogarithmic), ...(xRange ? { range: () => xRange } : {}) },
      y: scale(props.logarithmic),
    },
    axes: [
      { ...axis, size: props.xTitle ? 34 : 24, ...(props.xTitle ? { label: props.xTitle } : {}), gap: 4, grid: { show: false }, ...(props.xWhole ? { incrs: wholeSteps } : {}), ...inWords },
      { ...axis, size: 52, space: 18, ...(props.yTitle ? { label: props.yTitle } : {}), gap: 6 },
    ],
    series: [
      {},
      ...props.series.map((each) => ({
        label: each.label,
        stroke: colour(each.colour),
        width: each.kind === 'points' ? 0 : 2,
        spanGaps: true,
        ...(each.dashed ? { dash: [4, 4] } : {}),
        ...(each.kind === 'points' ? { paths: () => null, points: { show: true, size: each.size ?? 4, fill: colour(each.colour), width: 0 } } : { points: { show: false } }),
      })),
    ],
    hooks: { ready: [(plot) => plot.over.addEventListener('click', () => pick(plot))] },
  };
}

// The one plot of the page: lines and points, as the canvas and the other pages draw them.
export function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const now = useRef(props);
  now.current = props;
  const theme = useTheme((state) => state.theme);
  const count = props.series.reduce((sum, each) => sum + each.y.length, 0);
  const shape = JSON.stringify([
    props.series.map((each) => [each.label, each.colour, each.kind, each.dashed, each.size]),
    props.height, props.xTitle, props.yTitle, props.logarithmic, props.xLogarithmic, props.xWhole, props.xWords, props.xRange, props.legend,
  ]);

  useEffect(() => {
    const element = place.current;
    if (!element || count === 0) return undefined;
    const pick = (drawn: uPlot) => {
      const at = drawn.cursor.idx;
      if (at === null || at === undefined) return;
      const origins = alignedSeries(now.current.series).origins[at];
      if (origins) now.current.onPick?.(origins.series, origins.point);
    };
    const drawn = new uPlot(optionsOf(now.current, element.clientWidth || 300, pick), alignedSeries(now.current.series).data, element);
    plot.current = drawn;
    const watcher = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: now.current.height ?? 140 }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [shape, theme, count === 0]);

  useEffect(() => {
    plot.current?.setData(alignedSeries(props.series).data);
  }, [props.series]);

  return (
    <div className="plot" ref={place} role="img" aria-label={props.label} style={{ minHeight: props.height ?? 140 }}>
      {count === 0 && <div className="plot-empty">{text.plot.empty}</div>}
    </div>
  );
}
