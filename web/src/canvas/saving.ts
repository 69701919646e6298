import { ApiError, askJson, get, patch, post, sentenceOf } from '../api/client';
import type { DocumentVersion, SavedDocument } from '../api/types';
import { enterProject, useProject } from '../app/project';
import { navigate } from '../app/router';
import { cardIds, nameOf, renameDocument, type Tree } from '../core/document';
import { isOfCuvis, readText } from '../core/document_text';
import { text } from '../text';
import { giveFile } from '../ui/give_file';
import { check, currentText, editDocument, isChanged, open, say, tree, useCanvas } from './canvas_store';
import { dropDraft, findDraft, keepDraft } from './drafts';

const draftName = () => useCanvas.getState().id ?? 'new';

// Called a moment after each change, and when the page is left.
export function keepWhatIsTyped() {
  const state = useCanvas.getState();
  if (!state.isLoaded) return;
  if (!isChanged(state)) return dropDraft(draftName());
  const { origin, version, project } = state;
  if (!keepDraft(draftName(), { content: currentText(), origin, version, project, time: Date.now() })) say(text.documents.noRoom, true);
}

// Of the project that one works in.
export async function listDocuments(): Promise<SavedDocument[]> {
  const { project } = useProject.getState();
  return project ? (await get<{ documents: SavedDocument[] }>(`/api/projects/${project.id}/documents?limit=200`)).documents : [];
}

export async function listVersions(id: string): Promise<DocumentVersion[]> {
  return (await get<{ versions: DocumentVersion[] }>(`/api/documents/${id}/versions`)).versions;
}

async function upgradeOf(content: string): Promise<{ upgraded?: string; upgradeNotes?: string[] }> {
  if (!isOfCuvis(content)) return {};
  const { content: upgraded, notes } = await post<{ content: string; notes: string[] }>('/api/documents/upgrade', { content });
  return { upgraded, upgradeNotes: notes };
}

// The document of that id with what was typed on top of it in this browser.
export async function openDocument(id: string) {
  const [saved, draft] = await Promise.all([get<SavedDocument>(`/api/documents/${id}`), findDraft(id)]);
  enterProject(saved.project);
  const content = saved.content ?? '';
  if (!draft) return open({ content, id, project: saved.project, version: saved.version, ...(await upgradeOf(content)) });
  open({ content: draft.origin, id, project: saved.project, version: draft.version, draft: draft.content, ...(await upgradeOf(draft.origin)) });
  if (draft.version !== saved.version) useCanvas.setState({ newest: saved.version });
  else say(text.documents.restored);
}

// What the address names is on its way to the page. Whatever else is to be opened comes after it, or it would be replaced.
let onItsWay: Promise<unknown> = Promise.resolve();

export function openFirst(document: Promise<void>): Promise<void> {
  onItsWay = document.catch(() => {}); // told to whoever asked for it
  return document;
}

// A document that was never saved and makes room for another one. Undo brings it back.
let setAside: Tree | null = null;

function offerUndo(before: Tree | null) {
  if (!before) return;
  const { history } = useCanvas.getState();
  useCanvas.setState({ history: { ...history, past: [before] } });
  say(text.documents.undoBrings);
}

const unsavedOnThePage = (): Tree | null => (isChanged(useCanvas.getState()) && cardIds(tree()).length > 0 ? tree() : null);

async function unsavedInTheBrowser(): Promise<Tree | null> {
  const draft = await findDraft('new');
  try {
    return draft && readText(draft.content).tree;
  } catch {
    return null; // it was not whole
  }
}

