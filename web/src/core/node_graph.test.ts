import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { addCard, cardIds, connect, connectionsOf, disconnect, removeCards, renameCard, setSetting, typeOf, type Tree } from './document';
import { readText, writeText } from './document_text';
import { graphOf, placeInGraph, setTrained, trainedNodes, withGraph } from './node_graph';

const example = (name: string) => readFileSync(new URL(`../../../examples/${name}.yaml`, import.meta.url), 'utf8');
const origin = example('spectral_stress');
const read = (content = origin): Tree => readText(content).tree;
// The lines that an edit of the graph took away from the text and those that it put there.
function changedLines(edit: (graph: Tree) => Tree, content = origin): { gone: string[]; came: string[] } {
  const written = writeText(withGraph(read(content), 'model', edit(graphOf(read(content), 'model'))), content);
  const [old, now] = [content.split('\n'), written.split('\n')];
  return { gone: old.filter((line) => !now.includes(line)).map((line) => line.trim()), came: now.filter((line) => !old.includes(line)).map((line) => line.trim()) };
}

describe('a graph of nodes seen as a document', () => {
  test('has the nodes as cards and the connections as their inputs', () => {
    const graph = graphOf(read(), 'model');
    expect(cardIds(graph)).toEqual(['data', 'scale', 'first_pca', 'second_pca', 'rx', 'logit', 'decide', 'bce', 'straight', 'metrics']);
    expect(connectionsOf(graph)).toHaveLength(12);
    expect(graph.cards).toMatchObject({ first_pca: { type: 'TrainablePCA', config: { n_components: 20 }, inputs: { data: 'scale.normalized' } } });
  });

  test('is read as cuvis.ai writes it', () => {
    const graph = graphOf(read('cards:\n  model:\n    config:\n      nodes:\n      - { class_name: a.b.RXGlobal, hparams: { eps: 1 } }\n      - { name: end, class_name: a.ScoreToLogit }\n      connections:\n      - { source: RXGlobal.outputs.scores, target: end.inputs.scores }\n'), 'model');
    expect(graph.cards).toEqual({ RXGlobal: { type: 'RXGlobal', config: { eps: 1 } }, end: { type: 'ScoreToLogit', inputs: { scores: 'RXGlobal.scores' } } });
  });

  test('may have nodes that are called as what every object has', () => {
    const named = (one: string, other: string) => read(`cards:\n  model:\n    config:\n      nodes:\n      - { name: ${one}, type: RXGlobal }\n      - { name: ${other}, type: ScoreToLogit }\n      connections:\n      - { source: ${one}.scores, target: ${other}.scores }\n`);
    const tree = named('constructor', '__proto__');
    const graph = graphOf(tree, 'model');
    expect(cardIds(graph)).toEqual(['constructor', '__proto__']);
    expect(connectionsOf(graph)).toEqual([{ from: 'constructor', output: 'scores', to: '__proto__', input: 'scores' }]);
    expect(withGraph(tree, 'model', graph)).toBe(tree);
    const renamed = withGraph(named('rx', 'end'), 'model', renameCard(graphOf(named('rx', 'end'), 'model'), 'rx', 'toString'));
    expect(cardIds(graphOf(renamed, 'model'))).toEqual(['toString', 'end']);
    expect(typeOf(graph, 'valueOf')).toBe('');
  });

  test.each(['spectral_stress', 'channel_selection', 'deep_svdd'])('%s comes back byte for byte', (name) => {
    const tree = read(example(name));
    expect(withGraph(tree, 'model', graphOf(tree, 'model'))).toBe(tree);
    expect(writeText(tree, example(name))).toBe(example(name));
  });
});

