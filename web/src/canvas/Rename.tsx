import { useEffect, useState } from 'react';
import { cardIds, renameCard } from '../core/document';
import { text } from '../text';
import { Field } from '../ui/Field';
import { edit, select, useCanvas } from './canvas_store';
import { insideOf, shownTree } from './level';

// Of a card, or of a node of a graph.
export function Rename({ card }: { card: string }) {
  const ids = useCanvas((state) => cardIds(shownTree(state)).join('\n'));
  const isInside = useCanvas((state) => insideOf(state) !== null);
  const [name, setName] = useState(card);
  useEffect(() => setName(card), [card]);
  const error = name === card ? '' : !/^(?!\d+$)[A-Za-z0-9_-]+$/.test(name) ? text.inspector.nameWrong : ids.split('\n').includes(name) ? (isInside ? text.graph.nameTaken : text.inspector.nameTaken) : '';
  const finish = () => {
    if (error || name === card) return setName(card);
    edit((now) => renameCard(now, card, name));
    select([name]);
  };
  return (
    <Field label={isInside ? text.graph.rename : text.inspector.rename} error={error}>
      {(given) => <input {...given} className="input" value={name} onChange={(event) => setName(event.target.value)} onBlur={finish} onKeyDown={(event) => event.key === 'Enter' && finish()} />}
    </Field>
  );
}
