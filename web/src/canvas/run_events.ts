import type { ServerEvent } from '../api/event_text';
import type { JobState, Progress } from '../api/types';
import { neededFor, type Tree } from '../core/document';
import { own } from '../core/own';
import { GrowingCurve } from '../ui/curve';

// What the events of a job make of the cards, without anything of the page.

export type CardState = 'waiting' | 'running' | 'done' | 'reused' | 'failed' | 'cancelled' | 'not_run';

export interface CardRun {
  state: CardState;
  seconds: number | null;
  message: string; // why it failed
  setting: string; // that was wrong, where that is known
  notes: readonly string[]; // what it had to say, the last of them
}

export interface RunView {
  state: JobState | null;
  cards: Record<string, CardRun>;
  curves: Record<string, GrowingCurve>;
  progress: Progress | null;
  log: readonly string[];
  failure: string;
  ran: Tree | null;
  isStopping: boolean;
}

const ends = new Set(['completed', 'failed', 'cancelled', 'paused']);
const mostLines = 2000;
const mostNotes = 20;

const newCard: CardRun = { state: 'waiting', seconds: null, message: '', setting: '', notes: [] };
export const startCards = (ids: readonly string[]): Record<string, CardRun> => Object.fromEntries(ids.map((id) => [id, newCard]));

const numberOr = (value: unknown): number | null => (typeof value === 'number' ? value : null);

// "stoker: card split: column 'X' is not in the table"
export function failureIn(reason: string): { card: string; sentence: string } {
  const found = /(?:^|\n)(?:stoker: )?card ([^\s:]+): ([^\n]*)/.exec(reason);
  if (found) return { card: found[1]!, sentence: found[2]! };
  return { card: '', sentence: reason.split('\n').findLast((line) => line.trim() !== '')?.replace(/^stoker: /, '') ?? '' };
}

const withCard = <View extends RunView>(view: View, card: string, change: Partial<CardRun>): View => {
  const before = own(view.cards, card) ?? newCard;
  return { ...view, cards: { ...view.cards, [card]: { ...before, ...change } } };
};

function addEpoch<View extends RunView>(view: View, card: string, data: Record<string, unknown>): View {
  const known = own(view.curves, card);
  const curve = known ?? new GrowingCurve();
  if (!known) view.curves = { ...view.curves, [card]: curve };
  curve.add(Number(data.epoch), numberOr(data.train_loss), numberOr(data.validation_loss));
  return view;
}

function changeState<View extends RunView>(view: View, data: Record<string, unknown>): View {
  const state = String(data.state) as JobState;
  if (!ends.has(state)) {
    // Taken up again after it failed or was stopped: what was not done is waited for once more.
    const cards = Object.fromEntries(Object.entries(view.cards).map(([id, card]) =>
      [id, card.state === 'failed' || card.state === 'cancelled' || card.state === 'not_run' ? { ...card, state: 'waiting' as const, message: '', setting: '' } : card]));
    return { ...view, state, cards, failure: '', isStopping: false };
  }
  const next = { ...view, state, progress: null, isStopping: false };
  if (state !== 'failed') return endCards(next);
  const { card, sentence } = failureIn(String(data.reason ?? ''));
  let failed: View = { ...next, failure: sentence };
  // Where a request was wrong no record of its cards is left; those that the failing one needs were done.
  if (card && view.ran) for (const id of neededFor(view.ran, card)) if (failed.cards[id]?.state === 'waiting' || failed.cards[id]?.state === 'running') failed = withCard(failed, id, { state: 'done' });
  const guilty = card || Object.keys(failed.cards).find((id) => failed.cards[id]!.state === 'running');
  if (guilty && own(failed.cards, guilty)) failed = withCard(failed, guilty, { state: 'failed', message: sentence });
  return endCards(failed);
}

// What was under way when the job ended was stopped; what was waited for never began.
const endCards = <View extends RunView>(view: View): View => ({
  ...view,
  cards: Object.fromEntries(Object.entries(view.cards).map(([id, card]): [string, CardRun] =>
    [id, card.state === 'running' ? { ...card, state: 'cancelled' } : card.state === 'waiting' ? { ...card, state: 'not_run' } : card])),
});

// The same words each time that a run is taken up again are one note.
function addNote<View extends RunView>(view: View, card: string, words: string): View {
  const notes = own(view.cards, card)?.notes ?? [];
  return notes.includes(words) ? view : withCard(view, card, { notes: [...notes, words].slice(-mostNotes) });
}

export function applyEvent<View extends RunView>(view: View, { name, data }: ServerEvent): View {
  const card = String(data.card ?? '');
  switch (name) {
    case 'state':
      return changeState(view, data);
    case 'card_started':
      return withCard(view, card, { state: 'running', notes: [] });
    case 'card_finished':
      return withCard(view, card, { state: data.reused ? 'reused' : 'done', seconds: numberOr(data.seconds) });
    case 'epoch_finished':
      return addEpoch(view, card, data);
    case 'progress':
      return { ...view, progress: data as Progress };
    case 'note':
      return card ? addNote(view, card, String(data.message ?? '')) : view;
    case 'run_failed':
      return card ? withCard(view, card, { state: 'failed', message: failureIn(String(data.error ?? '')).sentence, setting: String(data.setting ?? '') }) : view;
    case 'log':
      return { ...view, log: [...view.log, String(data.line ?? '')].slice(-mostLines) };
    default:
      return view;
  }
}
