import { useState, type FormEvent } from 'react';
import { patch, put, remove, sentenceOf } from '../api/client';
import { Link } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { models } from '../text/models';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Confirm';
import { Field } from '../ui/Field';
import { bytes, count } from '../ui/format';
import { Facts } from '../ui/Facts';
import { Tabs } from '../ui/Tabs';
import { moment, wholeMoment } from '../ui/when';
import { MetricsTable } from './MetricsTable';
import { resultsOf, useMetrics } from '../api/metrics';
import type { Model } from './models';
import { deploymentName } from './try_form';
import { TryIt } from './TryIt';

type Tab = keyof typeof models.tabs;

interface ModelInspectorProps {
  model: Model;
  onChange: () => void;
  onRemoved: (words: string) => void;
}

function About({ model, onChange }: { model: Model; onChange: () => void }) {
  const known = useMetrics();
  const session = useSession((state) => state.session);
  const [name, setName] = useState(model.name);
  const [error, setError] = useState('');
  const f = models.facts;
  const results = resultsOf(Object.entries(model.metrics ?? {}).map(([card, metrics]) => ({ card, metrics })), known);
  const rename = (event: FormEvent) => {
    event.preventDefault();
    setError('');
    patch(`/api/models/${model.id}`, { name: name.trim() }).then(onChange, (failure: unknown) => setError(sentenceOf(failure)));
  };
  return (
    <>
      {results.map((result) => <MetricsTable key={result.card} result={result} />)}
      <section>
        <h2>{shared.details}</h2>
        <Facts facts={[
          [f.family, model.family.replaceAll('_', ' ')], [f.task, model.task], [f.target, model.target],
          [f.parameters, count(model.parameters)],
          model.members ? [f.members, count(model.members)] : null,
          model.class_count ? [f.classes, <span title={model.classes?.join(', ')}>{count(model.class_count)}</span>] : null,
          model.steps ? [f.steps, count(model.steps)] : null,
          [f.bytes, bytes(model.bytes)],
          [f.created, <span title={wholeMoment(model.created)}>{moment(model.created)}</span>],
          [f.answers, <span title={model.why_not_from_memory}>{model.predicts_from_memory ? models.fromMemory : models.byProcess}</span>],
        ]} />
      </section>
      <section>
        <h2>{models.columnsOf(model.columns.length)}</h2>
        <ul className="plain-list">{model.columns.map((column) => <li key={column.name} className="row"><span className="grow broken">{column.name}</span><span className="secondary">{column.type}{column.form ? ` ${column.form}` : ''}</span></li>)}</ul>
      </section>
      {mayChange(session) && (
        <form onSubmit={rename} noValidate>
          <Field label={models.rename} error={error}>{(given) => <input {...given} className="input" value={name} onChange={(event) => setName(event.target.value)} />}</Field>
          <div className="row gap-above"><Button type="submit" disabled={name.trim() === model.name || name.trim() === ''}>{models.renameButton}</Button></div>
        </form>
      )}
    </>
  );
}

function Deployments({ model, onChange }: { model: Model; onChange: () => void }) {
  const session = useSession((state) => state.session);
  const [name, setName] = useState(deploymentName(model.name));
  const [error, setError] = useState('');
  const act = (promise: Promise<unknown>) => promise.then(() => { setError(''); onChange(); }, (failure: unknown) => setError(sentenceOf(failure)));
  const may = mayChange(session);
  return (
    <>
      <p className="secondary">{models.deployHelp}</p>
      {model.deployed_as.length === 0 && <p>{models.notDeployed}</p>}
      <ul className="plain-list">
        {model.deployed_as.map((each) => (
          <li key={each} className="row"><span className="grow broken">{each}</span>{may && <Button aria-label={models.withdrawLabel(each)} onClick={() => void act(remove(`/api/models/deployments/${encodeURIComponent(each)}`))}>{models.withdraw}</Button>}</li>
        ))}
      </ul>
      {may ? (
        <form onSubmit={(event) => { event.preventDefault(); void act(put(`/api/models/deployments/${encodeURIComponent(name.trim())}`, { model: model.id })); }} noValidate>
          <Field label={models.deployName} error={error}>{(given) => <input {...given} className="input" value={name} onChange={(event) => setName(event.target.value)} />}</Field>
          <div className="row gap-above"><Button kind="go" type="submit" disabled={name.trim() === ''}>{models.deployButton}</Button></div>
        </form>
      ) : <p className="secondary">{shared.viewer}</p>}
    </>
  );
}

export function ModelInspector({ model, onChange, onRemoved }: ModelInspectorProps) {
  const session = useSession((state) => state.session);
  const [tab, setTab] = useState<Tab>('about');
  const [error, setError] = useState('');
  const tabs = (Object.keys(models.tabs) as Tab[]).map((name) => ({ name, title: models.tabs[name] }));
  const removeModel = () => remove<{ freed: string }>(`/api/models/${model.id}`).then(({ freed }) => onRemoved(shared.freed(model.name, freed)), (failure: unknown) => setError(sentenceOf(failure)));
  return (
    <>
      <h1 className="broken">{model.name}</h1>
      <p className="secondary broken">{model.id}</p>
      <div className="row wrap links">
        <a href={`/api/models/${model.id}/file`} download>{models.download}</a>
        {model.run && <Link href={`/runs/${encodeURIComponent(model.run)}`}>{models.openRun}</Link>}
        {model.job && <Link href={`/jobs/${model.job}`}>{models.openJob}</Link>}
      </div>
      {mayChange(session) && !model.job && <Confirm title={models.delete} question={models.deleteQuestion(model.name)} action={models.deleteReally} onConfirm={() => void removeModel()} />}
      {error && <p className="notice" role="alert">{error}</p>}
      <Tabs label={models.inspector} tabs={tabs} selected={tab} onSelect={setTab}>
        {tab === 'about' && <About model={model} onChange={onChange} />}
        {tab === 'try' && <TryIt model={model} onDeployed={onChange} />}
        {tab === 'deploy' && <Deployments model={model} onChange={onChange} />}
      </Tabs>
    </>
  );
}
