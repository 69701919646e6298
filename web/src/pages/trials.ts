import type { Sort } from '../ui/List';

export interface Trial {
  trial: number;
  status: string;
  score: number | null;
  spread: number | null;
  epochs: number;
  seconds: number | null;
  settings: Record<string, string | number | boolean | null>;
  reason?: string;
}

// Axes of the scatter: settings by their names, and these.
export const figuresOfTrial = ['score', 'spread', 'epochs', 'seconds', 'trial'] as const;
export type TrialFigure = (typeof figuresOfTrial)[number];
const isFigure = (name: string): name is TrialFigure => (figuresOfTrial as readonly string[]).includes(name);

// In the order in which they first come.
export function settingsIn(trials: readonly Trial[]): string[] {
  const names = new Set<string>();
  for (const trial of trials) for (const name in trial.settings) names.add(name);
  return [...names];
}

export interface Axis {
  values: (number | null)[];
  words: string[] | null; // where the values are not numbers: what stands at 0, 1, 2, …
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

const asNumber = (text: string): number | null => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : null);

// Numbers where every trial has one; else each different value gets a place.
export function axisOf(trials: readonly Trial[], name: string): Axis {
  if (isFigure(name)) return { values: trials.map((trial) => trial[name]), words: null };
  const texts = trials.map((trial) => (name in trial.settings ? textOf(trial.settings[name]) : null));
  const numbers = texts.map((text) => (text === null ? null : asNumber(text)));
  if (texts.every((text, place) => text === null || numbers[place] !== null)) return { values: numbers, words: null };
  const words = [...new Set(texts.filter((text): text is string => text !== null))].sort((a, b) => a.length - b.length || a.localeCompare(b));
  return { values: texts.map((text) => (text === null ? null : words.indexOf(text))), words };
}

// Points that can be drawn: both values are there, and above zero where the axis is logarithmic.
export function pointsOf(x: Axis, y: Axis, isLogarithmic: { x: boolean; y: boolean }): { x: number[]; y: number[]; trials: number[] } {
  const points: { x: number[]; y: number[]; trials: number[] } = { x: [], y: [], trials: [] };
  for (const [place, at] of x.values.entries()) {
    const value = y.values[place];
    if (at === null || value === null || value === undefined) continue;
    if ((isLogarithmic.x && at <= 0) || (isLogarithmic.y && value <= 0)) continue;
    points.x.push(at);
    points.y.push(value);
    points.trials.push(place);
  }
  return points;
}

// What a sweep tells of a trial while it runs.
export interface TrialEvent extends Trial {
  metric: string;
  higher_is_better: boolean;
}

// The trials that were told so far, the best first as the service lists them; a later event of one takes the place of the earlier.
export function trialsTold(events: readonly TrialEvent[]): Trial[] {
  const last = new Map(events.map((event) => [event.trial, event]));
  const way = events[0]?.higher_is_better ? -1 : 1;
  return [...last.values()].sort((a, b) => (a.score === null || b.score === null ? Number(a.score === null) - Number(b.score === null) : way * (a.score - b.score) || a.trial - b.trial));
}

// Trials come best first; those without a value are last, whichever way.
export function sortedTrials(trials: readonly Trial[], sort: Sort | null): readonly Trial[] {
  if (!sort) return trials;
  const { values } = axisOf(trials, sort.column);
  const way = sort.isDown ? -1 : 1;
  return trials
    .map((trial, place) => ({ trial, value: values[place] ?? null }))
    .sort((a, b) => (a.value === null || b.value === null ? Number(a.value === null) - Number(b.value === null) : way * (a.value - b.value)))
    .map(({ trial }) => trial);
}
