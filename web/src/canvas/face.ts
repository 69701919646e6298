import type { Problem } from '../api/client';
import type { Progress } from '../api/types';
import { cardOf, configOf, connectionsTo, neededFor, typeOf, type Tree } from '../core/document';
import { sameValue } from '../core/document_text';
import { summaryOf } from '../core/form';
import { missingInputs, type CardTypes } from '../core/ports';
import { own } from '../core/own';
import { text } from '../text';
import { count, time } from '../ui/format';
import type { CardRun } from './run_events';

// What a card shows of itself, from what is known of it, without anything of the page.

export interface CardFace {
  title: string;
  line: string; // what it holds now
  foot: string;
  state: string; // empty: it was never run
  share: number | null; // of a training that is under way
}

export const problemsOf = (problems: readonly Problem[], id: string) =>
  problems.filter((each) => each.path === `cards.${id}` || each.path.startsWith(`cards.${id}.`));

// Whether a card, or one that it needs, is another than the one that was run.
export function isEdited(now: Tree, ran: Tree | null, id: string): boolean {
  if (!ran || now === ran) return false;
  return [...neededFor(now, id)].some((each) => !sameValue(cardOf(now, each), cardOf(ran, each)));
}

function idleLine(types: CardTypes, document: Tree, id: string): string {
  const missing = missingInputs(types, document, id)[0];
  if (missing) return text.canvas.needs(missing.name);
  return summaryOf(types.get(typeOf(document, id)), configOf(document, id));
}

export interface Seen {
  types: CardTypes;
  document: Tree;
  faults: number;
  card: CardRun | undefined; // in the last run
  missing: string; // cards that this one reads from and that are not done yet
  ran: Tree | null;
  progress: Progress | null; // of this card
  table: { rows: number; columns: number; cube?: string } | undefined;
  result: string | undefined;
  epochs: number | undefined; // that were trained
}

const isOver = (card: CardRun | undefined) => card?.state === 'done' || card?.state === 'reused';

export const missingCards = (document: Tree, cards: Readonly<Record<string, CardRun>>, id: string): string =>
  [...new Set(connectionsTo(document, id).map((each) => each.from))].filter((each) => !isOver(own(cards, each))).join(', ');

function runningFace(face: CardFace, card: CardRun, progress: Progress | null): CardFace {
  if (card.state !== 'running' || !progress?.total_steps) return face;
  return {
    ...face,
    share: (progress.step ?? 0) / progress.total_steps,
    line: progress.epoch ? text.canvas.epoch(count(progress.epoch), progress.epochs ? count(progress.epochs) : '') : face.line,
    foot: progress.seconds_left ? text.canvas.left(time(progress.seconds_left)) : face.foot,
  };
}

function doneLine({ table, result, epochs }: Seen): string {
  if (table?.cube) return text.canvas.cubesBy(count(table.rows), table.cube);
  if (table) return text.canvas.rowsBy(count(table.rows), count(table.columns));
  return result ?? (epochs ? text.canvas.epochs(count(epochs)) : '');
}

export function faceOf(seen: Seen, id: string): CardFace {
  const { types, document, faults, ran } = seen;
  const type = types.get(typeOf(document, id));
  const face: CardFace = { title: type?.title ?? typeOf(document, id), line: idleLine(types, document, id), foot: '', state: '', share: null };
  if (!type) return { ...face, line: text.canvas.unknownType(typeOf(document, id)) };
  if (faults > 0) face.foot = text.canvas.problem(faults);
  const { card } = seen;
  if (!card) return face;
  const edited = isEdited(document, ran, id) ? text.canvas.edited : '';
  // What is under way is of more interest than that it was edited meanwhile.
  if (card.state === 'running') {
    const running = runningFace({ ...face, state: card.state }, card, seen.progress);
    return { ...running, foot: [running.foot, edited].filter(Boolean).join(' · ') };
  }
  if (card.state === 'waiting') return { ...face, state: card.state, line: seen.missing ? text.canvas.waitsFor(seen.missing) : text.canvas.waitsForTurn, foot: face.foot || edited };
  if (edited) return { ...face, foot: face.foot || edited };
  if (card.state === 'failed') return { ...face, state: card.state, line: card.message };
  if (!isOver(card)) return { ...face, state: card.state };
  const foot = card.state === 'reused' ? text.canvas.unchanged : card.seconds === null ? '' : time(card.seconds);
  return { ...face, state: card.state, line: doneLine(seen) || face.line, foot: foot || face.foot };
}
