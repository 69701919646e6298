import type { AlignedData } from 'uplot';

export interface PlotSeries {
  label: string;
  colour: 'ember' | 'run' | 'ok' | 'table' | 'spec' | 'muted' | 'bad';
  kind: 'line' | 'points';
  x: readonly number[];
  y: readonly (number | null)[];
  dashed?: boolean;
  size?: number; // of points
}

export interface Aligned {
  data: AlignedData;
  origins: { series: number; point: number }[]; // of each place on the x axis
}

// uPlot takes one ascending list of x for all series. Series with their own, and points with equal x, each get
// places of their own, empty for the others.
export function alignedSeries(series: readonly PlotSeries[]): Aligned {
  const first = series[0];
  if (!first) return { data: [[]], origins: [] };
  if (series.every((each) => each.x === first.x) && first.x.every((x, i) => i === 0 || x > first.x[i - 1]!))
    return {
      data: [first.x as number[], ...series.map((each) => each.y as (number | null)[])],
      origins: first.x.map((_, point) => ({ series: 0, point })),
    };
  const places = series.flatMap((each, s) => each.x.map((x, point) => ({ x, series: s, point })));
  places.sort((a, b) => a.x - b.x);
  const columns = series.map((each, s) =>
    places.map((place) => (place.series === s ? (each.y[place.point] ?? null) : null)));
  return {
    data: [places.map((place) => place.x), ...columns],
    origins: places.map(({ series: s, point }) => ({ series: s, point })),
  };
}
