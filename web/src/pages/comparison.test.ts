import { describe, expect, it } from 'vitest';
import { GrowingCurve } from '../ui/curve';
import { metricLines, namesOf, overlaidCurves, runOfCurves, wordsOfRows, type Comparison } from './comparison';
import type { Metrics } from '../api/metrics';

const known: Metrics = new Map([['r2', { name: 'r2', title: 'R²', higher_is_better: true }], ['rmse', { name: 'rmse', title: 'RMSE', higher_is_better: false }]]);
const run = (name: string, metrics: Record<string, number>) => ({ run: `2026_${name}`, name, seconds: 1, results: [{ card: 'e', rows: 1, metrics }] });

describe('metrics side by side', () => {
  const comparison: Comparison = {
    runs: [run('a', { rmse: 2, r2: 0.5 }), run('b', { rmse: 1, r2: 0.9 }), run('c', { r2: 0.7 })],
    differing_settings: {},
    against_first: { '2026_b': { 'e.r2': { difference: 0.4, standard_error: 0.1, more_than_noise: true } } },
  };
  const lines = metricLines(comparison, known);
  it('have a line for each, with gaps where a run has none', () => {
    expect(lines.map((line) => [line.key, line.values])).toEqual([['e.r2', [0.5, 0.9, 0.7]], ['e.rmse', [2, 1, null]]]);
  });
  it('say which is best, the way that the metric has', () => expect(lines.map((line) => line.best)).toEqual([[1], [1]]));
  it('say what is more than noise', () => expect(lines[0]!.noise).toEqual([null, true, null]));
  it('are marked where a card has measured other rows, and then nobody is best', () => {
    const groups = [{ rows: 404, trained_on: true, sources: ['wells.csv'], runs: ['2026_a'] }, { rows: 102, trained_on: false, sources: ['wells.csv'], runs: ['2026_b', '2026_c'] }];
    const marked = metricLines({ ...comparison, different_rows: [{ card: 'e', groups }] }, known);
    expect(marked.map((line) => line.rows)).toEqual([['trained on', 'other', 'other'], ['trained on', 'other', 'other']]);
    expect(marked.map((line) => line.best)).toEqual([[], []]);
    expect(lines.map((line) => line.rows)).toEqual([[null, null, null], [null, null, null]]);
    const words = { rows: (rows: number) => `${rows} rows`, of: (sources: string) => `of ${sources}`, trainedOn: 'that it knows' };
    expect(wordsOfRows({ card: 'e', groups }, (run) => run.slice(5), words)).toEqual(['404 rows that it knows: a', '102 rows: b, c']);
    expect(wordsOfRows({ card: 'e', groups: [groups[0]!, { ...groups[1]!, sources: ['new.csv'] }] }, (run) => run.slice(5), words)[1]).toBe('102 rows of new.csv: b, c');
  });
  it('are those of the winner where a run is a sweep', () => {
    const sweep = { ...run('s', { loss: 1 }), winner: { results: [{ card: 'e', rows: 1, metrics: [{ name: 'r2', value: 0.8 }] }] } };
    expect(metricLines({ ...comparison, runs: [sweep] }, known).map((line) => line.key)).toEqual(['e.r2']);
  });
});

it('runs of the same name are told apart by their folders', () => {
  expect(namesOf([{ run: 'x_11111111', name: 'a' }, { run: 'x_22222222', name: 'a' }, { run: 'x_3', name: 'b' }])).toEqual(['a · 11111111', 'a · 22222222', 'b']);
});

it('curves lie over each other, each in a colour of its own, those that are missing left out', () => {
  const curve = new GrowingCurve();
  curve.add(1, 0.5, null);
  const other = new GrowingCurve();
  other.add(1, 0.7, 0.8);
  const series = overlaidCurves(['a', 'b', 'c'], [new Map([['train', curve]]), null, new Map([['net', other]])], 'train', 'train');
  expect(series.map((each) => [each.label, each.y])).toEqual([['a', [0.5]], ['c', [0.7]]]);
  expect(new Set(series.map((each) => each.colour)).size).toBe(2);
  expect(overlaidCurves(['a', 'c'], [new Map([['train', curve]]), new Map([['net', other]])], 'train', 'validation').map((each) => each.label)).toEqual(['c']);
});

it('a sweep has the curves of its winner', () => {
  expect(runOfCurves(run('a', {}))).toBe('2026_a');
  expect(runOfCurves({ ...run('s', {}), winner: { run: 's_trial-3' } })).toBe('s_trial-3');
  expect(runOfCurves({ ...run('s', {}), winner: { run: 's_trial-3', final_run: 's_final' } })).toBe('s_final');
});
