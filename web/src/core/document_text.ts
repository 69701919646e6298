import { Document, isAlias, isMap, isScalar, isSeq, parseDocument, visit, YAMLMap, YAMLSeq, type Node, type ParsedNode } from 'yaml';
import { text } from '../text';
import { emptyDocument, isTree, type Tree, type Value } from './document';

export type Form = 'yaml' | 'json';

export interface ReadText {
  tree: Tree;
  form: Form;
  isUpgraded: boolean; // it was in an earlier form, and is to be written anew
}

// A document is kept as the text that somebody wrote. Edits are written into that text, so that comments, order and
// whatever else is in it stay; without edits it comes back byte for byte.

export function formOf(content: string): Form {
  return /^\s*[{[]/.test(content) ? 'json' : 'yaml';
}

// Throws an Error with a sentence for what is no document at all.
export function readText(content: string): ReadText {
  const form = formOf(content);
  if (content.trim() === '') return { tree: emptyDocument, form: 'yaml', isUpgraded: false };
  const parsed = parseDocument(content, { intAsBigInt: true, merge: true });
  const fault = parsed.errors[0];
  if (fault) throw new Error(text.documents.notReadable(fault.message.split('\n')[0]!));
  const value = plain(parsed.toJS({ maxAliasCount: 1000 }) as Value);
  if (!isTree(value)) throw new Error(text.documents.noMap);
  if (Array.isArray(value.nodes)) return { tree: fromNodes(value), form, isUpgraded: true };
  return { tree: value, form, isUpgraded: false };
}

// A graph of nodes or a train run of cuvis.ai, which the service makes a document of.
export function isOfCuvis(content: string): boolean {
  const parsed = parseDocument(content, { merge: true });
  const value = parsed.errors.length > 0 ? null : (parsed.toJS({ maxAliasCount: 1000 }) as Value);
  if (!isTree(value) || value.cards !== undefined || value.edges !== undefined) return false;
  const first = Array.isArray(value.nodes) ? value.nodes[0] : undefined;
  return value.pipeline !== undefined || (first !== undefined && (value.connections !== undefined || (isTree(first) && first.class_name !== undefined)));
}

// Whole numbers as numbers where that is exact.
function plain(value: Value): Value {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (isTree(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  return value;
}

// The form of earlier canvases: {pipeline_id, nodes: [{id, type, config, position}], edges: [{source, source_output,
// target, target_input}]}. What it has beside that goes along.
function fromNodes(old: Tree): Tree {
  const { pipeline_id, nodes, edges, name, ...rest } = old;
  const cards: Tree = {};
  const layout: Tree = {};
  for (const node of nodes as Value[]) {
    if (!isTree(node)) continue;
    const { id, position, ...card } = node;
    cards[String(id)] = card;
    if (isTree(position)) layout[String(id)] = [position.x ?? 0, position.y ?? 0];
  }
  for (const edge of Array.isArray(edges) ? edges : []) {
    const target = isTree(edge) ? cards[String(edge.target)] : undefined;
    if (!isTree(edge) || !isTree(target)) continue;
    const inputs = isTree(target.inputs) ? target.inputs : {};
    const input = String(edge.target_input);
    const source = `${edge.source}.${edge.source_output}`;
    const now = inputs[input];
    const next = now === undefined ? source : Array.isArray(now) ? [...now, source] : [now, source];
    cards[String(edge.target)] = { ...target, inputs: { ...inputs, [input]: next } };
  }
  return { version: 1, name: name ?? pipeline_id ?? 'untitled', ...rest, cards, layout };
}

export function sameValue(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => sameValue(each, b[i]));
  if (!isTree(a) || !isTree(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]));
}

// The text of a document that was read from another text, with what has changed.
export function writeText(tree: Tree, origin: string, form: Form = formOf(origin)): string {
  if (form === 'json') {
    const before = origin ? safelyRead(origin) : null;
    return before && sameValue(before, tree) && formOf(origin) === 'json' ? origin : `${jsonText(tree)}\n`;
  }
  const before = origin && formOf(origin) === 'yaml' ? safelyRead(origin) : null;
  if (!before) return wholeYaml(tree);
  if (sameValue(before, tree)) return origin;
  try {
    const document = parseDocument(origin, { intAsBigInt: true, merge: true });
    patch(document, [], before, tree);
    const written = yamlText(document, !hasFlatLists(origin));
    return sameValue(safelyRead(written) ?? {}, tree) ? written : wholeYaml(tree);
  } catch {
    return wholeYaml(tree); // an alias whose anchor went
  }
}

function safelyRead(content: string): Tree | null {
  try {
    const read = readText(content);
    return read.isUpgraded ? null : read.tree;
  } catch {
    return null;
  }
}

// As people write it: { a: 1 } with spaces inside, [1, 2] without, for which the library has one option for both.
function yamlText(document: Document<Node, boolean>, indentSeq = true): string {
  visit(document, {
    Seq: (_, seq) => {
      seq.toString = (context, ...rest) => YAMLSeq.prototype.toString.call(seq, context && { ...context, flowCollectionPadding: '' }, ...rest);
    },
    Map: (_, map) => {
      map.toString = (context, ...rest) => YAMLMap.prototype.toString.call(map, context && { ...context, flowCollectionPadding: ' ' }, ...rest);
    },
  });
  return document.toString({ lineWidth: 0, indentSeq });
}

// Whether the dashes of lists stand right under their key.
const hasFlatLists = (content: string): boolean => /^( *)[^\s#-][^\n]*:[ ]*(#[^\n]*)?\n\1- /m.test(content);

// Short lists, connections and places on one line, as people write them.
function styled(document: Document<Node, boolean>, value: Value): Node {
  const node = document.createNode(value);
  visit(node, {
    Seq: (_, seq) => {
      if (seq.items.every((item) => isScalar(item))) seq.flow = true;
    },
    Pair: (_, pair) => {
      if (!isScalar(pair.key)) return;
      if (pair.key.value === 'inputs' && isMap(pair.value)) pair.value.flow = true;
      // A node or a connection of a graph is a line.
      if ((pair.key.value === 'nodes' || pair.key.value === 'connections') && isSeq(pair.value))
        for (const item of pair.value.items) if (isMap(item)) item.flow = true;
    },
  });
  return node;
}

function wholeYaml(tree: Tree): string {
  const document = new Document({});
  document.contents = styled(document, tree) as never;
  return yamlText(document);
}

type Open = Document.Parsed<ParsedNode, boolean>;

type Path = (string | number)[];

function patch(document: Open, path: Path, before: Value, after: Value) {
  if (sameValue(before, after)) return;
  const node = path.length === 0 ? document.contents : (document.getIn(path, true) as Node | undefined);
  const isOwn = isMap(node) && !node.items.some((pair) => isScalar(pair.key) && String(pair.key.value) === '<<');
  if (isTree(before) && isTree(after) && isOwn) {
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) document.deleteIn([...path, key]);
    for (const [key, value] of Object.entries(after)) {
      if (Object.hasOwn(before, key)) patch(document, [...path, key], before[key]!, value);
      else document.setIn([...path, key], addedNode(document, path, key, value));
    }
    keepOrder(node, Object.keys(after));
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && isSeq(node) && node.items.length === before.length) return patchList(document, path, before, after);
  if (isScalar(node) && !isAlias(node) && (typeof after !== 'object' || after === null)) {
    delete node.minFractionDigits;
    delete node.format;
    node.value = after;
    return;
  }
  const next = styled(document, after);
  if (isSeq(node) && isSeq(next)) next.flow = node.flow ?? next.flow ?? false;
  document.setIn(path, next);
}

// Which of the old entries a new one is: the same, or of the same name, or where nothing was added or removed in its place.
function entriesBefore(before: readonly Value[], after: readonly Value[]): (number | null)[] {
  const free = new Set(before.keys());
  const take = (fits: (place: number) => boolean): number | null => {
    const found = [...free].find(fits) ?? null;
    if (found !== null) free.delete(found);
    return found;
  };
  const found = after.map((each) => take((place) => sameValue(before[place], each)));
  const nameOf = (value: Value | undefined) => (isTree(value) && typeof value.name === 'string' ? value.name : null);
  after.forEach((each, at) => (found[at] ??= nameOf(each) === null ? null : take((place) => nameOf(before[place]) === nameOf(each))));
  if (before.length === after.length) after.forEach((_, at) => (found[at] ??= take((place) => place === at)));
  return found;
}

// Entries that stay keep their comments and their form; new ones are written as the others are.
function patchList(document: Open, path: Path, before: Value[], after: Value[]) {
  const list = document.getIn(path, true) as YAMLSeq<Node>;
  const found = entriesBefore(before, after);
  found.forEach((place, at) => place !== null && patch(document, [...path, place], before[place]!, after[at]!));
  const isFlow = list.items.some((item) => isMap(item) && item.flow);
  const old = [...list.items];
  list.items = after.map((each, at) => {
    const place = found[at] ?? null;
    if (place !== null) return old[place]!;
    const made = styled(document, each);
    if (isMap(made) && isFlow) made.flow = true;
    return made;
  });
}

function addedNode(document: Open, path: Path, key: string, value: Value): Node {
  const node = styled(document, value);
  if (path.length === 2 && path[0] === 'cards' && key === 'inputs' && isMap(node)) node.flow = true;
  return node;
}

// A card that was renamed stays where it was.
function keepOrder(map: { items: { key: unknown }[] }, keys: string[]) {
  const place = new Map(keys.map((key, index) => [key, index]));
  const keyOf = (pair: { key: unknown }) => place.get(String(isScalar(pair.key) ? pair.key.value : pair.key)) ?? 0;
  map.items.sort((a, b) => keyOf(a) - keyOf(b));
}

export function jsonText(value: Value, indent = ''): string {
  const inner = `${indent}  `;
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    if (value.every((each) => typeof each !== 'object' || each === null)) return `[${value.map((each) => jsonText(each)).join(', ')}]`;
    return `[\n${value.map((each) => inner + jsonText(each, inner)).join(',\n')}\n${indent}]`;
  }
  if (isTree(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0) return '{}';
    return `{\n${entries.map(([key, each]) => `${inner}${JSON.stringify(key)}: ${jsonText(each, inner)}`).join(',\n')}\n${indent}}`;
  }
  return JSON.stringify(value);
}
