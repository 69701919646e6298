import { useEffect, useMemo, useState } from 'react';
import type { Job } from '../api/types';
import { Link, navigate } from '../app/router';
import { jobs } from '../text/jobs';
import { runs } from '../text/runs';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { curvesOf } from '../ui/curve';
import { count, figure, time } from '../ui/format';
import { List, type Column, type Sort } from '../ui/List';
import { Pill } from '../ui/Pill';
import { moment, wholeMoment } from '../ui/when';
import { useAnswer, useRested } from '../api/answers';
import { mostCompared } from './comparison';
import { FindField } from './FindField';
import { LossCurve } from './LossCurve';
import { titleOf, useMetrics } from '../api/metrics';
import './pages.css';
import { JobWithoutRun, RunInspector, type Run } from './RunInspector';
import { areOfBothTasks, filteredRuns, mainMetricOf, metricOf, metricsIn, nextSort, sortedRuns, stateOfRun, toggled, withJobsAlone, type RunRow } from './run_rows';
import { useTexts } from './texts';
import { choose, useChosenRuns } from './chosen_runs';
import { useRuns } from './use_runs';
import { useIsWide } from './wide';

function Selected({ id, onRemoved }: { id: string; onRemoved: (run: string, words: string) => void }) {
  const [isRunning, setRunning] = useState(false);
  const [isResumed, setResumed] = useState(false); // until its process has begun
  const answer = useAnswer<Run>(`/api/runs/${encodeURIComponent(id)}`, isRunning || isResumed ? 2000 : 0);
  useEffect(() => {
    setRunning(answer.value?.status === 'running');
    if (answer.value?.status !== 'interrupted') setResumed(false);
  }, [answer.value?.status]);
  const [metrics] = useTexts(answer.value ? [`/api/runs/${encodeURIComponent(id)}/files/metrics.csv`] : [], isRunning ? 3000 : 0);
  const curves = useMemo(() => curvesOf(metrics?.text ?? ''), [metrics?.text]);
  const isThere = metrics !== undefined && metrics !== null;
  return (
    <>
      <aside className="side" aria-label={runs.inspector}><RunInspector answer={answer} isResumed={isResumed} onResumed={() => setResumed(true)} onRemoved={onRemoved} /></aside>
      <footer className="now"><LossCurve curves={curves} version={metrics?.text?.length ?? 0} empty={answer.value && isThere ? shared.noLoss : answer.error ? '' : shared.loading} /></footer>
    </>
  );
}

function MainMetric({ row }: { row: RunRow }) {
  const known = useMetrics();
  const main = mainMetricOf(row, known);
  return main && <span title={String(main.value)}><span className="secondary">{titleOf(main.name, known)}</span> {figure(main.value)}</span>;
}

// A run that failed says why.
function NameOfRun({ row }: { row: RunRow }) {
  const why = row.status === 'failed' ? row.error : '';
  return <span title={[`${row.name}, ${row.run}`, why].filter(Boolean).join('\n')}>{row.name || row.run}{why && <span className="secondary"> {why}</span>}</span>;
}

