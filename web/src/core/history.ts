import type { Tree } from './document';

export interface History {
  now: Tree;
  past: readonly Tree[];
  future: readonly Tree[];
  last: string; // what the last change was part of, such as typing into one field; empty: it stands alone
}

const most = 200;

export const startHistory = (now: Tree): History => ({ now, past: [], future: [], last: '' });

// Changes with the same name, one right after the other, are undone together.
export function change(history: History, now: Tree, name = ''): History {
  if (now === history.now) return history;
  if (name && name === history.last) return { ...history, now, future: [] };
  return { now, past: [...history.past, history.now].slice(-most), future: [], last: name };
}

export function undo(history: History): History {
  const before = history.past.at(-1);
  if (!before) return history;
  return { now: before, past: history.past.slice(0, -1), future: [history.now, ...history.future], last: '' };
}

export function redo(history: History): History {
  const next = history.future[0];
  if (!next) return history;
  return { now: next, past: [...history.past, history.now], future: history.future.slice(1), last: '' };
}
