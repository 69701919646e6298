import { describe, expect, it } from 'vitest';
import type { Job } from '../api/types';
import { actionsFor, percentOf, sentenceOfReason, shareDone, statesOf, withFirstPage, withNextPage, withoutJob, wordsOfStop, type JobRows } from './job_rows';

const job = (id: string, more: Partial<Job> = {}): Job => ({
  id, job_name: id, state: 'completed', kind: 'training', priority: 0, device: 'auto', owner: 'me', created: '', run: id, ...more,
});
const ids = (rows: JobRows) => rows.rows.map((each) => each.id).join('');
const rows = (names: string, next: number | null): JobRows => ({ rows: [...names].map((name) => job(name)), total: names.length, next });
const page = (names: string, next?: number) => ({ total: 9, jobs: [...names].map((name) => job(name)), ...(next ? { next } : {}) });

describe('the newest jobs anew', () => {
  it('push those before down and keep what stands behind them', () => {
    const after = withFirstPage(rows('abcdef', 1), page('xab', 7));
    expect(ids(after)).toBe('xabcdef');
    expect(after.next).toBe(1);
  });
  it('drop a job that was deleted among them', () => expect(ids(withFirstPage(rows('abcdef', 1), page('acd', 5)))).toBe('acdef'));
  it('are all there is where none follow', () => expect(ids(withFirstPage(rows('abcdef', 1), page('ab')))).toBe('ab'));
  it('stand alone where they have nothing in common with those before', () => {
    const after = withFirstPage(rows('abc', 1), page('xyz', 4));
    expect(ids(after)).toBe('xyz');
    expect(after.next).toBe(4);
  });
  it('keep the progress of a job that still runs, and drop that of one that has ended', () => {
    const before: JobRows = { rows: [job('a', { state: 'running', progress: { step: 5 } })], total: 1, next: null };
    expect(withFirstPage(before, { total: 1, jobs: [job('a', { state: 'running' })] }).rows[0]!.progress).toEqual({ step: 5 });
    expect(withFirstPage(before, { total: 1, jobs: [job('a')] }).rows[0]!.progress).toBeUndefined();
  });
  it('come with the progress that they have made', () => {
    const before: JobRows = { rows: [job('a', { state: 'running', progress: { step: 5 } })], total: 1, next: null };
    expect(withFirstPage(before, { total: 1, jobs: [job('a', { state: 'running', progress: { step: 7 } })] }).rows[0]!.progress).toEqual({ step: 7 });
  });
});

it('a page behind the others has no job twice', () => expect(ids(withNextPage(rows('abc', 3), page('cde')))).toBe('abcde'));

it('a job that is taken out is counted out', () => {
  expect(withoutJob(rows('abc', null), 'b')).toMatchObject({ total: 2 });
  expect(withoutJob(rows('abc', null), 'x')).toMatchObject({ total: 3 });
});

it('who stopped a job is told, to themselves as to others', () => {
  const words = { byYou: 'You stopped it.', by: (name: string) => `${name} stopped it.` };
  expect(wordsOfStop('cancelled by first', 'first', words)).toBe('You stopped it.');
  expect(wordsOfStop('cancelled by anna', 'first', words)).toBe('anna stopped it.');
  expect(wordsOfStop('its time limit of 5 s was reached', 'first', words)).toBe('its time limit of 5 s was reached');
});

it('how much is done comes from steps, trainings or members', () => {
  expect(shareDone({ step: 5, total_steps: 20 })).toBe(0.25);
  expect(shareDone({ members: 4, finished_members: 1 })).toBe(0.25);
  expect(shareDone({ trainings: 3, total_trainings: 4 } as never)).toBe(0.75);
  expect(shareDone({ card: 'load' })).toBeNull();
  expect(shareDone(null)).toBeNull();
});

it('what may be asked of a job follows its state', () => {
  expect(actionsFor(job('a', { state: 'running' }))).toEqual(['pause', 'cancel', 'remove']);
  expect(actionsFor(job('a', { state: 'running', asked: 'cancel' }))).toEqual(['remove']);
  expect(actionsFor(job('a', { state: 'paused' }))).toContain('resume');
  expect(actionsFor(job('a'))).toContain('continue');
  expect(actionsFor(job('a', { kind: 'sweep' }))).not.toContain('continue');
  expect(actionsFor(job('a', { asked: 'delete' }))).toEqual([]);
});

it('unfinished stands for every state that is no end', () => {
  expect(statesOf('unfinished')).toBe('pending,queued,running,paused');
  expect(statesOf('failed')).toBe('failed');
  expect(statesOf('')).toBe('');
});

it('the sentence of a reason is the last line of what its process said', () => {
  expect(sentenceOfReason("its process ended with exit code 2; its last words:\n  load  data_load\nstoker: card train: there is no column 'z'\n")).toBe("card train: there is no column 'z'");
  expect(sentenceOfReason('stopped by its time limit')).toBe('stopped by its time limit');
});

it('a share is told in percent, never as more than it is', () => {
  expect(percentOf(0.0019)).toBe('0.1 %');
  expect(percentOf(0.999)).toBe('99 %');
  expect(percentOf(1)).toBe('100 %');
});
