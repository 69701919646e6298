import { describe, expect, it } from 'vitest';
import type { CardType } from '../api/types';
import { setSetting, type Tree } from '../core/document';
import { faceOf, missingCards, type Seen } from './face';
import { startCards, type CardRun } from './run_events';

const type = (name: string, inputs: string[]): [string, CardType] => [name, {
  name, version: 1, title: name.toUpperCase(), help: '', inputs: inputs.map((input) => ({ name: input, type: 'table', help: '', required: true, several: false })),
  outputs: [{ name: 'out', type: 'table', help: '' }], trains: name === 'train', settings: { properties: { epochs: { type: 'integer', default: 50 } } }, more_settings: [],
}];
const types = new Map([type('load', []), type('model', []), type('train', ['data', 'spec'])]);
const document: Tree = { cards: { load: { type: 'load' }, model: { type: 'model' }, train: { type: 'train', inputs: { data: 'load.out', spec: 'model.out' }, config: { epochs: 9 } } } };
const card = (change: Partial<CardRun>): CardRun => ({ ...startCards(['train']).train!, ...change });
const face = (change: Partial<Seen>) => faceOf({ types, document, faults: 0, card: undefined, missing: '', ran: document, progress: null, table: undefined, result: undefined, epochs: undefined, ...change }, 'train');
const edited = setSetting(document, 'train', ['epochs'], 10);
const progress = { card: 'train', step: 31, total_steps: 50, epoch: 31, epochs: 50, seconds_left: 4 };

describe('the face of a card', () => {
  it('waits for what is not done yet alone', () => {
    const cards = { ...startCards(['load', 'model', 'train']), load: card({ state: 'done' }) };
    expect(missingCards(document, cards, 'train')).toBe('model');
    expect(face({ card: card({}), missing: 'model' }).line).toBe('waits for model');
    expect(face({ card: card({}), missing: '' }).line).toBe('waits for its turn');
  });

  it('says how many of how many epochs are over', () => {
    expect(face({ card: card({ state: 'running' }), progress })).toMatchObject({ line: 'epoch 31 of 50', share: 0.62, state: 'running' });
    expect(face({ card: card({ state: 'running' }), progress: { ...progress, epochs: 0 } }).line).toBe('epoch 31');
  });

  it('goes on telling of a run while the card is edited', () => {
    const told = face({ document: edited, card: card({ state: 'running' }), progress });
    expect(told).toMatchObject({ line: 'epoch 31 of 50', share: 0.62, state: 'running' });
    expect(told.foot).toContain('edited');
    expect(face({ document: edited, card: card({}), missing: 'load' })).toMatchObject({ state: 'waiting', foot: 'edited' });
  });

  it('forgets what became of a card that was edited since', () => {
    expect(face({ document: edited, card: card({ state: 'failed', message: 'it cannot' }) })).toMatchObject({ state: '', foot: 'edited', line: 'epochs 10' });
    expect(face({ card: card({ state: 'failed', message: 'it cannot' }) })).toMatchObject({ state: 'failed', line: 'it cannot' });
  });

  it('shows what came out of it', () => expect(face({ card: card({ state: 'done', seconds: 2 }), result: 'R² 0.85' })).toMatchObject({ line: 'R² 0.85', foot: '2.0 s' }));
});
