import { create } from 'zustand';
import { get, post, sentenceOf, type Problem } from '../api/client';
import type { CardType, Checked, GraphPorts, NodeType } from '../api/types';
import { cardIds, copyCards, emptyDocument, pasteCards, removeCards, typeOf, type Connection, type Tree } from '../core/document';
import { readText, writeText, type Form } from '../core/document_text';
import { change, redo, startHistory, undo, type History } from '../core/history';
import { withGraph } from '../core/node_graph';
import type { CardTypes } from '../core/ports';
import { text } from '../text';
import { asCardType, insideOf, shownTree, shownTypes } from './level';

export interface Message {
  words: string;
  isBad: boolean;
}

export interface CanvasState {
  types: CardTypes;
  nodeTypes: CardTypes; // of nodes in a model that is a graph of them
  graphFamily: string; // what the family of such models is called
  history: History;
  origin: string; // the text that was saved or opened last
  form: Form;
  id: string | null; // of the saved document
  project: string;
  version: number; // that origin is; 0: it was never saved
  inside: string | null; // the card whose graph is to be seen in place of the document (level.ts)
  selected: readonly string[]; // cards, or nodes of the graph
  selectedWire: Connection | null;
  problems: readonly Problem[];
  warnings: readonly Problem[]; // of what may run and is most likely not meant
  notes: readonly string[];
  upgradeNotes: readonly string[]; // what became of a document in another form, until another one is opened
  columns: Readonly<Record<string, readonly string[]>>; // by card, of the table that it reads, as far as they are known
  graphs: GraphPorts; // as the last check of a document without problems has told them
  candidates: number; // of a document with searched settings
  message: Message | null;
  isSaving: boolean;
  newest: number; // a version that somebody else has saved meanwhile; 0: none
  isLoaded: boolean;
}

const initial = (): Omit<CanvasState, 'types' | 'nodeTypes' | 'graphFamily'> => ({
  history: startHistory(emptyDocument),
  origin: '',
  form: 'yaml',
  id: null,
  project: '',
  version: 0,
  inside: null,
  selected: [],
  selectedWire: null,
  problems: [],
  warnings: [],
  notes: [],
  upgradeNotes: [],
  columns: {},
  graphs: {},
  candidates: 0,
  message: null,
  isSaving: false,
  newest: 0,
  isLoaded: false,
});

export const useCanvas = create<CanvasState>(() => ({ types: new Map(), nodeTypes: new Map(), graphFamily: '', ...initial() }));

export const tree = (): Tree => useCanvas.getState().history.now;
export const currentText = (): string => {
  const { history, origin, form } = useCanvas.getState();
  return writeText(history.now, origin, form);
};
const cleanOf = new WeakMap<Tree, { origin: string; version: number; isChanged: boolean }>();
// Whether there is something to save.
export function isChanged({ history, origin, form, version }: CanvasState): boolean {
  const known = cleanOf.get(history.now);
  if (known && known.origin === origin && known.version === version) return known.isChanged;
  const isChanged = version === 0 ? cardIds(history.now).length > 0 : writeText(history.now, origin, form) !== origin;
  cleanOf.set(history.now, { origin, version, isChanged });
  return isChanged;
}

export const say = (words: string, isBad = false) => useCanvas.setState({ message: words ? { words, isBad } : null });

export async function loadTypes() {
  if (useCanvas.getState().types.size > 0) return;
  const [{ cards }, { nodes, model_type }] = await Promise.all([
    get<{ cards: CardType[] }>('/api/cards'),
    get<{ nodes: NodeType[]; model_type: string }>('/api/nodes'),
  ]);
  useCanvas.setState({
    types: new Map(cards.map((card) => [card.name, card])),
    nodeTypes: new Map(nodes.map((node) => [node.name, asCardType(node)])),
    graphFamily: model_type,
  });
}

// After the document has changed, or another part of it is shown: what is gone is no longer selected.
function withHistory(history: History): Partial<CanvasState> {
  const state = { ...useCanvas.getState(), history };
  const inside = insideOf(state);
  const left = new Set(inside === state.inside ? cardIds(shownTree(state)) : []);
  return { history, inside, selected: state.selected.filter((id) => left.has(id)) };
}

// Edits with the same name, one right after the other, are undone together.
export function editDocument(make: (now: Tree) => Tree, name = '') {
  const { history } = useCanvas.getState();
  const next = change(history, make(history.now), name);
  if (next !== history) useCanvas.setState({ ...withHistory(next), message: null });
}

