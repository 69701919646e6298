import { useState } from 'react';
import { post, remove, sentenceOf } from '../api/client';
import { Link } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { runs } from '../text/runs';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Confirm';
import { bytes, count, figure, time } from '../ui/format';
import { Facts } from '../ui/Facts';
import { Pill } from '../ui/Pill';
import { Tabs } from '../ui/Tabs';
import { moment, wholeMoment } from '../ui/when';
import { useAnswer, type Answer } from '../api/answers';
import { MetricsTable } from './MetricsTable';
import { resultsOf, useMetrics } from '../api/metrics';
import { openCopyInCanvas } from './open_in_canvas';
import { stateOfRun, type RunRow } from './run_rows';
import { useTexts } from './texts';

export interface Run {
  run: string;
  name: string;
  status: string;
  started: string;
  seconds: number | null;
  error: string;
  job?: string;
  can_go_on?: boolean;
  cpu?: string;
  gpu?: string;
  peak_memory_bytes?: number;
  stoker_version?: string;
  sources?: string[];
  notes?: string[];
  warnings?: string[];
  results?: unknown;
  trainings?: Training[];
  winner?: { run?: string; final_run?: string; results?: unknown };
}

interface Training {
  card: string;
  model_type: string;
  engine: string;
  device: string;
  end: string;
  epochs: number;
  best_epoch: number;
  parameters: number;
  rows?: number;
  seconds: number;
  target?: string;
  learning_rate?: number;
  batch_size?: number;
  precision?: string;
}

interface RunFile {
  path: string;
  bytes: number;
  type: string;
}

type Tab = keyof typeof runs.tabs;
const mostFiles = 500;
const fileOf = (run: string, path: string) => `/api/runs/${encodeURIComponent(run)}/files/${path.split('/').map(encodeURIComponent).join('/')}`;

function TrainingFacts({ training }: { training: Training }) {
  const f = runs.facts;
  return (
    <section>
      <h2>{runs.training} <span className="as-is">{training.card}</span></h2>
      <Facts facts={[
        [f.model, training.model_type.replaceAll('_', ' ')],
        [f.target, training.target],
        [f.parameters, count(training.parameters)],
        training.rows ? [f.rows, count(training.rows)] : null,
        training.epochs ? [f.epochs, count(training.epochs)] : null,
        training.best_epoch ? [f.best, count(training.best_epoch)] : null,
        [f.end, runs.ends[training.end] ?? training.end],
        training.learning_rate ? [f.rate, figure(training.learning_rate)] : null,
        training.batch_size ? [f.batch, count(training.batch_size)] : null,
        [f.engine, training.engine], [f.device, training.device], [f.precision, training.precision],
        [f.time, time(training.seconds)],
      ]} />
    </section>
  );
}

// The service goes on with it as with its job; what its error says of a terminal is for who has one.
const mayGoOn = (run: Run) => run.status === 'interrupted' && run.job !== undefined;

function Resume({ run, onResumed }: { run: Run; onResumed: () => void }) {
  const session = useSession((state) => state.session);
  const [error, setError] = useState('');
  const resume = () => post(`/api/training/jobs/${run.job}/resume`, undefined).then(onResumed, (failure: unknown) => setError(sentenceOf(failure)));
  return (
    <>
      <p className="notice plain">{runs.stopped}</p>
      {mayChange(session) && <div><Button kind="go" onClick={() => void resume()}>{runs.resume}</Button></div>}
      {error && <p className="notice broken" role="alert">{error}</p>}
    </>
  );
}

// What there is to say of a job that ended before its run began.
export function JobWithoutRun({ row }: { row: RunRow }) {
  return (
    <>
      <div className="row"><h1 className="grow broken">{row.name}</h1><Pill state={stateOfRun(row.status)} /></div>
      <p className="secondary broken">{row.run}</p>
      <div className="row wrap links"><Link href={`/jobs/${row.job}`}>{runs.job}</Link></div>
      {row.error && <p className="notice broken" role="alert">{row.error}</p>}
      <p className="secondary">{runs.noRun[row.status]}</p>
    </>
  );
}

function Results({ run }: { run: Run }) {
  const known = useMetrics();
  const results = resultsOf(run.winner?.results ?? run.results, known);
  const f = runs.facts;
  return (
    <>
      {run.error && !mayGoOn(run) && <p className="notice broken" role="alert">{run.error}</p>}
      {results.length === 0 && <p className="secondary">{runs.noResults}</p>}
      {results.map((result) => <MetricsTable key={result.card} result={result} />)}
      {(run.trainings ?? []).map((training) => <TrainingFacts key={training.card} training={training} />)}
      {(run.warnings?.length ?? 0) > 0 && <section><h2>{runs.warnings}</h2><ul className="plain-list">{run.warnings!.map((words) => <li key={words}>{words}</li>)}</ul></section>}
      {(run.notes?.length ?? 0) > 0 && <section><h2>{shared.notes}</h2><ul className="plain-list">{run.notes!.map((words) => <li key={words}>{words}</li>)}</ul></section>}
      <section>
        <h2>{shared.details}</h2>
        <Facts facts={[
          [f.started, <span title={wholeMoment(run.started)}>{moment(run.started)}</span>],
          run.seconds !== null ? [f.time, time(run.seconds)] : null,
          [f.sources, run.sources?.join(', ')],
          run.peak_memory_bytes ? [f.memory, bytes(run.peak_memory_bytes)] : null,
          [f.cpu, run.cpu], [f.gpu, run.gpu], [f.version, run.stoker_version],
        ]} />
      </section>
    </>
  );
}

