import type { Sort } from '../ui/List';
import type { Metrics } from '../api/metrics';
import type { Job } from '../api/types';
import { sentenceOfReason } from './job_rows';

// A line of the list of runs.
export interface RunRow {
  run: string;
  name: string;
  status: 'running' | 'finished' | 'failed' | 'interrupted';
  started: string;
  seconds: number | null;
  results: { card: string; rows: number; metrics: Record<string, number | null> }[];
  error?: string;
  job?: string;
  can_go_on: boolean;
  isJobAlone?: boolean; // of a job that ended before its run had anything to keep
}

export interface RunFilter {
  text: string;
  status: string; // empty: any
}

// The states of jobs have words and colours; a run that was interrupted was stopped.
export const stateOfRun = (status: string): string => ({ finished: 'done', interrupted: 'cancelled' })[status] ?? status;

// Of several cards that evaluate the first that has it.
export function metricOf(row: RunRow, metric: string): number | null {
  for (const result of row.results) {
    const value = result.metrics[metric];
    if (value !== undefined) return value;
  }
  return null;
}

// The metric that people look at first, by which a run without the metrics of others is known too.
export function mainMetricOf(row: RunRow, known: Metrics): { name: string; value: number | null } | null {
  for (const { metrics } of row.results) {
    const name = [...known.keys()].find((each) => each in metrics) ?? Object.keys(metrics)[0];
    if (name !== undefined) return { name, value: metrics[name] ?? null };
  }
  return null;
}

// Whether some runs are of numbers and some of classes, which have no metric in common.
export function areOfBothTasks(metrics: readonly string[], known: Metrics): boolean {
  const kinds = new Set(metrics.flatMap((name) => known.get(name)?.of_classes ?? []));
  return kinds.size > 1;
}

// Jobs that failed or were stopped so early that no run of theirs is there, among the runs: newest first by their names,
// which begin with the time.
export function withJobsAlone(rows: readonly RunRow[], jobs: readonly Job[]): readonly RunRow[] {
  const known = new Set(rows.map((row) => row.run));
  const hasEnded = (job: Job) => job.state === 'failed' || (job.state === 'cancelled' && job.started !== undefined);
  const missing = jobs.filter((job) => hasEnded(job) && job.run && !known.has(job.run));
  if (missing.length === 0) return rows;
  const made = missing.map((job): RunRow => ({
    run: job.run, name: job.job_name, status: job.state === 'failed' ? 'failed' : 'interrupted', started: job.started ?? job.created, seconds: null, results: [],
    ...(job.state === 'failed' ? { error: sentenceOfReason(job.reason ?? '') } : {}), job: job.id, can_go_on: false, isJobAlone: true,
  }));
  return [...rows, ...made].sort((a, b) => (a.run < b.run ? 1 : a.run > b.run ? -1 : 0));
}

// Names of all metrics that some run has, in the order of the service and then by name.
export function metricsIn(rows: readonly RunRow[], known: Metrics): string[] {
  const found = new Set<string>();
  for (const row of rows) for (const result of row.results) for (const name in result.metrics) found.add(name);
  const first = [...known.keys()].filter((name) => found.has(name));
  return [...first, ...[...found].filter((name) => !known.has(name)).sort()];
}

// Every word must be in the name of the run or of its folder, whatever its case.
export function filteredRuns(rows: readonly RunRow[], { text, status }: RunFilter): readonly RunRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !status) return rows;
  return rows.filter((row) => {
    if (status && row.status !== status) return false;
    const name = `${row.name} ${row.run}`.toLowerCase();
    return words.every((word) => name.includes(word));
  });
}

type Key = string | number | null;

function keyOf(row: RunRow, column: string): Key {
  if (column === 'name') return row.name.toLowerCase();
  if (column === 'status') return row.status;
  if (column === 'started') return row.started;
  if (column === 'seconds') return row.seconds;
  return metricOf(row, column);
}

const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);

// Runs without a value come last, whichever way; equal ones stay as they were. No sort: newest first, as they come.
export function sortedRuns(rows: readonly RunRow[], sort: Sort | null): readonly RunRow[] {
  if (!sort) return rows;
  const way = sort.isDown ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: keyOf(row, sort.column) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return a.key === b.key ? 0 : a.key === null ? 1 : -1;
    return way * compare(a.key, b.key);
  });
  return keyed.map((each) => each.row);
}

// The first click puts the best on top, the second turns it round, the third goes back to newest first.
export function nextSort(now: Sort | null, column: string, known: Metrics): Sort | null {
  const begins = known.get(column)?.higher_is_better ?? (column === 'started' || column === 'seconds');
  if (now?.column !== column) return { column, isDown: begins };
  return now.isDown === begins ? { column, isDown: !begins } : null;
}

export function toggled(chosen: readonly string[], run: string, most: number): readonly string[] {
  if (chosen.includes(run)) return chosen.filter((each) => each !== run);
  return chosen.length < most ? [...chosen, run] : chosen;
}
