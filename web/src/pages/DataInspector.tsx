import { useState } from 'react';
import { post, remove, sentenceOf } from '../api/client';
import { Link } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { data } from '../text/data';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Confirm';
import { CubesView } from '../ui/CubesView';
import { Distribution } from '../ui/Distribution';
import { Field } from '../ui/Field';
import { count } from '../ui/format';
import { Facts } from '../ui/Facts';
import { Tabs } from '../ui/Tabs';
import { moment, wholeMoment } from '../ui/when';
import type { Answer } from '../api/answers';
import { boundsOf, missingWords, nameOfSource, rangesOf, wordsOf, type Preview, type PreviewColumn, type Ranges } from './column_facts';
import type { Dataset } from './DataForms';
import { documentOf } from './datasets';
import { openCopyInCanvas } from './open_in_canvas';

type Tab = keyof typeof data.tabs;

interface Validation {
  is_sound: boolean;
  has_changed: boolean;
  rows: number;
  rows_with_faults: number;
  faults: { column: string; kind: string; first_row: number; rows: number }[];
  cubes?: { told: string[] };
}

function ColumnFacts({ column, rows }: { column: PreviewColumn; rows: number }) {
  const found = column.distribution;
  const words = wordsOf(column);
  const bounds = boundsOf(column);
  return (
    <li className="column-facts">
      <div className="row"><span className="grow broken"><b>{column.name}</b></span><span className="secondary">{column.type}</span></div>
      {found?.counts && <Distribution counts={found.counts} label={data.distribution(column.name, bounds ? data.steps(found.counts.length, ...bounds) : '')} />}
      {found?.frequent && (
        <ul className="frequent">
          {found.frequent.slice(0, 5).map(({ value, rows: of }) => (
            <li key={value} title={data.rowsOf(value, count(of))}><i style={{ width: `${(100 * of) / Math.max(1, found.frequent![0]!.rows)}%` }} /><span className="broken">{value}</span><span className="num">{count(of)}</span></li>
          ))}
        </ul>
      )}
      <p className="secondary num">{[...words, missingWords(column.nulls, rows)].join(' · ')}</p>
    </li>
  );
}

function Columns({ preview }: { preview: Answer<Preview> }) {
  if (preview.error) return <><p className="notice broken" role="alert">{preview.error}</p><p className="secondary">{data.toCheck}</p></>;
  if (!preview.value) return <p className="secondary">{data.reading}</p>;
  const { rows, columns, cubes } = preview.value;
  const list = <ul className="plain-list">{columns.map((column) => <ColumnFacts key={column.name} column={column} rows={rows} />)}</ul>;
  return cubes ? <><CubesView cubes={cubes} /><h2 className="form-title">{data.columnsOfCubes}</h2>{list}</> : list;
}