export default function RunsPage({ id }: { id?: string }) {
  const all = useRuns();
  const ended = useAnswer<{ jobs: Job[] }>('/api/training/jobs?state=failed,cancelled&limit=500', 5000);
  const known = useMetrics();
  const isWide = useIsWide();
  const [text, setText] = useState('');
  const [status, setStatus] = useState('');
  const [leading, setLeading] = useState('');
  const [sort, setSort] = useState<Sort | null>(null);
  const chosen = useChosenRuns((state) => state.chosen);
  const [message, setMessage] = useState('');
  const rested = useRested(text, 120);
  const metrics = useMemo(() => metricsIn(all.rows, known), [all.rows, known]);
  const everyRow = useMemo(() => (all.isWhole ? withJobsAlone(all.rows, ended.value?.jobs ?? []) : all.rows), [all.rows, all.isWhole, ended.value]);
  const rows = useMemo(() => sortedRuns(filteredRuns(everyRow, { text: rested, status }), sort), [everyRow, rested, status, sort]);

  const first = leading || metrics[0];
  const isMixed = areOfBothTasks(metrics, known);
  const shown = [first, ...metrics.filter((name) => name !== first)].filter((name) => name !== undefined).slice(0, (isWide ? 3 : 2) - (isMixed ? 1 : 0));
  const chosenSet = new Set(chosen);
  const toggle = (row: RunRow) => !row.isJobAlone && choose(toggled(chosen, row.run, mostCompared));
  const compare = () => chosen.length >= 2 && navigate(`/compare?runs=${chosen.map(encodeURIComponent).join(',')}`);
  const columns: Column<RunRow>[] = [
    { name: 'choose', title: '', width: '20px', cell: (row) => !row.isJobAlone && <input type="checkbox" tabIndex={-1} aria-label={runs.choose(row.name)} checked={chosenSet.has(row.run)} onClick={(event) => event.stopPropagation()} onChange={() => toggle(row)} /> },
    { name: 'name', title: runs.columns.name, width: 'minmax(110px, 1fr)', sorts: true, cell: (row) => <NameOfRun row={row} /> },
    { name: 'status', title: runs.columns.status, width: '72px', sorts: true, cell: (row) => <Pill state={stateOfRun(row.status)} /> },
    ...(isMixed ? [{ name: 'main', title: runs.main, width: '124px', right: true, cell: (row: RunRow) => <MainMetric row={row} /> }] : []),
    ...shown.map((name): Column<RunRow> => ({ name, title: titleOf(name, known), width: '84px', right: true, sorts: true, cell: (row) => figure(metricOf(row, name)) })),
    { name: 'seconds', title: runs.columns.seconds, width: '80px', right: true, sorts: true, cell: (row) => (row.seconds === null || row.status === 'running' ? '' : time(row.seconds)) },
    { name: 'started', title: runs.columns.started, width: '96px', right: true, sorts: true, cell: (row) => <span title={wholeMoment(row.started)}>{moment(row.started)}</span> },
  ];
  const alone = everyRow.find((row) => row.run === id && row.isJobAlone);
  const isFiltered = rested.trim() !== '' || status !== '';
  const empty = !all.isWhole ? (all.error ? null : shared.loading) : isFiltered ? runs.emptyFilter : <p>{runs.empty} <Link href="/">{jobs.toCanvas}</Link></p>;
  return (
    <div className="regions" onKeyDown={(event) => event.key === 'c' && !event.ctrlKey && !event.metaKey && !(event.target as HTMLElement).matches('input:not([type=checkbox]), select, textarea') && compare()}>
      <section className="middle" aria-label={runs.list}>
        <div className="bar">
          <FindField value={text} onChange={setText} />
          <select className="input small" aria-label={runs.status} value={status} onChange={(event) => setStatus(event.target.value)}>
            {Object.entries(runs.statuses).map(([value, title]) => <option key={value} value={value}>{title}</option>)}
          </select>
          {metrics.length > 1 && (
            <select className="input small" aria-label={runs.leading} value={first} onChange={(event) => setLeading(event.target.value)}>
              {metrics.map((name) => <option key={name} value={name}>{runs.metricOption(titleOf(name, known))}</option>)}
            </select>
          )}
          <span className="grow" />
          {chosen.length > 0 ? (
            <>
              <span className="secondary">{runs.chosen(chosen.length)}</span>
              <Button kind="quiet" onClick={() => choose([])}>{runs.clear}</Button>
              <Button kind="go" disabled={chosen.length < 2} onClick={compare} title={runs.keys}>{runs.compare}</Button>
            </>
          ) : <span className="secondary num" title={runs.keys}>{all.isWhole ? `${shared.shown(count(rows.length), count(everyRow.length))}` : all.rows.length > 0 ? runs.loaded(count(all.rows.length), count(all.total)) : ''}</span>}
        </div>
        {all.error && <p className="notice" role="alert">{all.error}</p>}
        {all.damaged.length > 0 && <p className="notice">{runs.damaged(all.damaged.length, all.damaged[0]!)}</p>}
        {message && <p className="notice good" role="status">{message}</p>}
        <List
          label={runs.list} columns={columns} rows={rows} keyOf={(row) => row.run} selected={id} empty={empty} sort={sort} onToggle={toggle}
          onSort={(column) => setSort((before) => nextSort(before, column, known))}
          onSelect={(row) => { setMessage(''); navigate(`/runs/${encodeURIComponent(row.run)}`, { replace: id !== undefined }); }}
        />
      </section>
      {alone ? (
        <>
          <aside className="side" aria-label={runs.inspector}><JobWithoutRun row={alone} /></aside>
          <footer className="now"><p className="secondary">{shared.noLoss}</p></footer>
        </>
      ) : id ? <Selected key={id} id={id} onRemoved={(run, words) => { all.drop(run); choose(chosen.filter((each) => each !== run)); setMessage(words); navigate('/runs'); }} /> : (
        <>
          <aside className="side" aria-label={runs.inspector}><p className="secondary">{shared.select}</p></aside>
          <footer className="now"><p className="secondary">{shared.selectCurve}</p></footer>
        </>
      )}
    </div>
  );
}
