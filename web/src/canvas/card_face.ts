import { useMemo } from 'react';
import type { Problem } from '../api/client';
import { cardOf, configOf, connectionsTo, neededFor, typeOf, type Tree } from '../core/document';
import { sameValue } from '../core/document_text';
import { summaryOf } from '../core/form';
import { missingInputs, type CardTypes } from '../core/ports';
import { text } from '../text';
import { count, time } from '../ui/format';
import { useCanvas } from './canvas_store';
import { useTables } from './tables';
import { useRun } from './run_store';

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

export function useCardFace(id: string): CardFace {
  const types = useCanvas((state) => state.types);
  const document = useCanvas((state) => state.history.now);
  const faults = useCanvas((state) => problemsOf(state.problems, id).length);
  const card = useRun((state) => state.cards[id]);
  const ran = useRun((state) => state.ran);
  const progress = useRun((state) => (state.progress?.card === id ? state.progress : null));
  const table = useTables((state) => state.sizes[id]);
  const result = useTables((state) => state.results[id]);
  const epochs = useRun((state) => state.curves[id]?.last);
  return useMemo(() => {
    const type = types.get(typeOf(document, id));
    const face: CardFace = { title: type?.title ?? typeOf(document, id), line: idleLine(types, document, id), foot: '', state: '', share: null };
    if (!type) return { ...face, line: text.canvas.unknownType(typeOf(document, id)) };
    if (faults > 0) face.foot = text.canvas.problem(faults);
    if (!card) return face;
    if (isEdited(document, ran, id)) return { ...face, foot: face.foot || text.canvas.edited };
    face.state = card.state;
    const isDone = card.state === 'done' || card.state === 'reused';
    if (isDone && epochs) face.line = text.canvas.epochs(count(epochs));
    if (isDone && result) face.line = result;
    if (isDone && table) face.line = text.canvas.rowsBy(count(table.rows), count(table.columns));
    if (card.state === 'waiting') face.line = text.canvas.waitsFor(connectionsTo(document, id).map((each) => each.from).filter((each, place, all) => all.indexOf(each) === place).join(', ')) || face.line;
    if (card.state === 'waiting' && connectionsTo(document, id).length === 0) face.line = idleLine(types, document, id);
    if (card.state === 'done' && card.seconds !== null) face.foot = time(card.seconds);
    if (card.state === 'reused') face.foot = text.canvas.unchanged;
    if (card.state === 'failed') face.line = card.message;
    if (card.state === 'running' && progress?.total_steps) {
      face.share = (progress.step ?? 0) / progress.total_steps;
      if (progress.epoch) face.line = text.canvas.epoch(count(progress.epoch));
      if (progress.seconds_left) face.foot = text.canvas.left(time(progress.seconds_left));
    }
    return face;
  }, [types, document, faults, card, ran, progress, table, result, epochs, id]);
}