function Check({ dataset, onMade }: { dataset: Dataset; onMade: (made: Dataset) => void }) {
  const session = useSession((state) => state.session);
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState('');
  const [error, setError] = useState('');
  const [found, setFound] = useState<Validation | null>(null);
  const [asked, setAsked] = useState<Ranges>({});
  const [copy, setCopy] = useState(`${dataset.id.slice(0, 50)}-repaired`);
  const [isBusy, setBusy] = useState(false);
  if (!mayChange(session)) return <p className="secondary">{shared.viewer}</p>;
  const busily = async (work: () => Promise<void>) => {
    setBusy(true);
    setError('');
    try {
      await work();
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setBusy(false);
  };
  const validate = () => {
    const read = rangesOf(text);
    setWrong(read.wrong[0] === undefined ? '' : data.rangeWrong(read.wrong[0]));
    if (read.wrong.length > 0) return;
    setAsked(read.ranges);
    void busily(async () => setFound(await post<Validation>(`/api/datasets/${encodeURIComponent(dataset.id)}/validate`, { ranges: read.ranges })));
  };
  const repair = () => busily(async () => onMade(await post<Dataset>(`/api/datasets/${encodeURIComponent(dataset.id)}/repair`, { ranges: asked, as: copy.trim() })));
  return (
    <>
      <p className="secondary">{data.validateHelp}</p>
      <Field label={data.ranges} help={data.rangesHelp} error={wrong}>{(given) => <textarea {...given} className="input" rows={2} value={text} onChange={(event) => setText(event.target.value)} />}</Field>
      <div><Button disabled={isBusy} onClick={validate}>{isBusy ? data.making : data.validate}</Button></div>
      {error && <p className="notice broken" role="alert">{error}</p>}
      {found?.has_changed && <p className="notice">{data.changed}</p>}
      {found && <p className={`notice ${found.is_sound ? 'good' : ''}`} role="status">{found.is_sound ? data.sound(count(found.rows)) : data.faults(count(found.rows_with_faults), count(found.rows))}</p>}
      {found && found.faults.length > 0 && (
        <table className="figures">
          <thead><tr><th scope="col">{data.column}</th><th scope="col">{data.fault}</th><th scope="col" className="right">{data.rows}</th><th scope="col" className="right">{data.firstRow}</th></tr></thead>
          <tbody>{found.faults.map((fault) => <tr key={`${fault.column} ${fault.kind}`}><th scope="row" className="broken">{fault.column}</th><td className="left">{fault.kind}</td><td className="num">{count(fault.rows)}</td><td className="num">{count(fault.first_row)}</td></tr>)}</tbody>
        </table>
      )}
      {found?.cubes?.told.map((each) => <p key={each} className="notice broken">{each}</p>)}
      {found && !found.is_sound && !found.cubes && (
        <div className="stack">
          <Field label={data.repairAs}>{(given) => <input {...given} className="input" value={copy} onChange={(event) => setCopy(event.target.value)} />}</Field>
          <div><Button disabled={isBusy || copy.trim() === ''} onClick={() => void repair()}>{data.repair}</Button></div>
        </div>
      )}
    </>
  );
}

interface DataInspectorProps {
  dataset: Dataset;
  preview: Answer<Preview>;
  onMade: (made: Dataset) => void;
  onRemoved: (words: string) => void;
}

export function DataInspector({ dataset, preview, onMade, onRemoved }: DataInspectorProps) {
  const session = useSession((state) => state.session);
  const [tab, setTab] = useState<Tab>('columns');
  const [error, setError] = useState('');
  const tabs = (Object.keys(data.tabs) as Tab[]).map((name) => ({ name, title: data.tabs[name] }));
  const f = data.facts;
  const removeDataset = () => remove<{ freed: string }>(`/api/datasets/${encodeURIComponent(dataset.id)}`).then(({ freed }) => onRemoved(shared.freed(dataset.id, freed)), (failure: unknown) => setError(sentenceOf(failure)));
  return (
    <>
      <h1 className="broken">{dataset.id}</h1>
      <p className="secondary broken" title={dataset.source}>{dataset.cleaned_of ? data.repairedFrom(dataset.cleaned_of) : nameOfSource(dataset.source)}</p>
      {mayChange(session) && <div className="row wrap"><Button kind="go" onClick={() => void openCopyInCanvas(dataset.id, documentOf(dataset)).catch((failure: unknown) => setError(sentenceOf(failure)))}>{data.use}</Button><Confirm title={data.remove} question={data.removeQuestion(dataset.id)} action={data.removeReally} onConfirm={() => void removeDataset()} /></div>}
      {error && <p className="notice broken" role="alert">{error}</p>}
      <Tabs label={data.inspector} tabs={tabs} selected={tab} onSelect={setTab}>
        {tab === 'columns' && <Columns preview={preview} />}
        {tab === 'check' && <Check dataset={dataset} onMade={onMade} />}
        {tab === 'about' && (
          <Facts facts={[
            [f.rows, count(dataset.rows)], [f.columns, count(dataset.columns.length)], [f.kind, dataset.kind], [f.source, dataset.source],
            [f.added, <span title={wholeMoment(dataset.added)}>{moment(dataset.added)}</span>],
            dataset.cleaned_of ? [f.cleaned, <Link href={`/data/${encodeURIComponent(dataset.cleaned_of)}`}>{dataset.cleaned_of}</Link>] : null,
            [f.fingerprint, dataset.fingerprint],
          ]} />
        )}
      </Tabs>
    </>
  );
}
