import { useEffect, useMemo, useState } from 'react';
import { get, sentenceOf } from '../api/client';
import { listenToJob } from '../api/events';
import type { Job } from '../api/types';
import { isUnfinished } from './job_rows';
import { trialsTold, type Trial, type TrialEvent } from './trials';

export interface Sweep extends Job {
  trials: Trial[];
  total_trials?: number;
  metric?: string;
  higher_is_better?: boolean;
  winner?: { trial: number; score: number | null; settings: Record<string, string>; run?: string; final_run?: string; results?: unknown };
}

const pageSize = 1000;
const mostTrials = 20_000;
const betweenDrawings = 250; // milliseconds; trials of small models end by the hundred

// The trials of a search that runs, as they come.
function useTrialsTold(id: string, isWanted: boolean): readonly TrialEvent[] {
  const [told, setTold] = useState<readonly TrialEvent[]>([]);
  useEffect(() => {
    setTold([]);
    if (!isWanted) return undefined;
    const events: TrialEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const stop = listenToJob(id, {
      onEvent: ({ name, data }) => {
        if (name !== 'trial_finished') return;
        events.push(data as unknown as TrialEvent);
        timer ??= setTimeout(() => {
          timer = null;
          setTold([...events]);
        }, betweenDrawings);
      },
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [id, isWanted]);
  return told;
}

// Until the search is over; then the service lists its trials, with those that were given up.
function isSearching(sweep: Sweep): boolean {
  const { trainings = 0, total_trainings = 0 } = (sweep.progress ?? {}) as { trainings?: number; total_trainings?: number };
  return isUnfinished(sweep) && (sweep.total_trials === undefined || trainings < total_trainings);
}

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
  const { sweep } = held;
  const told = useTrialsTold(id, sweep !== null && isUnfinished(sweep) && sweep.state !== 'pending');
  return useMemo(() => {
    if (!sweep || told.length === 0 || !isSearching(sweep)) return held;
    const { metric, higher_is_better } = told[0]!;
    return { ...held, sweep: { ...sweep, trials: trialsTold(told), metric, higher_is_better } };
  }, [held, sweep, told]);
}
