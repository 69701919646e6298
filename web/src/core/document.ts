import { own } from './own';

// The document as it is written: version, name, cards, layout, and whatever else it has. A card has a type, inputs
// ("split.train_dataset", or a list of them), a config, and whatever else. Every edit gives a new tree that shares
// what it did not change.

export type Value = null | boolean | number | bigint | string | Value[] | { [key: string]: Value };
export type Tree = { [key: string]: Value };

export interface Connection {
  from: string; // card
  output: string;
  to: string; // card
  input: string;
}

export type Point = [number, number];

export const emptyDocument: Tree = { version: 2, name: 'untitled', cards: {} };

export const isTree = (value: Value | undefined): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Always the same one, so that whoever compares sees that nothing has changed.
const nothing: Tree = Object.freeze({});

const treeAt = (tree: Tree, key: string): Tree => {
  const value = own(tree, key);
  return isTree(value) ? value : nothing;
};

export const cardsOf = (document: Tree): Tree => treeAt(document, 'cards');
export const cardIds = (document: Tree): string[] => Object.keys(cardsOf(document));
export const cardOf = (document: Tree, id: string): Tree => treeAt(cardsOf(document), id);
export const typeOf = (document: Tree, id: string): string => String(cardOf(document, id).type ?? '');
export const configOf = (document: Tree, id: string): Tree => treeAt(cardOf(document, id), 'config');
export const nameOf = (document: Tree): string => (typeof document.name === 'string' ? document.name : '');

export function positionOf(document: Tree, id: string): Point | null {
  const place = treeAt(document, 'layout')[id];
  if (!Array.isArray(place)) return null;
  const [x, y] = place.map(Number);
  return x !== undefined && y !== undefined && Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null;
}

export const splitEnd = (text: string): [string, string] => {
  const dot = text.lastIndexOf('.');
  return dot < 0 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)];
};

const sourcesOf = (value: Value | undefined): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : typeof value === 'string' ? [value] : [];

export function connectionsTo(document: Tree, id: string): Connection[] {
  return Object.entries(treeAt(cardOf(document, id), 'inputs')).flatMap(([input, value]) =>
    sourcesOf(value).map((source) => {
      const [from, output] = splitEnd(source);
      return { from, output, to: id, input };
    }));
}

export const connectionsOf = (document: Tree): Connection[] =>
  cardIds(document).flatMap((id) => connectionsTo(document, id));

// Cards that the outputs of this one reach, itself among them.
export function reachedFrom(document: Tree, id: string): Set<string> {
  return closure(id, connectionsOf(document).map((each) => [each.from, each.to]));
}

// Cards that this one needs, itself among them.
export function neededFor(document: Tree, id: string): Set<string> {
  return closure(id, connectionsOf(document).map((each) => [each.to, each.from]));
}

function closure(start: string, steps: [string, string][]): Set<string> {
  const next = new Map<string, string[]>();
  for (const [from, to] of steps) next.set(from, [...(next.get(from) ?? []), to]);
  const found = new Set([start]);
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const to of next.get(at) ?? [])
      if (!found.has(to)) {
        found.add(to);
        open.push(to);
      }
  return found;
}

export const without = (tree: Tree, ...keys: string[]): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([key]) => !keys.includes(key)));

const withCard = (document: Tree, id: string, card: Tree): Tree => ({
  ...document,
  cards: { ...cardsOf(document), [id]: card },
});

// "data_load" gives load, load_2 and so on: the last word of a type is what people call it.
export function freshId(document: Tree, wanted: string): string {
  const taken = new Set(cardIds(document));
  const base = wanted.replace(/[^A-Za-z0-9_-]/g, '_') || 'card';
  if (!taken.has(base)) return base;
  for (let number = 2; ; number++) if (!taken.has(`${base}_${number}`)) return `${base}_${number}`;
}

const usualIds: Record<string, string> = {
  data_load: 'load', data_split: 'split', data_filter: 'filter', model_define: 'model', model_define_gpu: 'model',
  train_gpu: 'train', join_as_of: 'join', inference: 'predict',
};

export function addCard(document: Tree, type: string, at: Point): { document: Tree; id: string } {
  const id = freshId(document, usualIds[type] ?? type.replace(/^.*:/, ''));
  return { document: moveCards(withCard(document, id, { type }), { [id]: at }), id };
}

export function moveCards(document: Tree, places: Record<string, Point>): Tree {
  const rounded = Object.fromEntries(Object.entries(places).map(([id, [x, y]]) => [id, [Math.round(x), Math.round(y)]]));
  return { ...document, layout: { ...treeAt(document, 'layout'), ...rounded } };
}

