import { create } from 'zustand';
import { get, post, sentenceOf } from '../api/client';
import { listenToJob, type ServerEvent } from '../api/events';
import type { Job, JobState, Progress } from '../api/types';
import { cardIds, neededFor, type Tree } from '../core/document';
import { readText } from '../core/document_text';
import { text } from '../text';
import type { GrowingCurve } from '../ui/curve';
import { check, say, tree, useCanvas } from './canvas_store';
import { applyEvent, startCards, type CardRun } from './run_events';
import { save } from './saving';
import { forgetSizes } from './tables';

interface RunState {
  job: string | null;
  state: JobState | null;
  run: string; // folder
  cards: Record<string, CardRun>;
  curves: Record<string, GrowingCurve>; // by card
  progress: Progress | null;
  log: readonly string[];
  failure: string;
  ran: Tree | null; // the document that it runs
  isStopping: boolean;
}

const nothing = (): RunState => ({ job: null, state: null, run: '', cards: {}, curves: {}, progress: null, log: [], failure: '', ran: null, isStopping: false });

export const useRun = create<RunState>(nothing);
export const isUnderWay = (state: JobState | null) => state === 'pending' || state === 'queued' || state === 'running';

let stopListening: (() => void) | null = null;
let waiting: ServerEvent[] = [];
let due: ReturnType<typeof setTimeout> | null = null;

// Thousands of epochs may come at once; the page is drawn ten times a second at most.
function take(event: ServerEvent) {
  waiting.push(event);
  due ??= setTimeout(applyWaiting, 100);
}

function applyWaiting() {
  if (due) clearTimeout(due);
  due = null;
  const events = waiting;
  waiting = [];
  if (events.length === 0) return;
  useRun.setState((state) => events.reduce(applyEvent, { ...state, cards: { ...state.cards }, curves: { ...state.curves }, log: [...state.log] }));
}

export function forgetRun() {
  stopListening?.();
  stopListening = null;
  waiting = [];
  useRun.setState(nothing());
}

// A run belongs to its document: with another one on the page, it is no longer shown.
useCanvas.subscribe((now, before) => {
  if (now.id !== before.id) forgetRun();
});

export function follow(job: Job, ran: Tree, card = '') {
  forgetRun();
  forgetSizes();
  const scope = card && cardIds(ran).includes(card) ? [...neededFor(ran, card)] : cardIds(ran);
  useRun.setState({ ...nothing(), job: job.id, state: job.state, run: job.run, cards: startCards(scope), ran });
  stopListening = listenToJob(job.id, { onEvent: take, onEnd: applyWaiting });
}

// The last job of the document, so that a page that was loaded again shows what goes on.
export async function findRun(id: string) {
  try {
    const { jobs } = await get<{ jobs: Job[] }>(`/api/training/jobs?document=${id}&limit=1`);
    const last = jobs[0];
    if (!last || useCanvas.getState().id !== id || useRun.getState().job === last.id) return;
    const job = await get<Job & { request?: { card?: string } }>(`/api/training/jobs/${last.id}`);
    const { content } = await get<{ content: string }>(`/api/documents/${id}/versions/${job.document_version}`);
    if (useCanvas.getState().id === id) follow(job, readText(content).tree, job.request?.card ?? '');
  } catch (error) {
    say(sentenceOf(error), true);
  }
}

// All of the document, or one card with what it needs. It is saved first: a run belongs to a version.
let isStarting = false;

export async function startRun(card = '') {
  if (isStarting) return;
  isStarting = true;
  try {
    await start(card);
  } finally {
    isStarting = false;
  }
}

async function start(card: string) {
  if (cardIds(tree()).length === 0) return say(text.canvas.nothingToRun, true);
  const checked = await check();
  if (checked && !checked.valid) return say(text.canvas.problems(checked.problems.length), true);
  forgetRun(); // what an older run told is no answer to this one
  forgetSizes();
  say('');
  if (!(await save())) return;
  const { id, version } = useCanvas.getState();
  const ran = tree();
  try {
    const job = await post<Job>(`/api/documents/${id}/run`, { version, ...(card ? { card } : {}) });
    say('');
    follow(job, ran, card);
  } catch (error) {
    say(sentenceOf(error), true);
  }
}

export async function stopRun() {
  const { job } = useRun.getState();
  if (!job) return;
  useRun.setState({ isStopping: true });
  try {
    await post(`/api/training/jobs/${job}/cancel`);
  } catch (error) {
    useRun.setState({ isStopping: false });
    say(sentenceOf(error), true);
  }
}
