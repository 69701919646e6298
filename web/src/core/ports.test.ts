import { describe, expect, it } from 'vitest';
import type { CardType } from '../api/types';
import type { Tree } from './document';
import { choicesFor, missingInputs, readableOutputs, whyNotConnect } from './ports';

const port = (name: string, type: string) => ({ name, type, help: '', required: true, several: false });
const type = (name: string, inputs: [string, string][], outputs: [string, string][]): CardType => ({
  name, version: 1, title: name, help: '', trains: false, settings: {}, more_settings: [],
  inputs: inputs.map(([each, kind]) => port(each, kind)), outputs: outputs.map(([each, kind]) => port(each, kind)),
});
const types = new Map([
  type('load', [], [['dataset', 'table']]),
  type('split', [['dataset', 'table']], [['train', 'table'], ['test', 'table'], ['figures', 'report']]),
  type('model', [], [['spec', 'model_spec']]),
].map((each) => [each.name, each]));
const document: Tree = { cards: { l: { type: 'load' }, s: { type: 'split', inputs: { dataset: 'l.dataset' } }, t: { type: 'split', inputs: { dataset: 's.train' } }, m: { type: 'model' } } };

describe('a connection between nodes', () => {
  const shaped = (name: string, kind: string, shape: number[]) => ({ ...port(name, kind), shape });
  const nodes = new Map([
    { ...type('data', [], []), outputs: [shaped('cube', 'float32', [-1, -1, -1, -1]), shaped('mask', 'uint8', [-1, -1, -1, 1]), shaped('waves', 'float32', [-1])] },
    { ...type('logit', [], []), inputs: [shaped('scores', 'float32', [-1, -1, -1, 1])], outputs: [shaped('pair', 'float32', [-1, -1, -1, 2])] },
  ].map((each) => [each.name, each]));
  const graph: Tree = { cards: { d: { type: 'data' }, a: { type: 'logit' }, b: { type: 'logit' } } };
  const why = (from: string, output: string) => whyNotConnect(nodes, graph, { from, output, to: 'b', input: 'scores' });
  it('fits sizes that are equal or not known', () => expect(why('d', 'cube')).toBeNull());
  it('says both shapes where they do not fit', () => {
    expect(why('d', 'mask')).toBe('scores takes a float32 [any, any, any, 1]; mask gives a uint8 [any, any, any, 1].');
    expect(why('d', 'waves')).toMatch(/gives a float32 \[any\]/);
    expect(why('a', 'pair')).toMatch(/gives a float32 \[any, any, any, 2\]/);
  });
});

describe('a connection', () => {
  it('fits ports of one type', () => expect(whyNotConnect(types, document, { from: 'l', output: 'dataset', to: 't', input: 'dataset' })).toBeNull());
  it('says why another type does not fit', () =>
    expect(whyNotConnect(types, document, { from: 'm', output: 'spec', to: 't', input: 'dataset' })).toBe('dataset takes a table; spec gives a model spec.'));
  it('makes no circle', () => expect(whyNotConnect(types, document, { from: 't', output: 'test', to: 's', input: 'dataset' })).toMatch(/circle/));
  it('leads to another card', () => expect(whyNotConnect(types, document, { from: 's', output: 'test', to: 's', input: 'dataset' })).toMatch(/itself/));
  it('is offered where it fits', () =>
    expect(choicesFor(types, document, 't', 'dataset').map((each) => `${each.from}.${each.output}`)).toEqual(['l.dataset', 's.train', 's.test']));
  it('is missed where an input needs one', () =>
    expect(missingInputs(types, { cards: { s: { type: 'split' } } }, 's').map((each) => each.name)).toEqual(['dataset']));
  it('has a port only where somebody reads', () => expect(readableOutputs(types, types.get('split')!).map((each) => each.name)).toEqual(['train', 'test']));
});
