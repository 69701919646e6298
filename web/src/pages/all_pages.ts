import { useCallback, useEffect, useState } from 'react';
import { get, sentenceOf } from '../api/client';

export interface Everything<Row> {
  rows: readonly Row[];
  isWhole: boolean;
  error: string;
  extra: Record<string, unknown>; // what else the first page told
  reload: () => void;
}

const pageSize = 500;

// All rows of a list that is told by limit and offset, page by page.
export function useAllPages<Row>(path: string, name: string): Everything<Row> {
  const [held, setHeld] = useState<Omit<Everything<Row>, 'reload'>>({ rows: [], isWhole: false, error: '', extra: {} });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const load = async () => {
      let rows: Row[] = [];
      for (;;) {
        const page = await get<Record<string, unknown>>(`${path}?limit=${pageSize}&offset=${rows.length}`, stop.signal);
        const more = page[name] as Row[];
        rows = [...rows, ...more];
        const isWhole = more.length < pageSize;
        const told = rows;
        setHeld((before) => (isWhole || !before.isWhole ? { rows: told, isWhole, error: '', extra: page } : before));
        if (isWhole) return;
      }
    };
    load().catch((failure: unknown) => {
      if (!stop.signal.aborted) setHeld((before) => ({ ...before, error: sentenceOf(failure) }));
    });
    return () => stop.abort();
  }, [path, name, turn]);
  return { ...held, reload: useCallback(() => setTurn((before) => before + 1), []) };
}
