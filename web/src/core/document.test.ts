import { describe, expect, it } from 'vitest';
import * as edit from './document';

const base: edit.Tree = {
  version: 1,
  name: 'a',
  sweep: { folds: 2 },
  cards: {
    load: { type: 'data_load', config: { source: 'sample' } },
    split: { type: 'data_split', inputs: { dataset: 'load.dataset' }, time_limit: 5 },
    join: { type: 'join_as_of', inputs: { dataset: 'load.dataset', slower: ['split.train_dataset', 'load.dataset'] } },
  },
  layout: { load: [0, 0], split: [260, 0] },
};

describe('edits of a document', () => {
  it('leave the document before them as it was', () => {
    const before = JSON.stringify(base);
    edit.removeCards(edit.setSetting(edit.renameCard(base, 'load', 'rows'), 'split', ['train_ratio'], 0.5), ['rows']);
    expect(JSON.stringify(base)).toBe(before);
  });

  it('add a card under a name that is free', () => {
    const first = edit.addCard(base, 'data_load', [10.4, 20]);
    expect(first.id).toBe('load_2');
    expect(edit.positionOf(first.document, 'load_2')).toEqual([10, 20]);
    expect(edit.addCard(first.document, 'command:clean', [0, 0]).id).toBe('clean');
  });

  it('remove a card with every connection from it', () => {
    const left = edit.removeCards(base, ['load']);
    expect(edit.cardIds(left)).toEqual(['split', 'join']);
    expect(edit.connectionsOf(left)).toEqual([{ from: 'split', output: 'train_dataset', to: 'join', input: 'slower' }]);
    expect(left.layout).toEqual({ split: [260, 0] });
    expect(left.sweep).toEqual({ folds: 2 });
    expect(edit.cardOf(left, 'split').time_limit).toBe(5);
  });

  it('replace the one connection of an input, and add to one that takes several', () => {
    const once = edit.connect(base, { from: 'join', output: 'dataset', to: 'split', input: 'dataset' }, false);
    expect(edit.connectionsTo(once, 'split').map((each) => each.from)).toEqual(['join']);
    const more = edit.connect(base, { from: 'split', output: 'test_dataset', to: 'join', input: 'slower' }, true);
    expect(edit.connectionsTo(more, 'join').map((each) => `${each.from}.${each.output}`))
      .toEqual(['load.dataset', 'split.train_dataset', 'load.dataset', 'split.test_dataset']);
    const less = edit.disconnect(more, { from: 'load', output: 'dataset', to: 'join', input: 'slower' });
    expect(edit.connectionsTo(less, 'join')).toHaveLength(3);
  });

  it('take a setting away with the map that it was alone in', () => {
    const set = edit.setSetting(base, 'split', ['ensemble', 'members'], 3);
    expect(edit.configOf(set, 'split')).toEqual({ ensemble: { members: 3 } });
    expect(edit.cardOf(edit.setSetting(set, 'split', ['ensemble', 'members'], undefined), 'split')).toEqual(edit.cardOf(base, 'split'));
  });

  it('rename a card where it stands, with those who read from it', () => {
    const named = edit.renameCard(base, 'load', 'rows');
    expect(edit.cardIds(named)).toEqual(['rows', 'split', 'join']);
    expect(edit.connectionsOf(named).filter((each) => each.from === 'rows')).toHaveLength(3);
    expect(edit.positionOf(named, 'rows')).toEqual([0, 0]);
  });

  it('paste cards under names of their own, connected among each other alone', () => {
    const copied = edit.copyCards(base, ['split', 'join']);
    const { document, ids } = edit.pasteCards(base, copied, [40, 40]);
    expect(ids).toEqual(['split_2', 'join_2']);
    expect(edit.connectionsTo(document, 'join_2')).toEqual([{ from: 'split_2', output: 'train_dataset', to: 'join_2', input: 'slower' }]);
    expect(edit.positionOf(document, 'split_2')).toEqual([300, 40]);
    expect(edit.pasteCards(document, copied, [0, 0]).ids).toEqual(['split_3', 'join_3']);
  });

  it('know what a card needs and what it reaches', () => {
    expect([...edit.neededFor(base, 'split')].sort()).toEqual(['load', 'split']);
    expect([...edit.reachedFrom(base, 'load')].sort()).toEqual(['join', 'load', 'split']);
  });
});
