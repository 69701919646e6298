import { useCallback, useEffect, useRef, useState } from 'react';
import { get, sentenceOf } from '../api/client';
import { useEvery } from '../api/answers';
import type { RunRow } from './run_rows';

interface RunPage {
  total: number;
  runs: RunRow[];
  damaged: string[];
  next?: string;
}

const pageSize = 200;
const betweenDrawings = 150;

export interface Runs {
  rows: readonly RunRow[];
  total: number;
  damaged: readonly string[];
  isWhole: boolean; // all that there are have come
  error: string;
  drop: (run: string) => void;
}

const start: Omit<Runs, 'drop'> = { rows: [], total: 0, damaged: [], isWhole: false, error: '' };

// All runs, newest first, page by page in the background, so that they can be sorted and filtered without asking again.
export function useRuns(): Runs {
  const [runs, setRuns] = useState(start);
  const [turn, setTurn] = useState(0);
  const known = useRef(runs);
  known.current = runs;

  useEffect(() => {
    const stop = new AbortController();
    const load = async () => {
      let rows: RunRow[] = [];
      let damaged: string[] = [];
      let drawn = 0;
      for (let before = ''; ;) {
        const page = await get<RunPage>(`/api/runs?limit=${pageSize}${before && `&before=${encodeURIComponent(before)}`}`, stop.signal);
        rows = [...rows, ...page.runs];
        damaged = [...damaged, ...page.damaged];
        const isWhole = !page.next;
        const isFresh = known.current.rows.length === 0 || drawn > 0;
        if (isWhole || (isFresh && performance.now() - drawn > betweenDrawings)) {
          drawn = performance.now();
          setRuns({ rows, total: page.total, damaged, isWhole, error: '' });
        }
        if (!page.next) return;
        before = page.next;
      }
    };
    load().catch((failure: unknown) => {
      if (!stop.signal.aborted) setRuns((before) => ({ ...before, error: sentenceOf(failure) }));
    });
    return () => stop.abort();
  }, [turn]);

  // The newest anew; where the number of all is another than it should be, some are gone, and all are read again.
  useEvery(2500, useCallback(async () => {
    if (!known.current.isWhole && !known.current.error) return;
    try {
      const page = await get<RunPage>(`/api/runs?limit=50`);
      const last = page.runs.at(-1)?.run ?? '';
      const rows = page.next ? [...page.runs, ...known.current.rows.filter((row) => row.run < last)] : page.runs;
      if (rows.length + known.current.damaged.length !== page.total || known.current.error) return setTurn((before) => before + 1);
      if (!isSame(rows, known.current.rows)) setRuns((before) => ({ ...before, rows, total: page.total }));
    } catch (failure) {
      setRuns((before) => ({ ...before, error: sentenceOf(failure) }));
    }
  }, []));

  return { ...runs, drop: useCallback((run: string) => setRuns((before) => ({ ...before, rows: before.rows.filter((row) => row.run !== run), total: before.total - 1 })), []) };
}

// What can change of a run is its state, its time and its results.
function isSame(a: readonly RunRow[], b: readonly RunRow[]): boolean {
  if (a.length !== b.length) return false;
  for (let place = 0; place < Math.min(60, a.length); ++place) {
    const [one, other] = [a[place]!, b[place]!];
    if (one.run !== other.run || one.status !== other.status || one.seconds !== other.seconds || one.results.length !== other.results.length) return false;
  }
  return true;
}
