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
