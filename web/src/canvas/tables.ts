import { create } from 'zustand';
import { get } from '../api/client';
import { loadMetrics, resultsOf, titleOf } from '../api/metrics';
import type { CubesLook } from '../ui/cube_picture';
import { figure } from '../ui/format';

// Over all rows; a service of an earlier version tells none.
export interface ColumnDistribution {
  kind: string;
  distinct?: number;
  more_distinct?: boolean;
  lowest?: number;
  highest?: number;
  mean?: number;
  lowest_text?: string;
  highest_text?: string;
  counts?: number[];
  frequent?: { value: string | boolean; rows: number }[];
}

export interface TablePreview {
  rows: number;
  distribution_rows?: number; // all of them where it is not told
  columns: { name: string; type: string; nulls: number; distribution?: ColumnDistribution | null }[];
  first_rows: (string | null)[][];
  cubes?: CubesLook; // of rows that are hyperspectral cubes
}

interface Sizes {
  sizes: Record<string, { rows: number; columns: number; cube?: string }>; // by card, of its first table
  results: Record<string, string>; // by card, what an evaluation comes down to
}
// How large the tables of the run are, for the faces of the cards.
export const useTables = create<Sizes>(() => ({ sizes: {}, results: {} }));

const known = new Map<string, Promise<TablePreview>>();

// Previews of a run do not change once they are there.
export function tableOf(run: string, card: string, output: string): Promise<TablePreview> {
  const path = `/api/runs/${encodeURIComponent(run)}/previews/${encodeURIComponent(card)}/${encodeURIComponent(output)}`;
  let table = known.get(path);
  if (!table) {
    table = get<TablePreview>(path);
    known.set(path, table);
    table.catch(() => known.delete(path));
    if (known.size > 50) known.delete(known.keys().next().value!);
  }
  return table;
}

export async function learnSize(run: string, card: string, output: string) {
  try {
    const { rows, columns, cubes } = await tableOf(run, card, output);
    const cube = cubes ? { cube: `${cubes.height} × ${cubes.width} × ${cubes.channels}` } : {};
    useTables.setState(({ sizes }) => ({ sizes: { ...sizes, [card]: { rows, columns: columns.length, ...cube } } }));
  } catch {
    // It is not there, as of a run whose request was wrong: the card says what it is set to.
  }
}

interface Results {
  results?: { card: string; metrics: { name: string; value: number | null }[] }[];
}

export async function learnResults(run: string) {
  try {
    const [{ results = [] }, known] = await Promise.all([get<Results>(`/api/runs/${encodeURIComponent(run)}`), loadMetrics()]);
    const lines = resultsOf(results, known).filter((each) => each.metrics[0]).map((each) => [each.card, `${titleOf(each.metrics[0]![0], known)} ${figure(each.metrics[0]![1])}`]);
    useTables.setState({ results: Object.fromEntries(lines) });
  } catch {
    // As above.
  }
}

export const forgetSizes = () => useTables.setState({ sizes: {}, results: {} });