export async function openNew() {
  const draft = await findDraft('new');
  const before = setAside;
  setAside = null;
  if (!draft) {
    open({ content: '' });
    return offerUndo(before);
  }
  open({ content: '', project: draft.project, draft: draft.content });
  useCanvas.setState({ form: /^\s*\{/.test(draft.content) ? 'json' : 'yaml' });
  if (before) offerUndo(before);
  else say(text.documents.restored);
}

export async function openVersion(id: string, version: number) {
  const { content } = await get<DocumentVersion>(`/api/documents/${id}/versions/${version}`);
  const { upgraded, upgradeNotes = [] } = await upgradeOf(content ?? '');
  const { tree: old } = readText(upgraded ?? content ?? '');
  editDocument(() => old);
  useCanvas.setState({ upgradeNotes });
  say(text.documents.broughtBack(version));
}

async function saveNew(content: string): Promise<SavedDocument> {
  const project = useProject.getState().project?.id ?? '';
  const name = nameOf(tree()).trim() || text.documents.untitled;
  return post<SavedDocument>(`/api/projects/${project}/documents`, { name, content });
}

function nowSaved(saved: SavedDocument, content: string) {
  const before = useCanvas.getState();
  dropDraft(draftName());
  useCanvas.setState({ origin: content, id: saved.id, project: saved.project, version: saved.version, newest: 0 });
  if (before.id !== saved.id) navigate(`/documents/${saved.id}`, { replace: before.id === null });
  keepWhatIsTyped(); // typing went on while it was being saved
}

// One after the other: a second press of a key finds what the first one has saved.
let lastSave: Promise<unknown> = Promise.resolve();

// True: what is on the page is on record, byte for byte.
export function save(options: { asCopy?: boolean; over?: number } = {}): Promise<boolean> {
  const saved = lastSave.then(() => saveNow(options));
  lastSave = saved;
  return saved;
}

async function saveNow({ asCopy = false, over = 0 }): Promise<boolean> {
  const { id, version, origin } = useCanvas.getState();
  const content = currentText();
  if (id && !asCopy && over === 0 && content === origin && version > 0) return true;
  useCanvas.setState({ isSaving: true });
  try {
    if (!id || asCopy) {
      if (asCopy) editDocument((now) => renameDocument(now, text.documents.copyOf(nameOf(now))));
      const copy = asCopy ? currentText() : content;
      nowSaved(await saveNew(copy), copy);
    } else {
      nowSaved(await patch<SavedDocument>(`/api/documents/${id}`, { content, version: over || version }), content);
      await renameRecord(id);
    }
    void check();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) useCanvas.setState({ newest: Number(error.answer.newest) });
    else say(text.documents.notSaved(sentenceOf(error)), true);
    return false;
  } finally {
    useCanvas.setState({ isSaving: false });
  }
}

// The list shows a document under the name that it has in its text.
async function renameRecord(id: string) {
  const name = nameOf(tree()).trim();
  const saved = await get<SavedDocument>(`/api/documents/${id}`);
  if (name && name !== saved.name) await patch(`/api/documents/${id}`, { name });
}

// After somebody else has saved: their version in place of this one. What was here can be had back by undo.
export async function takeTheirs() {
  const { id } = useCanvas.getState();
  if (!id) return;
  const mine = tree();
  const saved = await get<SavedDocument>(`/api/documents/${id}`);
  dropDraft(id);
  open({ content: saved.content ?? '', id, project: saved.project, version: saved.version, ...(await upgradeOf(saved.content ?? '')) });
  const { history } = useCanvas.getState();
  useCanvas.setState({ history: { ...history, past: [mine] } });
}

export const saveOverTheirs = () => save({ over: useCanvas.getState().newest });

export async function startNew() {
  await onItsWay;
  keepWhatIsTyped();
  if (useCanvas.getState().id === null) {
    const before = unsavedOnThePage();
    dropDraft('new');
    open({ content: '' });
    offerUndo(before);
  } else {
    setAside = await unsavedInTheBrowser();
    dropDraft('new');
    navigate('/');
  }
}

export async function removeDocument(id: string) {
  await askJson('DELETE', `/api/documents/${id}`);
  dropDraft(id);
  if (useCanvas.getState().id === id) navigate('/');
}

export async function openFile(content: string) {
  await onItsWay;
  const before = useCanvas.getState();
  keepWhatIsTyped();
  const unsaved = before.id === null ? unsavedOnThePage() : await unsavedInTheBrowser();
  try {
    open({ content, project: before.project, ...(await upgradeOf(content)) });
    if (before.id === null) return offerUndo(unsaved);
    setAside = unsaved;
    keepWhatIsTyped();
    navigate('/');
  } catch (error) {
    say(sentenceOf(error), true);
  }
}

export function download(form: 'yaml' | 'json', content: string) {
  const file = new Blob([content], { type: form === 'json' ? 'application/json' : 'application/yaml' });
  giveFile(`${nameOf(tree()) || text.documents.untitled}.${form}`, file);
}
