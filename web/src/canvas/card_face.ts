import { useMemo } from 'react';
import { useCanvas } from './canvas_store';
import { faceOf, missingCards, problemsOf, type CardFace } from './face';
import { useRun } from './run_store';
import { useTables } from './tables';

export function useCardFace(id: string): CardFace {
  const types = useCanvas((state) => state.types);
  const document = useCanvas((state) => state.history.now);
  const faults = useCanvas((state) => problemsOf(state.problems, id).length);
  const card = useRun((state) => state.cards[id]);
  const missing = useRun((state) => (state.cards[id]?.state === 'waiting' ? missingCards(document, state.cards, id) : ''));
  const ran = useRun((state) => state.ran);
  const progress = useRun((state) => (state.progress?.card === id ? state.progress : null));
  const table = useTables((state) => state.sizes[id]);
  const result = useTables((state) => state.results[id]);
  const epochs = useRun((state) => state.curves[id]?.last);
  return useMemo(() => faceOf({ types, document, faults, card, missing, ran, progress, table, result, epochs }, id), [types, document, faults, card, missing, ran, progress, table, result, epochs, id]);
}
