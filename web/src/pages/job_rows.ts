import type { Job, JobState, Progress } from '../api/types';

// The list of jobs as the page has it: pages of the service behind each other, newest first, kept up to date.
export interface JobPage {
  total: number;
  next?: number;
  jobs: Job[];
}

export interface JobRows {
  rows: readonly Job[];
  total: number;
  next: number | null; // where the page behind the last one begins
}

export const noJobs: JobRows = { rows: [], total: 0, next: null };

const unfinished: readonly JobState[] = ['pending', 'queued', 'running', 'paused'];
export const isUnfinished = (job: Job): boolean => unfinished.includes(job.state);

// The newest jobs anew. What stood among them and is not there any more is gone; what stood behind them stays.
export function withFirstPage(before: JobRows, page: JobPage): JobRows {
  const next = page.next ?? null;
  const last = page.jobs.at(-1);
  const place = last ? before.rows.findIndex((job) => job.id === last.id) : -1;
  if (next === null || place < 0) return { rows: withProgressOf(before.rows, page.jobs), total: page.total, next };
  const fresh = new Set(page.jobs.map((job) => job.id));
  const behind = before.rows.slice(place + 1).filter((job) => !fresh.has(job.id));
  return { rows: [...withProgressOf(before.rows, page.jobs), ...behind], total: page.total, next: behind.length > 0 ? before.next : next };
}

// A process that has just begun a card has told nothing of it yet; what is known of a job that still runs is kept until more is.
function withProgressOf(before: readonly Job[], jobs: readonly Job[]): Job[] {
  const known = new Map(before.filter((job) => job.progress).map((job) => [job.id, job.progress!]));
  return jobs.map((job) => {
    const progress = job.state === 'running' && !job.progress ? known.get(job.id) : undefined;
    return progress ? { ...job, progress } : job;
  });
}

export function withNextPage(before: JobRows, page: JobPage): JobRows {
  const known = new Set(before.rows.map((job) => job.id));
  return { rows: [...before.rows, ...page.jobs.filter((job) => !known.has(job.id))], total: page.total, next: page.next ?? null };
}

export function withJob(before: JobRows, job: Job): JobRows {
  return { ...before, rows: before.rows.map((each) => (each.id === job.id ? job : each)) };
}

export function withoutJob(before: JobRows, id: string): JobRows {
  const rows = before.rows.filter((job) => job.id !== id);
  return { ...before, rows, total: before.total - (before.rows.length - rows.length) };
}

// How much is done, from 0 to 1; null where that is not known.
export function shareDone(progress: Progress | undefined | null): number | null {
  if (!progress) return null;
  const { step, total_steps, members, finished_members, trainings, total_trainings } = progress as Progress & { trainings?: number; total_trainings?: number };
  const share = (done: number | undefined, all: number | undefined) => (all ? Math.min(1, (done ?? 0) / all) : null);
  return share(step, total_steps) ?? share(trainings, total_trainings) ?? share(finished_members, members);
}

// Never more than is done; small shares have a digit behind the point.
export const percentOf = (share: number): string => `${share < 0.1 ? (Math.floor(1000 * share) / 10).toFixed(1) : Math.floor(100 * share)} %`;

export type JobAction = 'cancel' | 'pause' | 'resume' | 'continue' | 'remove';

// What may be asked of a job in its state; the service has the last word.
export function actionsFor(job: Job): JobAction[] {
  if (job.asked === 'delete') return [];
  switch (job.state) {
    case 'pending':
      return ['cancel', 'remove'];
    case 'queued':
    case 'running':
      return job.asked ? ['remove'] : ['pause', 'cancel', 'remove'];
    case 'paused':
      return ['resume', 'cancel', 'remove'];
    case 'failed':
    case 'cancelled':
      return ['resume', 'remove'];
    case 'completed':
      return job.kind === 'training' ? ['continue', 'remove'] : ['remove'];
  }
}

// States to ask the service for; "unfinished" stands for all that have not ended.
export const statesOf = (filter: string): string => (filter === 'unfinished' ? unfinished.join(',') : filter);

// Who stopped a job, to somebody of this name; what else ended it in its own words.
export function wordsOfStop(reason: string, me: string | undefined, words: { byYou: string; by: (name: string) => string }): string {
  const by = /^cancelled by (.+)$/s.exec(reason.trim())?.[1];
  if (by === undefined) return sentenceOfReason(reason);
  return by === me ? words.byYou : words.by(by);
}

// A reason may be the last words of a process; the sentence that says why is their last line.
export function sentenceOfReason(reason: string): string {
  const last = reason.split('\n').findLast((line) => line.trim() !== '') ?? '';
  return last.trim().replace(/^stoker: /, '');
}
