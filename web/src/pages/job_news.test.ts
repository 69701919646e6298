import { describe, expect, it } from 'vitest';
import { JobNews } from './job_news';

function told(...events: [string, Record<string, unknown>][]): JobNews {
  const news = new JobNews();
  for (const [name, data] of events) news.take({ id: '', name, data });
  return news;
}

describe('what the events of a job tell', () => {
  it('is its cards in their order, each in its last state', () => {
    const news = told(['card_started', { card: 'load' }], ['card_finished', { card: 'load', reused: true, seconds: 0.1 }], ['card_started', { card: 'train' }]);
    expect(news.cards).toEqual([{ card: 'load', state: 'reused', seconds: 0.1 }, { card: 'train', state: 'running', seconds: null }]);
  });
  it('is a curve for each card that trains', () => {
    const news = told(['epoch_finished', { card: 'a', epoch: 1, train_loss: 0.5, validation_loss: null }], ['epoch_finished', { card: 'b', epoch: 1, train_loss: 0.7 }]);
    expect(news.curves.get('a')!.train).toEqual([0.5]);
    expect(news.curves.get('b')!.validation).toEqual([null]);
  });
  it('has no progress once it does not run', () => {
    expect(told(['state', { state: 'running' }], ['progress', { step: 3 }]).progress).toEqual({ step: 3 });
    expect(told(['progress', { step: 3 }], ['state', { state: 'paused' }]).progress).toBeNull();
  });
  it('has each note once, and the last lines of a long log', () => {
    expect(told(['note', { message: 'slow', severity: 'warning' }], ['note', { message: 'slow' }]).notes).toEqual([{ message: 'slow', card: '', isWarning: true }]);
    const news = new JobNews();
    for (let line = 0; line < 10_000; ++line) news.take({ id: '', name: 'log', data: { line: `line ${line}` } });
    expect(news.log.length).toBeLessThanOrEqual(4000);
    expect(news.log.at(-1)).toBe('line 9999');
  });
});
