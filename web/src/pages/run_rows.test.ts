import { describe, expect, it } from 'vitest';
import type { Metrics } from '../api/metrics';
import type { Job } from '../api/types';
import { areOfBothTasks, filteredRuns, mainMetricOf, metricOf, metricsIn, nextSort, sortedRuns, toggled, withJobsAlone, type RunRow } from './run_rows';

const known: Metrics = new Map([['r2', { name: 'r2', title: 'R²', higher_is_better: true }], ['rmse', { name: 'rmse', title: 'RMSE', higher_is_better: false }]]);
const run = (name: string, metrics: Record<string, number | null> = {}, more: Partial<RunRow> = {}): RunRow => ({
  run: `2026_${name}`, name, status: 'finished', started: '', seconds: 1, results: [{ card: 'e', rows: 1, metrics }], can_go_on: false, ...more,
});
const names = (rows: readonly RunRow[]) => rows.map((row) => row.name).join('');

describe('runs are found', () => {
  const rows = [run('Boston'), run('ridge', {}, { status: 'failed', run: '2026_boston-ridge' }), run('blobs')];
  it('by every word of what is typed, in name or folder, whatever its case', () => {
    expect(names(filteredRuns(rows, { text: 'BOSTON', status: '' }))).toBe('Bostonridge');
    expect(names(filteredRuns(rows, { text: 'ridge bos', status: '' }))).toBe('ridge');
  });
  it('by their state', () => expect(names(filteredRuns(rows, { text: '', status: 'failed' }))).toBe('ridge'));
  it('all of them where nothing is asked', () => expect(filteredRuns(rows, { text: '  ', status: '' })).toBe(rows));
});

describe('the main metric of a run', () => {
  const both: Metrics = new Map([...known].map(([name, metric]) => [name, { ...metric, of_classes: false }]));
  const all: Metrics = new Map([...both, ['accuracy', { name: 'accuracy', title: 'Accuracy', higher_is_better: true, of_classes: true }]]);
  it('is the one that people look at first, of numbers or of classes', () => {
    expect(mainMetricOf(run('a', { rmse: 2, r2: 0.5 }), all)).toEqual({ name: 'r2', value: 0.5 });
    expect(mainMetricOf(run('b', { accuracy: 0.9, other: 1 }), all)).toEqual({ name: 'accuracy', value: 0.9 });
    expect(mainMetricOf(run('c', { pinball_loss: 3 }), all)).toEqual({ name: 'pinball_loss', value: 3 });
    expect(mainMetricOf(run('d', {}, { results: [] }), all)).toBeNull();
  });
  it('has a column of its own where runs have no metric in common', () => {
    expect(areOfBothTasks(['r2', 'rmse'], all)).toBe(false);
    expect(areOfBothTasks(['r2', 'accuracy'], all)).toBe(true);
  });
});

it('jobs that ended before their run began stand among the runs, with their error', () => {
  const job = { id: 'j', job_name: 'wrong', state: 'failed', kind: 'training', run: '2026_b', created: '2026', reason: 'many words\nstoker: there is no column z' } as Job;
  const stopped = { ...job, state: 'cancelled', reason: 'cancelled by me' } as Job;
  const rows = withJobsAlone([run('c'), run('a')], [job, { ...job, run: '2026_a' }, { ...stopped, run: '2026_1', started: '2026' }, { ...stopped, run: '2026_0' }]);
  expect(rows.map((row) => [row.run, row.status, row.error])).toEqual([
    ['2026_c', 'finished', undefined], ['2026_b', 'failed', 'there is no column z'], ['2026_a', 'finished', undefined], ['2026_1', 'interrupted', undefined],
  ]);
});

describe('runs are sorted', () => {
  const rows = [run('a', { r2: 0.5 }), run('b'), run('c', { r2: 0.9 }), run('d', { r2: null }), run('e', { r2: -1 })];
  it('by a metric either way, those without it last', () => {
    expect(names(sortedRuns(rows, { column: 'r2', isDown: true }))).toBe('caebd');
    expect(names(sortedRuns(rows, { column: 'r2', isDown: false }))).toBe('eacbd');
  });
  it('by name whatever the case, and left as they are without a sort', () => {
    expect(names(sortedRuns([run('b'), run('A'), run('c')], { column: 'name', isDown: false }))).toBe('Abc');
    expect(sortedRuns(rows, null)).toBe(rows);
  });
  it('the best first at the first click, then the other way, then newest first again', () => {
    const first = nextSort(null, 'rmse', known);
    expect(first).toEqual({ column: 'rmse', isDown: false });
    expect(nextSort(first, 'rmse', known)).toEqual({ column: 'rmse', isDown: true });
    expect(nextSort({ column: 'rmse', isDown: true }, 'rmse', known)).toBeNull();
    expect(nextSort(first, 'r2', known)).toEqual({ column: 'r2', isDown: true });
  });
});

it('a metric is that of the first card that has it', () => {
  const row = run('a');
  row.results = [{ card: 'x', rows: 1, metrics: { mae: 1 } }, { card: 'y', rows: 1, metrics: { mae: 2, r2: 0.5 } }];
  expect(metricOf(row, 'mae')).toBe(1);
  expect(metricOf(row, 'r2')).toBe(0.5);
  expect(metricOf(row, 'f1')).toBeNull();
});

it('the metrics that runs have come in the order of the service', () => {
  expect(metricsIn([run('a', { zeta: 1, rmse: 1 }), run('b', { r2: 1, alpha: 0 })], known)).toEqual(['r2', 'rmse', 'alpha', 'zeta']);
});

it('runs to compare are chosen and given up, up to a number', () => {
  expect(toggled(['a'], 'b', 2)).toEqual(['a', 'b']);
  expect(toggled(['a', 'b'], 'a', 2)).toEqual(['b']);
  expect(toggled(['a', 'b'], 'c', 2)).toEqual(['a', 'b']);
});
