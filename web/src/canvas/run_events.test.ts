import { describe, expect, it } from 'vitest';
import type { Tree } from '../core/document';
import { applyEvent, failureIn, startCards, type RunView } from './run_events';

const ran: Tree = { cards: { load: { type: 'l' }, split: { type: 's', inputs: { dataset: 'load.dataset' } }, train: { type: 't', inputs: { data: 'split.train' } } } };
const begin = (): RunView => ({ state: null, cards: startCards(['load', 'split', 'train']), curves: {}, progress: null, log: [], failure: '', ran, isStopping: false });
const play = (events: [string, Record<string, unknown>][]) => events.reduce((view, [name, data]) => applyEvent(view, { id: '', name, data }), begin());
const states = (view: RunView) => Object.values(view.cards).map((card) => card.state);

describe('the events of a job', () => {
  it('say how far each card is, and which came out of the cache', () => {
    const view = play([
      ['state', { state: 'running' }],
      ['card_started', { card: 'load' }],
      ['card_finished', { card: 'load', reused: true, seconds: 0.1 }],
      ['card_started', { card: 'split' }],
    ]);
    expect(states(view)).toEqual(['reused', 'running', 'waiting']);
  });

  it('draw a curve in which an epoch that is told again stands once', () => {
    const epoch = (number: number): [string, Record<string, unknown>] => ['epoch_finished', { card: 'train', epoch: number, train_loss: 1 / number }];
    expect(play([epoch(1), epoch(2), epoch(1), epoch(2), epoch(3)]).curves.train).toMatchObject({ epochs: [1, 2, 3], train: [1, 0.5, 1 / 3], validation: [null, null, null] });
  });

  it('lay a failure at the card that it belongs to, and leave nothing running', () => {
    const reason = "its process ended with exit code 2; its last words:\n  load  data_load 15 ms\nstoker: card split: column 'NOPE' is not in the table";
    const view = play([['state', { state: 'running' }], ['state', { state: 'failed', reason }]]);
    expect(states(view)).toEqual(['done', 'failed', 'not_run']);
    expect(view.cards.split!.message).toBe("column 'NOPE' is not in the table");
    expect(view.failure).toBe("column 'NOPE' is not in the table");
  });

  it('say which setting of the card was wrong, and forget it when the job is taken up again', () => {
    const failed: [string, Record<string, unknown>][] = [
      ['card_finished', { card: 'load', reused: false, seconds: 1 }],
      ['card_started', { card: 'split' }],
      ['run_failed', { card: 'split', setting: 'stratify_column', error: "card split: column 'NOPE' is not in the table" }],
      ['state', { state: 'failed', reason: "card split: column 'NOPE' is not in the table" }],
    ];
    expect(play(failed).cards.split).toMatchObject({ state: 'failed', setting: 'stratify_column', message: "column 'NOPE' is not in the table" });
    expect(play([...failed, ['state', { state: 'running' }]]).cards.split).toMatchObject({ state: 'waiting', setting: '', message: '' });
  });

  it('keep what a card noted, each thing once', () => {
    const note = (message: string): [string, Record<string, unknown>] => ['note', { card: 'split', message }];
    expect(play([['card_started', { card: 'split' }], note('a'), note('b'), note('a')]).cards.split!.notes).toEqual(['a', 'b']);
  });

  it('leave a job that was stopped with what it had done, and tell what never began from what was stopped', () => {
    const view = play([['card_finished', { card: 'load', reused: false, seconds: 1 }], ['card_started', { card: 'split' }], ['state', { state: 'cancelled' }]]);
    expect(states(view)).toEqual(['done', 'cancelled', 'not_run']);
  });

  it('have a reason also where no card is named', () => expect(failureIn('killed\nit took too long\n').sentence).toBe('it took too long'));
});
