import { cardIds, cardOf, configOf, connectionsOf, isTree, setSetting, splitEnd, without, type Connection, type Tree, type Value } from './document';
import { sameValue } from './document_text';

// A model that is a graph of nodes has them in its card's settings: `nodes`, each with name, type and settings, and
// `connections`, each with source and target. Here the graph is seen as a document whose cards are the nodes, so that
// whatever edits, draws and lays out a document does so with a graph; and what was edited goes back into the lists,
// where entries stay as they are written unless they have changed.

interface Entry {
  name: string;
  type: string;
  written: Tree;
}

const listOf = (value: Value | undefined): Value[] => (Array.isArray(value) ? value : []);
const textIn = (tree: Tree, ...keys: string[]): string | null => {
  const found = keys.map((key) => tree[key]).find((each) => each !== undefined);
  return typeof found === 'string' ? found : null;
};
// "cuvis_ai.node.RXGlobal" is RXGlobal.
const lastPart = (type: string) => type.slice(type.lastIndexOf('.') + 1);

function entryOf(written: Value): Entry | null {
  const type = isTree(written) ? textIn(written, 'type', 'class_name') : null;
  if (!isTree(written) || type === null) return null;
  return { name: textIn(written, 'name') ?? lastPart(type), type: lastPart(type), written };
}

const settingsKey = (written: Tree) => (written.settings === undefined && written.hparams !== undefined ? 'hparams' : 'settings');
const settingsOf = (written: Tree): Tree => {
  const settings = written[settingsKey(written)];
  return isTree(settings) ? settings : {};
};

// "pca.outputs.projected" is pca.projected.
function endOf(written: string, side: 'outputs' | 'inputs'): [string, string] {
  const [node, port] = splitEnd(written);
  return [node.endsWith(`.${side}`) ? node.slice(0, -side.length - 1) : node, port];
}

function connectionIn(written: Value): Connection | null {
  if (!isTree(written)) return null;
  const source = textIn(written, 'source', 'from');
  const target = textIn(written, 'target', 'to');
  if (source === null || target === null) return null;
  const [from, output] = endOf(source, 'outputs');
  const [to, input] = endOf(target, 'inputs');
  return { from, output, to, input };
}

export function graphOf(document: Tree, id: string): Tree {
  const config = configOf(document, id);
  const cards = new Map<string, Tree>();
  for (const each of listOf(config.nodes)) {
    const entry = entryOf(each);
    if (!entry || cards.has(entry.name)) continue;
    const settings = settingsOf(entry.written);
    cards.set(entry.name, Object.keys(settings).length > 0 ? { type: entry.type, config: settings } : { type: entry.type });
  }
  for (const each of listOf(config.connections)) {
    const made = connectionIn(each);
    const target = made && cards.get(made.to);
    if (!made || !target || !cards.has(made.from)) continue;
    const inputs = isTree(target.inputs) ? target.inputs : {};
    const source = `${made.from}.${made.output}`;
    const now = inputs[made.input];
    cards.set(made.to, { ...target, inputs: { ...inputs, [made.input]: now === undefined ? source : [...listOf(now), ...(typeof now === 'string' ? [now] : []), source] } });
  }
  return { version: 1, cards: Object.fromEntries(cards) };
}

// A name that is gone where another of the same type came into its place.
function renamesBetween(before: Tree, after: Tree): Map<string, string> {
  const [old, now] = [cardIds(before), cardIds(after)];
  if (old.length !== now.length) return new Map();
  return new Map(old.map((name, place): [string, string] => [name, now[place]!]).filter(([from, to]) => from !== to && !Object.hasOwn(before.cards as Tree, to) && cardOf(before, from).type === cardOf(after, to).type));
}

function nodesWith(written: Value[], before: Tree, after: Tree, renames: ReadonlyMap<string, string>): Value[] {
  const known = new Set(cardIds(before));
  const left = new Set(cardIds(after));
  const nodes: Value[] = [];
  for (const each of written) {
    const entry = entryOf(each);
    if (!entry || !known.delete(entry.name)) {
      nodes.push(each); // what the page cannot read, and a second node of a name
      continue;
    }
    const name = renames.get(entry.name) ?? entry.name;
    if (!left.delete(name)) continue;
    let next = name === entry.name ? entry.written : entry.written.name === undefined ? { name, ...entry.written } : { ...entry.written, name };
    const settings = configOf(after, name);
    if (!sameValue(settings, settingsOf(entry.written))) {
      const key = settingsKey(entry.written);
      next = Object.keys(settings).length === 0 ? without(next, key) : { ...next, [key]: settings };
    }
    nodes.push(next);
  }
  for (const name of left) {
    const settings = configOf(after, name);
    nodes.push({ name, type: String(cardOf(after, name).type), ...(Object.keys(settings).length > 0 ? { settings } : {}) });
  }
  return nodes;
}

