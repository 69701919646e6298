import type { CubesLook } from '../ui/cube_picture';
import { count, figure } from '../ui/format';
import { data } from '../text/data';

// What a preview tells of a column. Earlier services tell less of the distribution, so all of it may be missing.
export interface Distribution {
  kind?: 'number' | 'moment' | 'text' | 'truth';
  count?: number;
  distinct?: number;
  more_distinct?: boolean;
  lowest?: number;
  highest?: number;
  lowest_text?: string;
  highest_text?: string;
  mean?: number;
  deviation?: number;
  quartiles?: number[];
  counts?: number[];
  infinite?: number;
  frequent?: { value: string; rows: number }[];
}

export interface PreviewColumn {
  name: string;
  type: string;
  nulls: number;
  distribution?: Distribution | null;
}

export interface Preview {
  rows: number;
  columns: PreviewColumn[];
  first_rows: (string | null)[][];
  cubes?: CubesLook; // of rows that are hyperspectral cubes
}

export function missingWords(nulls: number, rows: number): string {
  if (nulls === 0) return data.noneMissing;
  const percent = (100 * nulls) / Math.max(1, rows);
  return data.missing(count(nulls), percent < 1 ? '< 1 %' : `${Math.round(percent)} %`);
}

const dayOf = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);

// "date32[day]" and "timestamp[ms]" are moments, also of a service that does not tell the kind.
const isMoment = ({ type, distribution }: PreviewColumn) => distribution?.kind === 'moment' || /^(date|timestamp)/.test(type);

export function boundsOf(column: PreviewColumn): [string, string] | null {
  const found = column.distribution;
  if (found?.lowest === undefined || found.highest === undefined) return null;
  if (isMoment(column)) return [found.lowest_text ?? dayOf(found.lowest), found.highest_text ?? dayOf(found.highest)];
  const bound = (value: number) => (Number.isSafeInteger(value) ? count(value) : figure(value));
  return [bound(found.lowest), bound(found.highest)];
}

// In a few words each: range, mean, median, different values.
export function wordsOf(column: PreviewColumn): string[] {
  const found = column.distribution;
  if (!found) return [data.allMissing];
  const words: string[] = [];
  const bounds = boundsOf(column);
  if (bounds) words.push(data.range(...bounds));
  if (!isMoment(column) && found.mean !== undefined) words.push(data.meanOf(figure(found.mean), figure(found.deviation)));
  const median = found.quartiles?.[1];
  if (!isMoment(column) && median !== undefined) words.push(data.median(figure(median)));
  if (found.distinct !== undefined) words.push((found.more_distinct ? data.moreDistinct : data.distinct)(count(found.distinct)));
  if (found.infinite) words.push(data.infinite(count(found.infinite)));
  return words;
}

export type Ranges = Record<string, [number | null, number | null]>;

// "depth 0 11000", one column a line; a name may have spaces. Lines that are none are told.
export function rangesOf(text: string): { ranges: Ranges; wrong: string[] } {
  const ranges: Ranges = {};
  const wrong: string[] = [];
  for (const line of text.split('\n').map((each) => each.trim()).filter(Boolean)) {
    const found = /^(.*\S)\s+(\S+)\s+(\S+)$/.exec(line);
    const bounds = found?.slice(2, 4).map((bound) => (bound === '-' || bound === '–' ? null : Number(bound)));
    if (!found || !bounds || bounds.some((bound) => Number.isNaN(bound)) || bounds.every((bound) => bound === null)) wrong.push(line);
    else ranges[found[1]!] = [bounds[0]!, bounds[1]!];
  }
  return { ranges, wrong };
}

// "Wells (2026).csv.gz" gives "Wells-2026".
export function idFrom(file: string): string {
  return file.replace(/\.(gz|zst|bz2)$/i, '').replace(/\.[a-z0-9]+$/i, '').replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60);
}

// "/srv/data/wells.csv" is read as wells.csv; what follows a name, such as the table in it, stays. What was sent to the
// service has a name there that says nothing but its ending.
export function nameOfSource(source: string): string {
  const name = source.replace(/^\/(?:[^/]*\/)*/, '');
  const sent = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.\S+)/.exec(name);
  return sent ? data.ownFile(sent[1]!) : name;
}
