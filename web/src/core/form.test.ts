import { describe, expect, it } from 'vitest';
import type { CardType } from '../api/types';
import { formOf, summaryOf, textOf, valueOf, type FormField } from './form';

const card: CardType = {
  name: 'm', version: 1, title: 'M', help: '', inputs: [], outputs: [], trains: false, order: ['model_type', 'epochs', 'hidden', 'cells', 'ensemble'],
  settings: {
    required: ['model_type'],
    properties: {
      cells: { type: 'integer', default: 8 },
      ensemble: { type: 'object', properties: { members: { type: 'integer', minimum: 1 } } },
      epochs: { type: 'integer', default: 50, minimum: 1, description: 'How long' },
      hidden: { type: 'array', items: { type: 'integer' }, default: [128, 64] },
      model_type: { type: 'string', enum: ['mlp', 'lstm'], default: 'mlp' },
    },
  },
  more_settings: [
    { title: 'Settings of `mlp`', settings: { properties: { hidden: { type: 'array', default: [128, 64] } } } },
    { title: 'Settings of `lstm`', settings: { properties: { cells: { type: 'integer', default: 8 } } } },
  ],
};
const names = (config: object) => formOf(card, config as never).map((group) => group.fields.map((field) => field.path.join('.')));
const field = (kind: FormField['kind']) => ({ kind }) as FormField;

describe('the form of a card', () => {
  it('has its settings in their order, then those of the chosen family', () => {
    expect(names({})).toEqual([['model_type', 'epochs', 'ensemble.members'], ['hidden']]);
    expect(names({ model_type: 'lstm' })).toEqual([['model_type', 'epochs', 'ensemble.members'], ['cells']]);
  });

  it('shows a setting of another family that is set', () => expect(names({ cells: 3 })[0]).toContain('cells'));

  it('tells help, default and range', () => {
    const epochs = formOf(card, {})[0]!.fields[1]!;
    expect(epochs).toMatchObject({ label: 'Epochs', help: 'How long', usual: '50', range: '1 or more', isRequired: false });
  });

  it('puts the hyperparameters of a family into their map', () => {
    const linear: CardType = {
      ...card,
      order: ['model_type', 'hyperparameters'],
      settings: { properties: { model_type: { enum: ['ridge'], default: 'ridge' }, hyperparameters: { type: 'object' } } },
      more_settings: [{ title: 'Hyperparameters of `ridge`', settings: { properties: { alpha: { type: 'number' } } } }],
    };
    expect(formOf(linear, {}).map((group) => group.fields.map((each) => each.path))).toEqual([[['model_type']], [['hyperparameters', 'alpha']]]);
  });

  it('reads what was typed, and keeps what it cannot read', () => {
    expect(valueOf(field('number'), '0.5')).toBe(0.5);
    expect(valueOf(field('number'), 'abc')).toBe('abc');
    expect(valueOf(field('integer'), '18446744073709551615')).toBe(18446744073709551615n);
    expect(valueOf(field('list'), '128, 64')).toEqual([128, 64]);
    expect(valueOf(field('list'), 'RM, LSTAT')).toEqual(['RM', 'LSTAT']);
    expect(valueOf(field('number'), '{ grid: [1, 2] }')).toEqual({ grid: [1, 2] });
    expect(valueOf(field('map'), 'a: 1')).toEqual({ a: 1 });
    expect(valueOf(field('text'), '')).toBeUndefined();
    expect(valueOf(field('text'), '[a')).toBe('[a');
  });

  it('shows values as they are typed', () => {
    for (const value of [[128, 64], ['RM', 'a, b'], { grid: [1, 2] }, 0.001]) {
      const kind = Array.isArray(value) ? 'list' : typeof value === 'number' ? 'number' : 'map';
      expect(valueOf(field(kind), textOf(value as never))).toEqual(value);
    }
  });

  it('sums a card up in a line by what differs from the defaults', () => {
    expect(summaryOf(card, { hidden: [4, 2], model_type: 'lstm', cells: 1 })).toBe('lstm, hidden 4 – 2, cells 1');
    expect(summaryOf(card, { model_type: 'mlp', epochs: 50, hidden: [128, 64], cells: 3 })).toBe('cells 3');
  });

  it('begins with what people look for first, and ends with what means nothing beside what is chosen', () => {
    const loss: CardType = {
      ...card, more_settings: [], order: ['loss', 'delta', 'epochs', 'target'], first: ['target', 'epochs'], names: { target: 'column' },
      only_with: { delta: { setting: 'loss', values: ['huber'] } },
      settings: { properties: { loss: { enum: ['mse', 'huber'], default: 'mse' }, delta: { type: 'number' }, epochs: { type: 'integer' }, target: { type: 'string' } } },
    };
    const told = (config: object) => formOf(loss, config as never)[0]!.fields.map((each) => [each.path[0], each.isFirst, each.isIdle]);
    expect(told({})).toEqual([['target', true, false], ['epochs', true, false], ['loss', false, false], ['delta', false, true]]);
    expect(told({ loss: 'huber' })[3]).toEqual(['delta', false, false]);
    expect(formOf(loss, {})[0]!.fields[0]!.names).toBe('column');
  });
});
