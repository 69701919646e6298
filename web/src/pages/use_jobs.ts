import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, get, sentenceOf } from '../api/client';
import type { Job } from '../api/types';
import { useEvery } from '../api/answers';
import { isUnfinished, noJobs, statesOf, withFirstPage, withJob, withNextPage, withoutJob, type JobPage, type JobRows } from './job_rows';

const pageSize = 100;
const mostUnfinished = 500;
const mostLooks = 8; // jobs whose end is asked for in a turn

export interface Jobs extends JobRows {
  error: string;
  isLoading: boolean;
  more: () => void;
  put: (job: Job) => void;
  drop: (id: string) => void;
  refresh: () => Promise<void>;
}

// The jobs of a filter, page by page, followed while the page is in sight.
export function useJobs(state: string, name: string): Jobs {
  const [rows, setRows] = useState<JobRows>(noJobs);
  const [error, setError] = useState('');
  const [isLoading, setLoading] = useState(true);
  const filter = `limit=${pageSize}&state=${encodeURIComponent(statesOf(state))}&name=${encodeURIComponent(name)}`;
  const current = useRef(filter);
  current.current = filter;
  const known = useRef(rows);
  known.current = rows;

  const take = useCallback(async (ask: () => Promise<JobRows>) => {
    const asked = current.current;
    try {
      const next = await ask();
      if (asked !== current.current) return;
      setRows(next);
      setError('');
    } catch (failure) {
      if (asked === current.current) setError(sentenceOf(failure));
    }
    setLoading(false);
  }, []);

  useEffect(() => {
    setLoading(true);
    void take(async () => withNextPage(noJobs, await get<JobPage>(`/api/training/jobs?${filter}`)));
  }, [filter, take]);

  const refresh = useCallback(() => take(async () => {
    const fresh = withFirstPage(known.current, await get<JobPage>(`/api/training/jobs?${current.current}`));
    // Jobs behind the newest ones change unseen: those that have not ended come in one answer, and who is not
    // among them any more is asked for once, to be told its end.
    const newest = new Set(fresh.rows.slice(0, pageSize).map((job) => job.id));
    const behind = fresh.rows.filter((job) => isUnfinished(job) && !newest.has(job.id));
    if (behind.length === 0) return fresh;
    const { jobs } = await get<JobPage>(`/api/training/jobs?limit=${mostUnfinished}&state=${encodeURIComponent(statesOf('unfinished'))}`);
    let after = jobs.reduce(withJob, fresh);
    const there = new Set(jobs.map((job) => job.id));
    const ended = behind.filter((job) => !there.has(job.id)).slice(0, mostLooks);
    for (const answer of await Promise.all(ended.map((job) => look(job.id)))) {
      if (answer.job) after = withJob(after, answer.job);
      else if (answer.isGone) after = withoutJob(after, answer.id);
    }
    return after;
  }), [take]);
  useEvery(1000, refresh);

  const isFetching = useRef(false);
  const more = useCallback(() => {
    const { next } = known.current;
    if (next === null || isFetching.current) return;
    isFetching.current = true;
    void take(async () => {
      const page = await get<JobPage>(`/api/training/jobs?${current.current}&before=${next}`);
      return withNextPage(known.current, page);
    }).finally(() => (isFetching.current = false));
  }, [take]);

  return {
    ...rows, error, isLoading, more, refresh,
    put: useCallback((job: Job) => setRows((before) => withJob(before, job)), []),
    drop: useCallback((id: string) => setRows((before) => withoutJob(before, id)), []),
  };
}

async function look(id: string): Promise<{ id: string; job: Job | null; isGone: boolean }> {
  try {
    return { id, job: await get<Job>(`/api/training/jobs/${id}`), isGone: false };
  } catch (failure) {
    return { id, job: null, isGone: failure instanceof ApiError && failure.status === 404 };
  }
}
