import { describe, expect, it } from 'vitest';
import { deploymentName, likelyClasses, notesOf, rowOf, rowOfTable, typedFrom, type ModelColumn } from './try_form';

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

it('a row of a table comes with what is true of it, where the table has the target', () => {
  const table = { rows: 2, columns: [{ name: 'rooms' }, { name: 'price' }], first_rows: [['3', '250'], ['4', '']] };
  const rooms: ModelColumn[] = [{ name: 'rooms', type: 'number' }];
  expect(rowOfTable(table, rooms, 'price', 0)).toEqual({ typed: { rooms: '3' }, actual: '250' });
  expect(rowOfTable(table, rooms, 'price', 1)).toEqual({ typed: { rooms: '4' }, actual: null });
  expect(rowOfTable(table, rooms, 'rent', 0)).toEqual({ typed: { rooms: '3' }, actual: null });
  expect(rowOfTable(table, columns, 'price', 0)).toBeNull();
});

it('what an answer notes is told by the column, what lies far outside first', () => {
  const words = { filled: (count: number, column: string) => `${count} of ${column} filled`, unseen: (_: number, column: string) => `${column} unseen`, outside: (_: number, column: string, low: string, high: string) => `${column} not in ${low} to ${high}` };
  const answer = { predictions: [1], filled: { age: 1 }, unseen: { town: 1 }, outside: { rooms: { rows: 1, low: 1, high: 8 }, sold: { rows: 1, low: '2012-01-01', high: '2015-12-31' } }, notes: ['no column x'] };
  expect(notesOf(answer, words)).toEqual(['rooms not in 1 to 8', 'sold not in 2012-01-01 to 2015-12-31', 'town unseen', '1 of age filled', 'no column x']);
  expect(notesOf({ predictions: [1] }, words)).toEqual([]);
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
