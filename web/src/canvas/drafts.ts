// What was typed and not saved, in this browser: it outlives a reload, a crash and a service that is down. Each tab has
// drafts of its own, so that two tabs with one document do not write over each other; a tab that is gone leaves its
// draft to the next one that opens the document.

export interface Draft {
  content: string;
  origin: string; // the saved text that it was made from
  version: number; // of that text; 0: none
  project: string;
  time: number;
}

const prefix = 'stoker-draft:';
const tabKey = 'stoker-tab';

function ownTab(): string {
  let tab = sessionStorage.getItem(tabKey);
  if (!tab) {
    tab = Math.random().toString(36).slice(2);
    sessionStorage.setItem(tabKey, tab);
  }
  return tab;
}

// A lock that lasts as long as the tab tells the others that it is there. Where pages get no locks, nobody counts as there.
export function claimTab() {
  if (!navigator.locks) return;
  void navigator.locks.request(prefix + ownTab(), { ifAvailable: true }, (lock) => {
    if (lock) return new Promise(() => {});
    sessionStorage.removeItem(tabKey); // a copy of a tab that is still open
    claimTab();
    return undefined;
  });
}

async function tabsThatAreThere(): Promise<Set<string>> {
  const held = navigator.locks ? ((await navigator.locks.query()).held ?? []) : [];
  return new Set(held.map((lock) => lock.name ?? '').filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)));
}

const keyOf = (document: string, tab: string) => `${prefix}${document}:${tab}`;

function readDraft(key: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') as Draft | null;
  } catch {
    return null;
  }
}

// "new" stands for a document that was never saved.
export async function findDraft(document: string): Promise<Draft | null> {
  const own = readDraft(keyOf(document, ownTab()));
  if (own) return own;
  const there = await tabsThatAreThere();
  const left = Object.keys(localStorage)
    .filter((key) => key.startsWith(`${prefix}${document}:`) && !there.has(key.slice(key.lastIndexOf(':') + 1)))
    .map((key) => ({ key, draft: readDraft(key) }))
    .filter((each): each is { key: string; draft: Draft } => each.draft !== null)
    .sort((a, b) => b.draft.time - a.draft.time);
  const newest = left[0];
  if (!newest) return null;
  localStorage.removeItem(newest.key);
  keepDraft(document, newest.draft);
  return newest.draft;
}

// False: the browser has no room for it.
export function keepDraft(document: string, draft: Draft): boolean {
  try {
    localStorage.setItem(keyOf(document, ownTab()), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(document: string) {
  localStorage.removeItem(keyOf(document, ownTab()));
}
