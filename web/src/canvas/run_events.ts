import type { ServerEvent } from '../api/event_text';
import type { JobState, Progress } from '../api/types';
import { neededFor, type Tree } from '../core/document';
import { GrowingCurve } from '../ui/curve';

// What the events of a job make of the cards, without anything of the page.

export type CardState = 'waiting' | 'running' | 'done' | 'reused' | 'failed' | 'cancelled';

export interface CardRun {
  state: CardState;
  seconds: number | null;
  message: string; // why it failed, or what it noted last
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

export const startCards = (ids: readonly string[]): Record<string, CardRun> =>
  Object.fromEntries(ids.map((id) => [id, { state: 'waiting' as const, seconds: null, message: '' }]));

const numberOr = (value: unknown): number | null => (typeof value === 'number' ? value : null);

// "stoker: card split: column 'X' is not in the table"
export function failureIn(reason: string): { card: string; sentence: string } {
  const found = /(?:^|\n)(?:stoker: )?card ([^\s:]+): ([^\n]*)/.exec(reason);
  if (found) return { card: found[1]!, sentence: found[2]! };
  return { card: '', sentence: reason.split('\n').findLast((line) => line.trim() !== '')?.replace(/^stoker: /, '') ?? '' };
}

const withCard = <View extends RunView>(view: View, card: string, change: Partial<CardRun>): View => {
  const before = view.cards[card] ?? { state: 'waiting', seconds: null, message: '' };
  return { ...view, cards: { ...view.cards, [card]: { ...before, ...change } } };
};

function addEpoch<View extends RunView>(view: View, card: string, data: Record<string, unknown>): View {
  const curve = (view.curves[card] ??= new GrowingCurve());
  curve.add(Number(data.epoch), numberOr(data.train_loss), numberOr(data.validation_loss));
  return view;
}

function changeState<View extends RunView>(view: View, data: Record<string, unknown>): View {
  const state = String(data.state) as JobState;
  if (!ends.has(state)) {
    // Taken up again after it failed or was stopped: what was not done is waited for once more.
    const cards = Object.fromEntries(Object.entries(view.cards).map(([id, card]) =>
      [id, card.state === 'failed' || card.state === 'cancelled' ? { ...card, state: 'waiting' as const, message: '' } : card]));
    return { ...view, state, cards, failure: '', isStopping: false };
  }
  const next = { ...view, state, progress: null, isStopping: false };
  if (state !== 'failed') return endCards(next, 'cancelled');
  const { card, sentence } = failureIn(String(data.reason ?? ''));
  let failed: View = { ...next, failure: sentence };
  // Where a request was wrong no record of its cards is left; those that the failing one needs were done.
  if (card && view.ran) for (const id of neededFor(view.ran, card)) if (failed.cards[id]?.state === 'waiting' || failed.cards[id]?.state === 'running') failed = withCard(failed, id, { state: 'done' });
  const guilty = card || Object.keys(failed.cards).find((id) => failed.cards[id]!.state === 'running');
  if (guilty && failed.cards[guilty]) failed = withCard(failed, guilty, { state: 'failed', message: sentence });
  return endCards(failed, 'cancelled');
}

// What was under way when the job ended, or was waited for, does not come.
const endCards = <View extends RunView>(view: View, as: CardState): View => ({
  ...view,
  cards: Object.fromEntries(Object.entries(view.cards).map(([id, card]) => [id, card.state === 'running' || card.state === 'waiting' ? { ...card, state: as } : card])),
});

export function applyEvent<View extends RunView>(view: View, { name, data }: ServerEvent): View {
  const card = String(data.card ?? '');
  switch (name) {
    case 'state':
      return changeState(view, data);
    case 'card_started':
      return withCard(view, card, { state: 'running' });
    case 'card_finished':
      return withCard(view, card, { state: data.reused ? 'reused' : 'done', seconds: numberOr(data.seconds) });
    case 'epoch_finished':
      return addEpoch(view, card, data);
    case 'progress':
      return { ...view, progress: data as Progress };
    case 'note':
      return card ? withCard(view, card, { message: String(data.message ?? '') }) : view;
    case 'log':
      return { ...view, log: [...view.log, String(data.line ?? '')].slice(-mostLines) };
    default:
      return view;
  }
}
