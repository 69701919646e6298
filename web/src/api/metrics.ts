import { useEffect } from 'react';
import { create } from 'zustand';
import { get } from './client';

// What models are measured by, as the service has it: their titles, and which way is better.
export interface Metric {
  name: string;
  title: string;
  higher_is_better: boolean;
  of_classes?: boolean; // else of numbers
}

export type Metrics = ReadonlyMap<string, Metric>;

const useStore = create<{ metrics: Metrics }>(() => ({ metrics: new Map() }));
let asked: Promise<Metrics> | null = null;

// Asked for once; where no answer came, again by whoever asks next.
export function loadMetrics(): Promise<Metrics> {
  asked ??= get<{ metrics: Metric[] }>('/api/metrics').then(
    ({ metrics }) => {
      useStore.setState({ metrics: new Map(metrics.map((metric) => [metric.name, metric])) });
      return useStore.getState().metrics;
    },
    () => {
      asked = null;
      return useStore.getState().metrics;
    },
  );
  return asked;
}

export function useMetrics(): Metrics {
  useEffect(() => void loadMetrics(), []);
  return useStore((state) => state.metrics);
}

export interface Result {
  card: string;
  rows: number;
  metrics: [name: string, value: number | null][];
}

type GivenMetrics = Record<string, number | null> | { name: string; value: number | null }[];

// Metrics of each card that evaluates, in the order in which people want them; records have them as a list or as a map.
export function resultsOf(given: unknown, known: Metrics): Result[] {
  const results = (Array.isArray(given) ? given : []) as { card?: string; rows?: number; metrics?: GivenMetrics }[];
  const order = [...known.keys()];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return results.map(({ card = '', rows = 0, metrics = {} }) => {
    const pairs: [string, number | null][] = Array.isArray(metrics) ? metrics.map((each) => [each.name, each.value]) : Object.entries(metrics);
    return { card, rows, metrics: pairs.sort((a, b) => rank(a[0]) - rank(b[0]) || a[0].localeCompare(b[0])) };
  });
}

// "coverage_of_90" of no known metric reads "coverage of 90".
export const titleOf = (name: string, known: Metrics): string => known.get(name)?.title ?? name.replaceAll('_', ' ');

// Places of the best values; none where the metric has no better way, or all are equal.
export function placesOfBest(values: readonly (number | null | undefined)[], metric: Metric | undefined): number[] {
  const there = values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value));
  if (!metric || there.length < 2) return [];
  const best = metric.higher_is_better ? Math.max(...there) : Math.min(...there);
  const places = values.flatMap((value, place) => (value === best ? [place] : []));
  return places.length === values.length ? [] : places;
}
