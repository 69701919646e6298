import { useMemo } from 'react';
import { trainedNodes } from '../core/node_graph';
import { own } from '../core/own';
import { text } from '../text';
import { useCanvas } from './canvas_store';
import { faceOf, missingCards, problemsOf, type CardFace } from './face';
import { insideOf, shownProblems, shownTree, shownTypes } from './level';
import { useRun } from './run_store';
import { useTables } from './tables';

export function useCardFace(id: string): CardFace {
  const inside = useCanvas(insideOf);
  const types = useCanvas(shownTypes);
  const document = useCanvas(shownTree);
  const isTrained = useCanvas((state) => inside !== null && trainedNodes(state.history.now, inside).includes(id));
  const faults = useCanvas((state) => problemsOf(shownProblems(state), id).length);
  const card = useRun((state) => own(state.cards, id));
  const missing = useRun((state) => (own(state.cards, id)?.state === 'waiting' ? missingCards(document, state.cards, id) : ''));
  const ran = useRun((state) => state.ran);
  const progress = useRun((state) => (state.progress?.card === id ? state.progress : null));
  const table = useTables((state) => own(state.sizes, id));
  const result = useTables((state) => own(state.results, id));
  const epochs = useRun((state) => own(state.curves, id)?.last);
  return useMemo(() => {
    if (inside === null) return faceOf({ types, document, faults, card, missing, ran, progress, table, result, epochs }, id);
    // A node has no run of its own.
    const face = faceOf({ types, document, faults, card: undefined, missing: '', ran: null, progress: null, table: undefined, result: undefined, epochs: undefined }, id);
    return isTrained && faults === 0 ? { ...face, foot: text.graph.trainedFoot(id) } : face;
  }, [inside, isTrained, types, document, faults, card, missing, ran, progress, table, result, epochs, id]);
}
