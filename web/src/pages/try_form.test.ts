import { describe, expect, it } from 'vitest';
import { deploymentName, likelyClasses, rowOf, typedFrom, type ModelColumn } from './try_form';

const columns: ModelColumn[] = [{ name: 'rooms', type: 'number' }, { name: 'town', type: 'text' }, { name: 'sold', type: 'date' }];

describe('a row that is typed', () => {
  it('has numbers where the model reads numbers, and null where nothing stands', () => {
    expect(rowOf(columns, { rooms: ' 3.5 ', town: '12' }, 'no')).toEqual({ values: { rooms: 3.5, town: '12', sold: null }, errors: {} });
  });
  it('says which of its values are no numbers', () => expect(rowOf(columns, { rooms: '3,5' }, 'no').errors).toEqual({ rooms: 'no' }));
});

describe('a row of a table', () => {
  const table = { rows: 1, columns: [{ name: 'town' }, { name: 'price' }, { name: 'rooms' }, { name: 'sold' }], first_rows: [['Ulm', '5', '3', null]] };
  it('gives what the model reads, whatever the order', () => expect(typedFrom(table, columns, 0)).toEqual({ rooms: '3', town: 'Ulm', sold: '' }));
  it('is none where a column or the row is not there', () => {
    expect(typedFrom(table, [{ name: 'age', type: 'number' }], 0)).toBeNull();
    expect(typedFrom(table, columns, 1)).toBeNull();
  });
});

it('classes come with the most probable first', () => {
  expect(likelyClasses({ predictions: ['b'], classes: ['a', 'b', 'c'], probabilities: [[0.2, 0.7, 0.1]] }, 0, 2)).toEqual([{ name: 'b', share: 0.7 }, { name: 'a', share: 0.2 }]);
  expect(likelyClasses({ predictions: [1] }, 0)).toEqual([]);
});

it('a name for a deployment has what an address may have', () => {
  expect(deploymentName('Boston Housing (net)')).toBe('boston-housing-net');
  expect(deploymentName('_äö_')).toBe('model');
  expect(deploymentName('x'.repeat(100)).length).toBe(64);
});
