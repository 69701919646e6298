import type { Problem } from '../api/client';
import type { CardType, NodeType } from '../api/types';
import { cardOf, configOf, typeOf, type Tree } from '../core/document';
import { familyOf } from '../core/form';
import { arranged } from '../core/layout';
import { graphOf, placeInGraph } from '../core/node_graph';
import type { CardTypes } from '../core/ports';
import type { CanvasState } from './canvas_store';

// What is on the canvas: the document, or the graph of nodes inside one of its cards, which is then drawn and edited as
// if it were a document whose cards are the nodes.

// A node as a card of that type; what it gives and takes has shapes beside types.
export const asCardType = (node: NodeType): CardType => ({
  name: node.name,
  version: 1,
  title: node.name,
  help: node.help,
  inputs: node.inputs.map((port) => ({ ...port, several: false })),
  outputs: node.outputs,
  trains: false,
  settings: node.settings,
  order: node.order,
  more_settings: [],
  kind: node.kind,
  hasTrainable: node.trains,
});

type Seen = Pick<CanvasState, 'history' | 'types' | 'nodeTypes' | 'graphFamily' | 'inside'>;

export function isGraph({ types, graphFamily }: Pick<CanvasState, 'types' | 'graphFamily'>, document: Tree, id: string): boolean {
  const type = types.get(typeOf(document, id));
  return type !== undefined && graphFamily !== '' && familyOf(type, configOf(document, id)) === graphFamily;
}

// The card whose graph is shown; null where it is gone or is no longer one.
export const insideOf = (state: Seen): string | null =>
  state.inside !== null && isGraph(state, state.history.now, state.inside) ? state.inside : null;

// Nodes stand where arranging puts them: a document has no place for their places. Always the same tree for a card that
// has not changed.
const mostColumns = 5;
const graphs = new WeakMap<Tree, Tree>();
function graphInside(document: Tree, id: string): Tree {
  const card = cardOf(document, id);
  let graph = graphs.get(card);
  if (!graph) {
    const bare = graphOf(document, id);
    graphs.set(card, (graph = { ...bare, layout: arranged(bare, mostColumns) }));
  }
  return graph;
}

export function shownTree(state: Seen): Tree {
  const inside = insideOf(state);
  return inside === null ? state.history.now : graphInside(state.history.now, inside);
}

export const shownTypes = (state: Seen): CardTypes => (insideOf(state) === null ? state.types : state.nodeTypes);

const placed = new WeakMap<readonly Problem[], Map<Tree, readonly Problem[]>>();
function placedIn(problems: readonly Problem[], document: Tree, id: string): readonly Problem[] {
  const known = placed.get(problems) ?? new Map<Tree, readonly Problem[]>();
  placed.set(problems, known);
  const card = cardOf(document, id);
  let found = known.get(card);
  if (!found) {
    found = problems.flatMap((each) => {
      const path = placeInGraph(document, id, each.path);
      return path === null ? [] : [{ ...each, path }];
    });
    known.set(card, found);
  }
  return found;
}

export function shownProblems(state: Seen & Pick<CanvasState, 'problems'>): readonly Problem[] {
  const inside = insideOf(state);
  return inside === null ? state.problems : placedIn(state.problems, state.history.now, inside);
}

const noWarnings: readonly Problem[] = [];
export const shownWarnings = (state: Seen & Pick<CanvasState, 'warnings'>): readonly Problem[] => (insideOf(state) === null ? state.warnings : noWarnings);
