import { describe, expect, it } from 'vitest';
import type { CardType } from '../api/types';
import { cardsFound, groupOf } from './groups';

const card = (title: string, help: string, takes: string[], gives: string[]): CardType => {
  const port = (type: string) => ({ name: type, type, help: '', required: true, several: false });
  return { name: title.toLowerCase(), version: 1, title, help, trains: false, settings: {}, more_settings: [], inputs: takes.map(port), outputs: gives.map(port) };
};
const cards = [
  card('Split', 'Rows to train on', ['table'], ['table']),
  card('Define', 'A network', [], ['model_spec']),
  card('Train', '', ['table', 'model_spec'], ['model', 'report']),
  card('Evaluate', '', ['model', 'table'], ['report']),
  card('Predict', '', ['model', 'table'], ['table']),
  card('Prepare a batch', '', ['table'], ['batch', 'report']),
];

describe('the palette', () => {
  it('puts a card by what it takes and gives', () => expect(cards.map(groupOf)).toEqual(['data', 'model', 'train', 'look', 'look', 'step']));
  it('finds the card of a name before those that only tell of it', () => {
    expect(cardsFound(cards, 'train').best?.title).toBe('Train');
    expect(cardsFound(cards, 'train').groups.data.map((each) => each.title)).toEqual(['Split']);
  });
  it('finds nothing for what nobody has', () => expect(cardsFound(cards, 'zebra').best).toBeUndefined());
});