// What is on the canvas: the document, or the graph of a card in it.
export function edit(make: (now: Tree) => Tree, name = '') {
  const state = useCanvas.getState();
  const inside = insideOf(state);
  if (inside === null) return editDocument(make, name);
  editDocument((now) => withGraph(now, inside, make(shownTree(state))), name && `${inside}/${name}`);
}

const step = (by: (history: History) => History) => useCanvas.setState(withHistory(by(useCanvas.getState().history)));
export const shown = (): Tree => shownTree(useCanvas.getState());
export const shownCardTypes = (): CardTypes => shownTypes(useCanvas.getState());

// Into the graph of a card, or back to the document that it is in.
export function goInside(card: string | null) {
  const { inside } = useCanvas.getState();
  if (card === inside) return;
  useCanvas.setState({ inside: card, selected: card === null && inside !== null ? [inside] : [], selectedWire: null, message: null });
}

export const undoEdit = () => step(undo);
export const redoEdit = () => step(redo);

export function select(ids: readonly string[]) {
  const { selected, selectedWire } = useCanvas.getState();
  if (!selectedWire && ids.length === selected.length && ids.every((id, place) => id === selected[place])) return;
  useCanvas.setState({ selected: ids, selectedWire: null });
}

const clipboardKey = 'stoker-copied';

export function copySelected() {
  const { selected } = useCanvas.getState();
  if (selected.length === 0) return;
  const copied = writeText(copyCards(shown(), selected), '', 'yaml');
  sessionStorage.setItem(clipboardKey, copied);
  // Other programs and tabs get the text; where a page may not write there, this one has it all the same.
  void navigator.clipboard?.writeText(copied).catch(() => {});
  say(text.canvas.copied(selected.length));
}

const otherTypes = (): CardTypes => (shownCardTypes() === useCanvas.getState().types ? useCanvas.getState().nodeTypes : useCanvas.getState().types);

export function paste(content = sessionStorage.getItem(clipboardKey) ?? '') {
  if (!content) return;
  try {
    const copied = readText(content).tree;
    const stranger = cardIds(copied).map((id) => typeOf(copied, id)).find((type) => !shownCardTypes().has(type) && otherTypes().has(type));
    if (stranger !== undefined) return say(text.canvas.notHere(stranger), true);
    let ids: string[] = [];
    edit((now) => {
      const pasted = pasteCards(now, copied, [40, 40]);
      ids = pasted.ids;
      return pasted.document;
    });
    select(ids);
  } catch (error) {
    say(sentenceOf(error), true);
  }
}

export function removeSelected() {
  const { selected } = useCanvas.getState();
  if (selected.length > 0) edit((now) => removeCards(now, selected));
}

export interface Opened {
  content: string;
  id?: string | null;
  project?: string;
  version?: number;
  draft?: string; // what was typed on top of it
  upgraded?: string; // the same in today's form, where it is in another one that only the service can read
  upgradeNotes?: readonly string[]; // and what the service said of it
}

// Throws where the text is no document; the one that is open stays.
export function open({ content, id = null, project = '', version = 0, draft, upgraded, upgradeNotes = [] }: Opened) {
  const read = readText(upgraded ?? content);
  const isUpgraded = read.isUpgraded || upgraded !== undefined;
  // An earlier form is written anew by the first save.
  const start = startHistory(read.tree);
  const history = draft === undefined ? start : change(start, readText(draft).tree);
  useCanvas.setState({
    ...initial(), history, origin: isUpgraded && version === 0 ? '' : content, form: read.form, id, project, version, upgradeNotes, isLoaded: true,
    message: isUpgraded ? { words: text.documents.upgraded, isBad: false } : null,
  });
}

let checking = 0;
// What the service says of the document as it stands.
export async function check(): Promise<Checked | null> {
  const now = ++checking;
  if (cardIds(tree()).length === 0) {
    useCanvas.setState({ problems: [], warnings: [], notes: [], columns: {}, graphs: {}, candidates: 0 });
    return null;
  }
  try {
    const checked = await post<Checked>('/api/documents/validate', { content: currentText() });
    // While something is wrong, columns are not known; those from before are still the ones to choose from.
    if (now === checking)
      useCanvas.setState(({ columns, graphs }) => ({
        problems: checked.problems, warnings: checked.warnings ?? [], notes: checked.notes, candidates: checked.candidates ?? 0, columns: { ...columns, ...checked.columns }, graphs: checked.graphs ?? graphs,
      }));
    return checked;
  } catch {
    return null; // the page tells by itself that the service is gone
  }
}
