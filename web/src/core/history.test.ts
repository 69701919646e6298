import { describe, expect, it } from 'vitest';
import { change, redo, startHistory, undo } from './history';

const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }] as const;

describe('undo and redo', () => {
  it('go back and forth', () => {
    const history = change(change(startHistory(a), b), c);
    expect(undo(history).now).toBe(b);
    expect(undo(undo(undo(history))).now).toBe(a);
    expect(redo(undo(history)).now).toBe(c);
  });

  it('take back what was typed into one field at once', () => {
    const history = change(change(startHistory(a), b, 'load.path'), c, 'load.path');
    expect(undo(history).now).toBe(a);
  });

  it('forget what was undone when something else is done', () => {
    expect(redo(change(undo(change(startHistory(a), b)), c)).now).toBe(c);
  });
});
