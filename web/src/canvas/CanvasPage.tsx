import { ReactFlowProvider } from '@xyflow/react';
import { useEffect, useState } from 'react';
import { sentenceOf } from '../api/client';
import { rememberCanvas } from '../app/routes';
import { useSession } from '../app/session';
import { cardIds } from '../core/document';
import { text } from '../text';
import { Button } from '../ui/Button';
import './canvas.css';
import { check, loadTypes, say, useCanvas } from './canvas_store';
import { claimTab } from './drafts';
import { Flow } from './Flow';
import { HeadBar } from './HeadBar';
import { Inspector } from './Inspector';
import { onKey } from './keys';
import { insideOf } from './level';
import { Now } from './Now';
import { Palette } from './Palette';
import { findRun, forgetRun, useRun } from './run_store';
import { keepWhatIsTyped, openDocument, openFirst, openNew, save, saveOverTheirs, takeTheirs } from './saving';
import { forgetSizes, learnResults, learnSize } from './tables';

function Conflict() {
  const newest = useCanvas((state) => state.newest);
  if (newest === 0) return null;
  return (
    <div className="conflict notice" role="alert">
      <span className="grow">{text.documents.conflict(newest)}</span>
      <Button onClick={() => void takeTheirs()}>{text.documents.takeTheirs}</Button>
      <Button onClick={() => void save({ asCopy: true })}>{text.documents.saveCopy}</Button>
      <Button kind="danger" onClick={() => void saveOverTheirs()}>{text.documents.overwrite}</Button>
    </div>
  );
}

function Said() {
  const message = useCanvas((state) => state.message);
  return (
    <div className="said" role="status">
      {message && <p className={`notice ${message.isBad ? '' : 'plain'}`}>{message.words} <button type="button" className="close" aria-label={text.app.close} onClick={() => say('')}>✕</button></p>}
    </div>
  );
}

// Opens what the address names, once the types of cards are known.
function useDocument(id: string | null): string {
  const [error, setError] = useState('');
  const isOffline = useSession((state) => state.isOffline);
  useEffect(() => {
    const { id: now, isLoaded } = useCanvas.getState();
    let isWanted = true;
    const open = async () => {
      setError('');
      await loadTypes();
      if (!isWanted || (isLoaded && now === id)) return;
      forgetRun();
      forgetSizes();
      if (id === null) await openNew();
      else await openDocument(id);
      if (isWanted && id !== null) void findRun(id);
    };
    if (!isOffline) openFirst(open()).catch((failure) => isWanted && setError(sentenceOf(failure)));
    return () => {
      isWanted = false;
    };
  }, [id, isOffline]);
  return error;
}

// A moment after each change: kept in this browser, and checked by the service.
function useCare() {
  const document = useCanvas((state) => state.history.now);
  const origin = useCanvas((state) => state.origin);
  const isOffline = useSession((state) => state.isOffline);
  useEffect(() => {
    const timer = setTimeout(() => {
      keepWhatIsTyped();
      if (!isOffline) void check();
    }, 300);
    return () => clearTimeout(timer);
  }, [document, origin, isOffline]);
  useEffect(() => {
    claimTab();
    window.addEventListener('pagehide', keepWhatIsTyped);
    window.addEventListener('keydown', onKey);
    return () => {
      keepWhatIsTyped();
      window.removeEventListener('pagehide', keepWhatIsTyped);
      window.removeEventListener('keydown', onKey);
    };
  }, []);
}

// The sizes of tables, as soon as their cards are done.
function useSizes() {
  const run = useRun((state) => state.run);
  const cards = useRun((each) => each.cards);
  const state = useRun((each) => each.state);
  const types = useCanvas((state) => state.types);
  const ran = useRun((state) => state.ran);
  const done = ran === null ? '' : cardIds(ran).filter((id) => cards[id]?.state === 'done' || cards[id]?.state === 'reused').join('\n');
  useEffect(() => {
    if (!run || !ran) return;
    for (const id of done.split('\n').filter(Boolean)) {
      const output = types.get(String((ran.cards as Record<string, { type: string }>)[id]?.type))?.outputs.find((port) => port.type === 'table');
      if (output) void learnSize(run, id, output.name);
    }
  }, [run, done, ran, types]);
  useEffect(() => {
    if (state === 'completed') void learnResults(run);
  }, [run, state]);
}

export default function CanvasPage({ id = null }: { id?: string | null }) {
  const error = useDocument(id);
  const inside = useCanvas(insideOf);
  useEffect(() => rememberCanvas(id === null ? '/' : `/documents/${id}`), [id]);
  useCare();
  useSizes();
  return (
    <div className="canvas">
      <HeadBar />
      <Palette />
      <div className="canvas-area" aria-label={text.canvas.area} role="region" title="">
        <p className="hidden">{text.canvas.areaHelp}</p>
        <ReactFlowProvider key={inside ?? ''}><Flow /></ReactFlowProvider>
        {error && <p className="notice lone-error">{error}</p>}
        <Conflict />
        <Said />
      </div>
      <Inspector />
      <Now />
    </div>
  );
}
