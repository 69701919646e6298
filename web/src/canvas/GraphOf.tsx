import { cardIds, connectionsOf } from '../core/document';
import { graphOf } from '../core/node_graph';
import { text } from '../text';
import { Button } from '../ui/Button';
import { goInside, useCanvas } from './canvas_store';

// The graph of nodes that the card's model is, in a line, and the way to it.
export function GraphOf({ card }: { card: string }) {
  const document = useCanvas((state) => state.history.now);
  const graph = graphOf(document, card);
  return (
    <section className="gap">
      <h2>{text.graph.title}</h2>
      <div className="row">
        <span className="grow secondary num">{text.graph.size(cardIds(graph).length, connectionsOf(graph).length)}</span>
        <Button onClick={() => goInside(card)}>{text.graph.open}</Button>
      </div>
    </section>
  );
}
