import { useState } from 'react';
import { typeOf } from '../core/document';
import { own } from '../core/own';
import { text } from '../text';
import { Button } from '../ui/Button';
import { removeSelected, useCanvas } from './canvas_store';
import { isEdited, problemsOf } from './face';
import { insideOf } from './level';
import { Needs } from './Needs';
import { OneNode, WholeGraph } from './NodeInspector';
import { Preview } from './Preview';
import { Rename } from './Rename';
import { isUnderWay, startRun, stopRun, useRun } from './run_store';
import { SettingsForm } from './SettingsForm';
import { Steps } from './Steps';

type Tab = 'settings' | 'preview' | 'steps' | 'log';

function Log() {
  const log = useRun((state) => state.log);
  if (log.length === 0) return <p className="secondary gap">{text.inspector.noLog}</p>;
  return <pre className="log" tabIndex={0} aria-label={text.inspector.tabs.log}>{log.join('\n')}</pre>;
}

function Keys() {
  return (
    <>
      <h2 className="form-title">{text.inspector.keys}</h2>
      <dl className="keys">
        {text.inspector.keyList.map(([keys, does]) => <div key={keys}><dt>{keys}</dt><dd>{does}</dd></div>)}
      </dl>
    </>
  );
}

function NothingSelected() {
  const checkNotes = useCanvas((state) => state.notes);
  const upgradeNotes = useCanvas((state) => state.upgradeNotes);
  const notes = [...new Set([...upgradeNotes, ...checkNotes])];
  const problems = useCanvas((state) => state.problems);
  const candidates = useCanvas((state) => state.candidates);
  return (
    <>
      <h1>{text.inspector.document}</h1>
      <p className="secondary">{text.inspector.description}</p>
      {candidates > 0 && <p className="notice plain gap">{text.canvas.searches(candidates)}</p>}
      {problems.filter((each) => !each.path.startsWith('cards.')).map((each) => <p key={each.path + each.message} className="field-error">{each.path} {each.message}</p>)}
      {notes.map((note) => <p key={note} className="secondary gap">{note}</p>)}
    </>
  );
}

// Another card is read from its top, on the tab that was open.
function OneCard({ card, tab, setTab }: { card: string; tab: Tab; setTab: (tab: Tab) => void }) {
  const type = useCanvas((state) => state.types.get(typeOf(state.history.now, card)));
  const state = useRun((run) => run.state);
  const now = useCanvas((canvas) => canvas.history.now);
  const ran = useRun((run) => run.ran);
  const ranCard = useRun((run) => own(run.cards, card));
  const warnings = useCanvas((canvas) => canvas.warnings);
  const isOutdated = isEdited(now, ran, card);
  const failed = ranCard?.state === 'failed' && !isOutdated ? ranCard.message : '';
  const notes = isOutdated ? [] : (ranCard?.notes ?? []);
  const isRunning = isUnderWay(state);
  return (
    <>
      <h1>{type?.title ?? card}</h1>
      <div className="secondary">{text.inspector.card} <b>{card}</b></div>
      <div className="tabs" role="tablist">
        {(Object.keys(text.inspector.tabs) as Tab[]).filter((each) => each !== 'steps' || type?.trains).map((each) => (
          <button key={each} type="button" role="tab" aria-selected={tab === each} className={tab === each ? 'on' : ''} onClick={() => setTab(each)}>{text.inspector.tabs[each]}</button>
        ))}
      </div>
      {failed && <p className="notice gap" role="alert">{text.preview.failed}: {failed}</p>}
      {tab === 'settings' && problemsOf(warnings, card).map((each) => <p key={each.path} className="notice warns gap">{each.message}</p>)}
      {(tab === 'settings' || tab === 'preview') && notes.map((note) => <p key={note} className="secondary gap noted">{note}</p>)}
      {tab === 'settings' && (
        <>
          {type?.help && <p className="secondary gap">{type.help}</p>}
          <SettingsForm card={card} />
          <div className="row run-row">
            <Button kind="go" className="grow" disabled={isRunning} onClick={() => void startRun(card)}>{text.inspector.runHere}</Button>
            <Button disabled={!isRunning} onClick={() => void stopRun()}>{text.inspector.stop}</Button>
          </div>
          <Needs card={card} />
          <Rename card={card} />
          <Button kind="danger" className="gap" onClick={removeSelected}>{text.inspector.removeCard}</Button>
        </>
      )}
      {tab === 'preview' && <Preview card={card} />}
      {tab === 'steps' && type?.trains && <Steps card={card} />}
      {tab === 'log' && <Log />}
    </>
  );
}

export function Inspector() {
  const [tab, setTab] = useState<Tab>('settings');
  const selected = useCanvas((state) => state.selected);
  const only = selected.length === 1 ? selected[0]! : null;
  const inside = useCanvas(insideOf);
  return (
    <section key={`${inside ?? ''}/${only ?? ''}`} className="inspector" aria-label={inside === null ? text.inspector.label : text.graph.label}>
      {only !== null && (inside === null ? <OneCard card={only} tab={tab} setTab={setTab} /> : <OneNode card={inside} node={only} />)}
      {selected.length === 0 && (inside === null ? <NothingSelected /> : <WholeGraph card={inside} />)}
      {selected.length === 0 && <Keys />}
      {selected.length > 1 && (
        <>
          <h1>{(inside === null ? text.inspector : text.graph).several(selected.length)}</h1>
          <Button kind="danger" className="gap" onClick={removeSelected}>{text.inspector.remove}</Button>
        </>
      )}
    </section>
  );
}