describe('edits of a graph', () => {
  test('a setting changes its line alone', () => {
    expect(changedLines((graph) => setSetting(graph, 'first_pca', ['n_components'], 7))).toEqual({
      gone: ['- { name: first_pca, type: TrainablePCA, settings: { n_components: 20 } }'],
      came: ['- { name: first_pca, type: TrainablePCA, settings: { n_components: 7 } }'],
    });
    expect(changedLines((graph) => setSetting(graph, 'decide', ['threshold'], undefined)).came).toEqual(['- { name: decide, type: BinaryDecider }']);
    expect(changedLines((graph) => setSetting(graph, 'scale', ['eps'], 0.1)).came).toEqual(['- { name: scale, type: MinMaxNormalizer, settings: { eps: 0.1 } }']);
  });

  test('a node comes with its connection, each a line', () => {
    const added = changedLines((graph) => connect(addCard(graph, 'LADGlobal', [0, 0]).document, { from: 'scale', output: 'normalized', to: 'LADGlobal', input: 'data' }, false));
    expect(added).toEqual({ gone: [], came: ['- { name: LADGlobal, type: LADGlobal }', '- { source: scale.normalized, target: LADGlobal.data }'] });
  });

  test('a node goes with its connections and its training', () => {
    const { gone, came } = changedLines((graph) => removeCards(graph, ['second_pca']));
    expect(gone).toHaveLength(4);
    expect(came).toEqual(['unfrozen: [first_pca, logit]']);
  });

  test('a name changes wherever it stands, and the node keeps its place', () => {
    const tree = withGraph(read(), 'model', renameCard(graphOf(read(), 'model'), 'logit', 'score'));
    const written = writeText(tree, origin);
    expect(written).toBe(origin.replaceAll(/\blogit\b(?=[,.\]])/g, 'score').replace('and the score,', 'and the logit,'));
    expect(trainedNodes(tree, 'model')).toEqual(['first_pca', 'second_pca', 'score']);
  });

  test('an input that reads from elsewhere keeps its line', () => {
    const graph = (now: Tree) => connect(now, { from: 'scale', output: 'normalized', to: 'rx', input: 'data' }, false);
    expect(changedLines(graph)).toEqual({ gone: ['- { source: second_pca.projected, target: rx.data }'], came: ['- { source: scale.normalized, target: rx.data }'] });
    expect(changedLines((now) => disconnect(now, { from: 'logit', output: 'logits', to: 'metrics', input: 'logits' })).came).toEqual([]);
  });

  test('comments among the nodes stay, and what the page cannot read too', () => {
    const content = origin
      .replace('- { name: scale,', '# to the same range\n      - { name: scale,')
      .replace('- { name: rx, type: RXGlobal }', '- name: rx   # scores\n        type: RXGlobal\n      - 17')
      .replace('- { source: data.cube,', '# the way of the cubes\n      - { source: data.cube,');
    const { gone, came } = changedLines((graph) => removeCards(setSetting(graph, 'rx', ['eps'], 0.5), ['straight']), content);
    expect(gone).toEqual(['- name: rx   # scores', '- { name: straight, type: OrthogonalityLoss }', '- { source: first_pca.components, target: straight.components }']);
    expect(came).toEqual(['- name: rx # scores', 'settings:', 'eps: 0.5']);
  });

  test('nodes are trained or not', () => {
    const more = setTrained(read(), 'model', 'rx', true);
    expect(trainedNodes(more, 'model')).toEqual(['first_pca', 'second_pca', 'logit', 'rx']);
    expect(trainedNodes(setTrained(more, 'model', 'logit', false), 'model')).toEqual(['first_pca', 'second_pca', 'rx']);
  });

  test('a first node makes the list', () => {
    const empty = read('cards:\n  model:\n    type: model_define_gpu\n    config:\n      model_type: node_graph\n');
    const graph = addCard(graphOf(empty, 'model'), 'CubeDataNode', [0, 0]).document;
    expect(writeText(withGraph(empty, 'model', graph), '')).toContain('- { name: CubeDataNode, type: CubeDataNode }');
  });
});

test('what the service says of a place in the lists is said of its node', () => {
  const at = (path: string) => placeInGraph(read(), 'model', `cards.model.config.${path}`);
  expect(at('nodes.2.n_components')).toBe('cards.first_pca.config.n_components');
  expect(at('nodes.2')).toBe('cards.first_pca');
  expect(at('nodes.rx')).toBe('cards.rx');
  expect(at('connections.3')).toBe('cards.rx.inputs.data');
  expect(at('nodes')).toBe('nodes');
  expect(at('unfrozen')).toBe('unfrozen');
  expect(at('epochs')).toBeNull();
});