function Files({ run, files, isPictures }: { run: string; files: Answer<{ files: RunFile[]; all: boolean }>; isPictures: boolean }) {
  if (files.error) return <p className="notice" role="alert">{files.error}</p>;
  if (!files.value) return <p className="secondary">{shared.loading}</p>;
  const all = files.value.files;
  if (!isPictures)
    return (
      <ul className="plain-list">
        {all.slice(0, mostFiles).map((file) => (
          <li key={file.path} className="row"><a className="grow broken" href={fileOf(run, file.path)} target="_blank" rel="noreferrer">{file.path}</a><span className="secondary num">{file.bytes < 1000 ? `${file.bytes} B` : bytes(file.bytes)}</span></li>
        ))}
        {(all.length > mostFiles || !files.value.all) && <li className="secondary">{runs.notAllFiles(count(mostFiles))}</li>}
      </ul>
    );
  const pictures = all.filter((file) => file.type === 'image/png');
  if (pictures.length === 0) return <p className="secondary">{runs.noPictures}</p>;
  return (
    <div className="pictures">
      {pictures.map(({ path }) => {
        const name = path.replace(/^.*\//, '').replace(/\.png$/, '').replaceAll('_', ' ');
        return <figure key={path}><a href={fileOf(run, path)} target="_blank" rel="noreferrer"><img src={fileOf(run, path)} alt={name} loading="lazy" /></a><figcaption className="secondary">{name}</figcaption></figure>;
      })}
    </div>
  );
}

function Document({ run }: { run: Run }) {
  const session = useSession((state) => state.session);
  const [answer] = useTexts([fileOf(run.run, 'pipeline.yaml')]);
  const [error, setError] = useState('');
  if (!answer) return <p className="secondary">{shared.loading}</p>;
  if (answer.text === null) return <p className="secondary">{answer.error || runs.noDocument}</p>;
  const content = answer.text;
  return (
    <>
      {mayChange(session) && <div><Button onClick={() => void openCopyInCanvas(run.name, content).catch((failure: unknown) => setError(sentenceOf(failure)))}>{runs.copy}</Button></div>}
      {error && <p className="notice" role="alert">{error}</p>}
      <pre className="log" tabIndex={0} aria-label={runs.tabs.document}>{content}</pre>
    </>
  );
}

interface RunInspectorProps {
  answer: Answer<Run>;
  isResumed: boolean;
  onResumed: () => void;
  onRemoved: (run: string, words: string) => void;
}

export function RunInspector({ answer, isResumed, onResumed, onRemoved }: RunInspectorProps) {
  const [tab, setTab] = useState<Tab>('results');
  const [error, setError] = useState('');
  const session = useSession((state) => state.session);
  const run = answer.value;
  const files = useAnswer<{ files: RunFile[]; all: boolean }>(run ? `/api/runs/${encodeURIComponent(run.run)}/files` : null);
  if (!run) return answer.error ? <p className="notice" role="alert">{answer.error}</p> : <p className="secondary">{shared.loading}</p>;
  const tabs = (Object.keys(runs.tabs) as Tab[]).map((name) => ({ name, title: runs.tabs[name] }));
  const hasReport = files.value?.files.some((file) => file.path === 'report.html') ?? false;
  const winner = run.winner?.final_run ?? run.winner?.run;
  const removeRun = async () => {
    try {
      const { freed } = await remove<{ freed: string }>(`/api/runs/${encodeURIComponent(run.run)}`);
      onRemoved(run.run, shared.freed(run.name, freed));
    } catch (failure) {
      setError(sentenceOf(failure));
    }
  };
  return (
    <>
      <div className="row"><h1 className="grow broken">{run.name || run.run}</h1><Pill state={stateOfRun(run.status)} /></div>
      <p className="secondary broken">{run.run}</p>
      <div className="row wrap links">
        {hasReport && <a href={fileOf(run.run, 'report.html')} target="_blank" rel="noreferrer">{runs.report}</a>}
        {run.job && <Link href={`/jobs/${run.job}`}>{runs.job}</Link>}
        {run.winner && run.job && <Link href={`/sweeps/${run.job}`}>{runs.trials}</Link>}
        {winner && <Link href={`/runs/${winner}`}>{runs.winner}</Link>}
      </div>
      {mayGoOn(run) && !isResumed && <Resume run={run} onResumed={onResumed} />}
      {isResumed && <p className="notice good" role="status">{runs.resumed}</p>}
      {mayChange(session) && !run.job && run.status !== 'running' && <Confirm title={runs.delete} question={runs.deleteQuestion(run.name)} action={runs.deleteReally} onConfirm={() => void removeRun()} />}
      {mayChange(session) && run.job && <p className="secondary">{runs.ofJob}</p>}
      {error && <p className="notice" role="alert">{error}</p>}
      <Tabs label={runs.inspector} tabs={tabs} selected={tab} onSelect={setTab}>
        {tab === 'results' && <Results run={run} />}
        {(tab === 'pictures' || tab === 'files') && <Files run={run.run} files={files} isPictures={tab === 'pictures'} />}
        {tab === 'document' && <Document run={run} />}
      </Tabs>
    </>
  );
}
