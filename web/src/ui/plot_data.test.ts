import { describe, expect, it } from 'vitest';
import { alignedSeries, type PlotSeries } from './plot_data';

const line = (x: number[], y: (number | null)[]): PlotSeries => ({ label: 'a', colour: 'run', kind: 'line', x, y });

describe('series of a plot', () => {
  it('share the axis that they have in common', () => {
    const x = [1, 2, 3];
    expect(alignedSeries([line(x, [4, 5, 6]), line(x, [7, null, 9])]).data).toEqual([x, [4, 5, 6], [7, null, 9]]);
  });

  it('keep every point where several stand at one x, in ascending order', () => {
    const { data, origins } = alignedSeries([line([2, 1, 2], [10, 20, 30]), line([1.5], [40])]);
    expect(data).toEqual([[1, 1.5, 2, 2], [20, null, 10, 30], [null, 40, null, null]]);
    expect(origins.map((each) => [each.series, each.point])).toEqual([[0, 1], [1, 0], [0, 0], [0, 2]]);
  });

  it('may be none', () => expect(alignedSeries([]).data).toEqual([[]]));
});