export function removeCards(document: Tree, ids: readonly string[]): Tree {
  const gone = new Set(ids);
  let left = document;
  for (const each of connectionsOf(document))
    if (gone.has(each.from) && !gone.has(each.to)) left = disconnect(left, each);
  const result: Tree = { ...left, cards: without(cardsOf(left), ...ids) };
  if (isTree(left.layout)) result.layout = without(left.layout, ...ids);
  return result;
}

const setInput = (document: Tree, id: string, input: string, value: Value | undefined): Tree => {
  const card = cardOf(document, id);
  const inputs = treeAt(card, 'inputs');
  const next = value === undefined ? without(inputs, input) : { ...inputs, [input]: value };
  const changed = Object.keys(next).length === 0 ? without(card, 'inputs') : { ...card, inputs: next };
  return withCard(document, id, changed);
};

// An input that takes one connection gives up the one that it has.
export function connect(document: Tree, { from, output, to, input }: Connection, takesSeveral: boolean): Tree {
  const source = `${from}.${output}`;
  if (!takesSeveral) return setInput(document, to, input, source);
  const now = sourcesOf(treeAt(cardOf(document, to), 'inputs')[input]);
  return now.includes(source) ? document : setInput(document, to, input, [...now, source]);
}

export function disconnect(document: Tree, { from, output, to, input }: Connection): Tree {
  const now = treeAt(cardOf(document, to), 'inputs')[input];
  const left = sourcesOf(now).filter((source) => source !== `${from}.${output}`);
  if (left.length === 0) return setInput(document, to, input, undefined);
  return setInput(document, to, input, Array.isArray(now) ? left : left[0]);
}

// A setting, or one of a map of settings (["ensemble", "members"]); undefined takes it away, so that its default holds.
export function setSetting(document: Tree, id: string, path: readonly string[], value: Value | undefined): Tree {
  const card = cardOf(document, id);
  const config = setAt(treeAt(card, 'config'), path, value);
  return withCard(document, id, Object.keys(config).length === 0 ? without(card, 'config') : { ...card, config });
}

function setAt(tree: Tree, [key, ...rest]: readonly string[], value: Value | undefined): Tree {
  if (key === undefined) return tree;
  if (rest.length === 0) return value === undefined ? without(tree, key) : { ...tree, [key]: value };
  const inner = setAt(treeAt(tree, key), rest, value);
  return Object.keys(inner).length === 0 ? without(tree, key) : { ...tree, [key]: inner };
}

export const renameDocument = (document: Tree, name: string): Tree => ({ ...document, name });

// The card keeps its place in the file, and whoever reads from it goes on doing so.
export function renameCard(document: Tree, id: string, name: string): Tree {
  const swap = (tree: Tree) => Object.fromEntries(Object.entries(tree).map(([key, value]) => [key === id ? name : key, value]));
  let changed: Tree = { ...document, cards: swap(cardsOf(document)) };
  if (isTree(document.layout)) changed.layout = swap(document.layout);
  for (const reader of cardIds(changed)) {
    const inputs = treeAt(cardOf(changed, reader), 'inputs');
    for (const [input, value] of Object.entries(inputs)) {
      const rename = (source: Value): Value =>
        typeof source === 'string' && splitEnd(source)[0] === id ? `${name}.${splitEnd(source)[1]}` : source;
      const next = Array.isArray(value) ? value.map(rename) : rename(value);
      if (JSON.stringify(next) !== JSON.stringify(value)) changed = setInput(changed, reader, input, next);
    }
  }
  return changed;
}

// Cards as they are copied: a document of their own, with the connections among them.
export function copyCards(document: Tree, ids: readonly string[]): Tree {
  const outside = cardIds(document).filter((id) => !ids.includes(id));
  const alone = removeCards(document, outside);
  return { version: alone.version ?? 2, cards: cardsOf(alone), ...(isTree(alone.layout) ? { layout: alone.layout } : {}) };
}

export function pasteCards(document: Tree, copied: Tree, by: Point): { document: Tree; ids: string[] } {
  let pasted = copied;
  let result = document;
  const ids: string[] = [];
  for (const id of cardIds(copied)) {
    let name = id;
    const both = { ...document, cards: { ...cardsOf(result), ...without(cardsOf(pasted), id) } };
    if (cardIds(both).includes(id)) name = freshId(both, id.replace(/_\d+$/, ''));
    pasted = name === id ? pasted : renameCard(pasted, id, name);
    ids.push(name);
  }
  for (const id of ids) {
    const [x, y] = positionOf(pasted, id) ?? [0, 0];
    result = moveCards(withCard(result, id, cardOf(pasted, id)), { [id]: [x + by[0], y + by[1]] });
  }
  return { document: result, ids };
}