const wireOf = (each: Connection) => `${each.from}.${each.output}>${each.to}.${each.input}`;

// The same entry with other ends, under the keys and in the form that it has.
function withEnds(written: Tree, { from, output, to, input }: Connection): Tree {
  const [sourceKey, targetKey] = [written.source === undefined ? 'from' : 'source', written.target === undefined ? 'to' : 'target'];
  const between = (key: string, side: string) => (splitEnd(String(written[key]))[0].endsWith(`.${side}`) ? `.${side}.` : '.');
  return { ...written, [sourceKey]: from + between(sourceKey, 'outputs') + output, [targetKey]: to + between(targetKey, 'inputs') + input };
}

function connectionsWith(written: Value[], before: Tree, after: Tree, renames: ReadonlyMap<string, string>): Value[] {
  const shown = new Set(connectionsOf(before).map(wireOf));
  const left = new Map(connectionsOf(after).map((each) => [wireOf(each), each]));
  const renamed = ({ from, output, to, input }: Connection): Connection => ({ from: renames.get(from) ?? from, output, to: renames.get(to) ?? to, input });
  const kept = written.map((each): { each: Value; gone: Connection | null } => {
    const made = connectionIn(each);
    if (!made || !shown.has(wireOf(made))) return { each, gone: null };
    const now = renamed(made);
    if (!left.delete(wireOf(now))) return { each, gone: now };
    return { each: wireOf(now) === wireOf(made) ? each : withEnds(each as Tree, now), gone: null };
  });
  // An input that reads from elsewhere now keeps its line.
  const all = kept.flatMap(({ each, gone }) => {
    if (!gone) return [each];
    const next = [...left.values()].find((one) => one.to === gone.to && one.input === gone.input);
    if (!next) return [];
    left.delete(wireOf(next));
    return [withEnds(each as Tree, next)];
  });
  return [...all, ...[...left.values()].map((one): Tree => ({ source: `${one.from}.${one.output}`, target: `${one.to}.${one.input}` }))];
}

const trainedKey = (config: Tree) => (config.unfrozen === undefined && config.unfreeze_nodes !== undefined ? 'unfreeze_nodes' : 'unfrozen');

export const trainedNodes = (document: Tree, id: string): string[] => {
  const config = configOf(document, id);
  return listOf(config[trainedKey(config)]).map(String);
};

const setList = (document: Tree, id: string, key: string, list: Value[], isEmptyKept = false): Tree =>
  sameValue(listOf(configOf(document, id)[key]), list) ? document : setSetting(document, id, [key], list.length === 0 && !isEmptyKept ? undefined : list);

export function setTrained(document: Tree, id: string, node: string, isTrained: boolean): Tree {
  const others = trainedNodes(document, id).filter((each) => each !== node);
  return setList(document, id, trainedKey(configOf(document, id)), isTrained ? [...others, node] : others);
}

// The document with its card's graph as it was edited.
export function withGraph(document: Tree, id: string, after: Tree): Tree {
  const before = graphOf(document, id);
  if (sameValue(before.cards, after.cards) && sameValue(cardIds(before), cardIds(after))) return document;
  const config = configOf(document, id);
  const renames = renamesBetween(before, after);
  const left = new Set(cardIds(after));
  const trained = trainedNodes(document, id).map((each) => renames.get(each) ?? each).filter((each) => left.has(each) || !Object.hasOwn(before.cards as Tree, each));
  let changed = setList(document, id, 'nodes', nodesWith(listOf(config.nodes), before, after, renames), true);
  changed = setList(changed, id, 'connections', connectionsWith(listOf(config.connections), before, after, renames));
  return setList(changed, id, trainedKey(config), trained);
}

// What the service says of a place in the lists, said of the node that stands there: nodes.2.n_components is
// cards.pca.config.n_components, connections.3 is the input that it leads to.
export function placeInGraph(document: Tree, id: string, path: string): string | null {
  const start = `cards.${id}.config.`;
  if (!path.startsWith(start)) return null;
  const config = configOf(document, id);
  const [list, place = '', ...rest] = path.slice(start.length).split('.');
  if (list === 'connections') {
    const made = connectionIn(listOf(config.connections)[Number(place)] ?? null);
    return made ? `cards.${made.to}.inputs.${made.input}` : null;
  }
  if (list === 'unfrozen' || list === 'unfreeze_nodes' || (list === 'nodes' && place === '')) return list;
  if (list !== 'nodes') return null;
  const entry = /^\d+$/.test(place) ? entryOf(listOf(config.nodes)[Number(place)] ?? null) : null;
  if (entry) return [`cards.${entry.name}`, ...(rest.length > 0 ? ['config', ...rest] : [])].join('.');
  return `cards.${[place, ...rest].join('.')}`;
}
