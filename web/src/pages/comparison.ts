import type { Curve } from '../ui/curve';
import type { PlotSeries } from '../ui/plot_data';
import { placesOfBest, resultsOf, type Metrics } from '../api/metrics';

export const mostCompared = 50; // as the service has it

// What the service answers to a comparison.
export interface Comparison {
  runs: { run: string; name: string; seconds: number | null; results?: unknown; winner?: { run?: string; final_run?: string; results?: unknown } }[];
  differing_settings: Record<string, string[]>;
  // Of the same rows with whether it is more than noise; of different ones that is not known.
  against_first: Record<string, Record<string, { difference: number; same_rows?: boolean; standard_error?: number; more_than_noise?: boolean }>>;
  different_rows?: DifferentRows[]; // none of what earlier versions answered
}

// A card that has measured other rows in one run than in another.
export interface DifferentRows {
  card: string;
  groups: { rows: number; trained_on: boolean; sources: string[]; runs: string[] }[];
}

export interface MetricLine {
  key: string; // "evaluate.r2"
  card: string;
  metric: string;
  values: (number | null)[];
  best: number[]; // places of the best runs
  noise: (boolean | null)[]; // whether the difference from the first run is more than noise; null: not known
  rows: (RowsMark | null)[]; // what is to be said of the rows of each figure, where they are not the same in all runs
}

export type RowsMark = 'trained on' | 'other';

// How the rows of a run differ from those that the first run with this card was measured on.
function marksOf(runs: Comparison['runs'], different: DifferentRows | undefined): (RowsMark | null)[] {
  return runs.map(({ run }) => {
    const place = different?.groups.findIndex((group) => group.runs.includes(run)) ?? -1;
    if (place < 0) return null;
    return different!.groups[place]!.trained_on ? 'trained on' : place > 0 ? 'other' : null;
  });
}

// One line for each metric of each card that evaluates, in the order in which they are first met.
export function metricLines({ runs, against_first, different_rows }: Comparison, known: Metrics): MetricLine[] {
  const lines = new Map<string, MetricLine>();
  for (const [place, run] of runs.entries())
    for (const result of resultsOf(run.winner?.results ?? run.results, known))
      for (const [metric, value] of result.metrics) {
        const key = `${result.card}.${metric}`;
        let line = lines.get(key);
        if (!line) lines.set(key, (line = { key, card: result.card, metric, values: runs.map(() => null), best: [], noise: [], rows: [] }));
        line.values[place] = value;
      }
  for (const line of lines.values()) {
    const different = different_rows?.find(({ card }) => card === line.card);
    line.rows = marksOf(runs, different);
    line.best = different ? [] : placesOfBest(line.values, known.get(line.metric)); // on other rows nobody is the best
    line.noise = runs.map((run) => against_first[run.run]?.[line.key]?.more_than_noise ?? null);
  }
  return [...lines.values()];
}

// Where the curves of a run are: of a sweep in the run of its winner.
export const runOfCurves = ({ run, winner }: Comparison['runs'][number]): string => winner?.final_run ?? winner?.run ?? run;

// Names that tell runs apart: those of their documents, with the end of their folders where two have the same.
export function namesOf(runs: readonly { run: string; name: string }[]): string[] {
  const often = new Map<string, number>();
  for (const { name } of runs) often.set(name, (often.get(name) ?? 0) + 1);
  return runs.map(({ run, name }) => (often.get(name)! > 1 ? `${name} · ${run.slice(-8)}` : name || run));
}

// What is told above the metrics: each group of runs with its rows, "404 rows of wells.csv that it was trained on: a, b".
export function wordsOfRows({ groups }: DifferentRows, nameOf: (run: string) => string, words: { rows: (rows: number) => string; of: (sources: string) => string; trainedOn: string }): string[] {
  const isOfSame = groups.every((group) => group.sources.join() === groups[0]!.sources.join());
  return groups.map(({ rows, trained_on, sources, runs }) => {
    const from = isOfSame || sources.length === 0 ? '' : ` ${words.of(sources.join(', '))}`;
    return `${words.rows(rows)}${from}${trained_on ? ` ${words.trainedOn}` : ''}: ${runs.map(nameOf).join(', ')}`;
  });
}

const colours: PlotSeries['colour'][] = ['ember', 'run', 'ok', 'table', 'spec', 'muted'];
export const colourOf = (place: number): Pick<PlotSeries, 'colour' | 'dashed'> => ({
  colour: colours[place % colours.length]!,
  ...(Math.floor(place / colours.length) % 2 === 1 ? { dashed: true } : {}),
});

// Curves of several runs over each other: of each run the card of that name, or the only one that it has.
export function overlaidCurves(names: readonly string[], curves: readonly (ReadonlyMap<string, Curve> | null)[], card: string, kind: 'train' | 'validation'): PlotSeries[] {
  return names.flatMap((label, place) => {
    const of = curves[place];
    const curve = of?.get(card) ?? (of?.size === 1 ? [...of.values()][0] : undefined);
    if (!curve || curve[kind].every((value) => value === null)) return [];
    return [{ label, ...colourOf(place), kind: 'line' as const, x: curve.epochs, y: curve[kind] }];
  });
}
