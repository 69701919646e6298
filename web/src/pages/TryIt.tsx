import { useState, type FormEvent } from 'react';
import { askJson, get, put, sentenceOf } from '../api/client';
import { mayChange, useSession } from '../app/session';
import { models } from '../text/models';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { Answer } from './Answer';
import type { Model } from './models';
import { TryCubes } from './TryCubes';
import { deploymentName, rowOf, rowOfTable, type ModelColumn, type Prediction, type RowOfData, type TablePreview, type Typed } from './try_form';

const helpOf = (column: ModelColumn) => (column.type === 'date' ? models.dateForm(column.form ?? '') : column.type === 'text' ? models.text : undefined);

// A row of a table that the run of the model kept, one that was held back from training if there is one.
async function rowOfItsData(model: Model): Promise<RowOfData | null> {
  if (!model.run) return null;
  const base = `/api/runs/${encodeURIComponent(model.run)}/files`;
  const { files } = await get<{ files: { path: string }[] }>(base);
  const previews = files.map((file) => file.path).filter((path) => path.startsWith('previews/')).sort((a, b) => Number(b.includes('test')) - Number(a.includes('test')));
  for (const path of previews) {
    const table = await get<TablePreview>(`${base}/${path}`);
    const row = rowOfTable(table, model.columns, model.target, Math.floor(Math.random() * table.first_rows.length));
    if (row) return row;
  }
  return null;
}

function DeployFirst({ model, onDeployed }: { model: Model; onDeployed: () => void }) {
  const session = useSession((state) => state.session);
  const [error, setError] = useState('');
  const name = deploymentName(model.name);
  if (!mayChange(session)) return <p>{models.deployFirst} {models.mayNotDeploy}</p>;
  const deploy = () => put(`/api/models/deployments/${encodeURIComponent(name)}`, { model: model.id }).then(onDeployed, (failure: unknown) => setError(sentenceOf(failure)));
  return (
    <>
      <p>{models.deployFirst}</p>
      <div><Button kind="go" onClick={() => void deploy()}>{models.deployToTry(name)}</Button></div>
      {error && <p className="notice" role="alert">{error}</p>}
    </>
  );
}

export function TryIt({ model, onDeployed }: { model: Model; onDeployed: () => void }) {
  const [mode, setMode] = useState<'form' | 'csv'>('form');
  const [typed, setTyped] = useState<Typed>({});
  const [actual, setActual] = useState<string | null>(null); // of the row that is filled in, as long as it is as it was
  const [csv, setCsv] = useState('');
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [error, setError] = useState('');
  const [hasInterval, setInterval_] = useState(false);
  const [answer, setAnswer] = useState<Prediction | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [name] = model.deployed_as;
  if (name === undefined) return <DeployFirst model={model} onDeployed={onDeployed} />;
  if (model.cubes) return <TryCubes name={name} />;

  const predict = async (event: FormEvent) => {
    event.preventDefault();
    const row = rowOf(model.columns, typed, models.notNumber);
    setErrors(mode === 'form' ? row.errors : {});
    setError('');
    if (mode === 'form' && Object.keys(row.errors).length > 0) return;
    setBusy(true);
    const path = `/api/models/${encodeURIComponent(name)}/predict${hasInterval ? '?interval=90' : ''}`;
    try {
      setAnswer(await askJson<Prediction>('POST', path, mode === 'form' ? { body: { rows: [row.values] } } : { body: csv, type: 'text/csv' }));
    } catch (failure) {
      setAnswer(null);
      setError(sentenceOf(failure));
    }
    setBusy(false);
  };
  const fill = async () => {
    setError('');
    try {
      const row = await rowOfItsData(model);
      setAnswer(null);
      if (!row) return setError(models.noRow);
      setTyped(row.typed);
      setActual(row.actual);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
  };
  return (
    <form className="stack" onSubmit={predict} noValidate>
      <div className="row wrap">
        <select className="input small" aria-label={models.tryBy} value={mode} onChange={(event) => { setAnswer(null); setMode(event.target.value as typeof mode); }}>
          <option value="form">{models.asForm}</option><option value="csv">{models.asCsv}</option>
        </select>
        {mode === 'form' && model.run && <Button onClick={() => void fill()}>{models.fill}</Button>}
      </div>
      {answer && <Answer answer={answer} actual={mode === 'form' ? actual : null} />}
      {error && <p className="notice broken" role="alert">{error}</p>}
      <div className="row wrap">
        <Button kind="go" type="submit" disabled={isBusy}>{isBusy ? models.predicting : models.predict}</Button>
        {model.task === 'regression' && model.tells_intervals !== false && <label className="check"><input type="checkbox" checked={hasInterval} onChange={(event) => { setAnswer(null); setInterval_(event.target.checked); }} />{models.interval}</label>}
      </div>
      {mode === 'csv' ? (
        <Field label={models.csvLabel}>{(given) => <textarea {...given} className="input csv" rows={8} value={csv} placeholder={model.columns.map((column) => column.name).join(',')} onChange={(event) => { setAnswer(null); setCsv(event.target.value); }} />}</Field>
      ) : (
        <div className="try-fields">
          {model.columns.map((column) => (
            <Field key={column.name} label={column.name} note={helpOf(column)} error={errors[column.name]}>
              {(given) => <input {...given} className="input" placeholder={models.missing} inputMode={column.type === 'number' ? 'decimal' : undefined} value={typed[column.name] ?? ''} onChange={(event) => { setAnswer(null); setActual(null); setTyped({ ...typed, [column.name]: event.target.value }); }} />}
            </Field>
          ))}
        </div>
      )}
    </form>
  );
}
