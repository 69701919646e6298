import { useEffect, useState } from 'react';
import { get, sentenceOf } from '../api/client';
import type { Job } from '../api/types';
import { isUnfinished } from './job_rows';
import type { Trial } from './trials';

export interface Sweep extends Job {
  trials: Trial[];
  total_trials?: number;
  metric?: string;
  higher_is_better?: boolean;
  winner?: { trial: number; score: number | null; settings: Record<string, string>; run?: string; final_run?: string; results?: unknown };
}

const pageSize = 1000;
const mostTrials = 20_000;

// A sweep with all of its trials, the best first; asked for again until it has ended.
export function useSweep(id: string): { sweep: Sweep | null; error: string } {
  const [held, setHeld] = useState<{ sweep: Sweep | null; error: string }>({ sweep: null, error: '' });
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        const path = `/api/sweeps/${encodeURIComponent(id)}?limit=${pageSize}`;
        const sweep = await get<Sweep>(path, stop.signal);
        setHeld({ sweep, error: '' });
        let trials = sweep.trials;
        while (trials.length < Math.min(mostTrials, sweep.total_trials ?? 0)) {
          const next = (await get<Sweep>(`${path}&offset=${trials.length}`, stop.signal)).trials;
          if (next.length === 0) break;
          trials = [...trials, ...next];
          setHeld({ sweep: { ...sweep, trials }, error: '' });
        }
        if (isUnfinished(sweep)) timer = setTimeout(() => void load(), 1500);
      } catch (failure) {
        if (!stop.signal.aborted) setHeld((before) => ({ ...before, error: sentenceOf(failure) }));
      }
    };
    setHeld({ sweep: null, error: '' });
    void load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return held;
}
