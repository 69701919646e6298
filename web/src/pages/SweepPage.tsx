import { useMemo, useState } from 'react';
import { Link } from '../app/router';
import { jobs } from '../text/jobs';
import { sweeps } from '../text/runs';
import { shared } from '../text/shared';
import { count, figure, time } from '../ui/format';
import { Facts } from '../ui/Facts';
import { Legend } from '../ui/Legend';
import { List, type Column, type Sort } from '../ui/List';
import { Pill } from '../ui/Pill';
import { Plot } from '../ui/Plot';
import type { PlotSeries } from '../ui/plot_data';
import { MetricsTable } from './MetricsTable';
import { resultsOf, useMetrics } from '../api/metrics';
import './pages.css';
import { axisOf, figuresOfTrial, pointsOf, settingsIn, sortedTrials, textOf, type Trial } from './trials';
import { useSweep, type Sweep } from './use_sweep';
import { useIsWide } from './wide';

const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1).replaceAll('_', ' ');
const stateOf = (status: string) => ({ finished: 'done', failed: 'failed' })[status] ?? status;

interface ScatterProps {
  sweep: Sweep;
  selected: number | null;
  onSelect: (trial: number) => void;
}

function Scatter({ sweep, selected, onSelect }: ScatterProps) {
  const { trials } = sweep;
  const settings = useMemo(() => settingsIn(trials), [trials]);
  const [chosenX, setX] = useState('');
  const [y, setY] = useState('score');
  const [logs, setLogs] = useState({ x: false, y: false });
  const x = chosenX || settings[0] || 'trial';
  const titleOfAxis = (name: string) => (name === 'score' && sweep.metric ? sweeps.scoreOf(sweep.metric) : (sweeps.figures[name] ?? name));
  const axes = useMemo(() => ({ x: axisOf(trials, x), y: axisOf(trials, y) }), [trials, x, y]);
  const usable = { x: logs.x && !axes.x.words, y: logs.y && !axes.y.words };
  const { series, origins } = useMemo(() => {
    const points = pointsOf(axes.x, axes.y, usable);
    const made: PlotSeries[] = [];
    const places: number[][] = [];
    const add = (label: string, colour: PlotSeries['colour'], size: number, isMember: (trial: Trial) => boolean) => {
      const at = points.trials.map((place, point) => ({ place, point })).filter(({ place }) => isMember(trials[place]!));
      if (at.length === 0) return;
      made.push({ label, colour, kind: 'points', size, x: at.map(({ point }) => points.x[point]!), y: at.map(({ point }) => points.y[point]!) });
      places.push(at.map(({ place }) => place));
    };
    add(sweeps.finished, 'run', 7, (trial) => trial.status === 'finished');
    add(sweeps.underWay, 'spec', 6, (trial) => trial.status === 'running');
    add(sweeps.others, 'muted', 6, (trial) => trial.status !== 'finished' && trial.status !== 'running');
    add(sweeps.selected, 'ember', 12, (trial) => trial.trial === selected);
    return { series: made, origins: places };
  }, [axes, usable.x, usable.y, trials, selected]);
  const select = (label: string, value: string, onChange: (name: string) => void) => (
    <span className="check"><span aria-hidden>{label}</span>
      <select className="input small" aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
        {settings.map((name) => <option key={name} value={name}>{name}</option>)}
        {figuresOfTrial.map((name) => <option key={name} value={name}>{titleOfAxis(name)}</option>)}
      </select>
    </span>
  );
  return (
    <footer className="now">
      <section className="curve" aria-label={sweeps.scatter(titleOfAxis(y), titleOfAxis(x))}>
        <div className="row wrap curve-head">
          {select(sweeps.y, y, setY)}
          <label className="check"><input type="checkbox" checked={logs.y} onChange={(event) => setLogs({ ...logs, y: event.target.checked })} />{sweeps.logY}</label>
          {select(sweeps.x, x, setX)}
          {!axes.x.words && <label className="check"><input type="checkbox" checked={logs.x} onChange={(event) => setLogs({ ...logs, x: event.target.checked })} />{sweeps.logX}</label>}
          <span className="grow" /><Legend series={series} />
        </div>
        {series.length === 0 ? <p className="secondary">{sweeps.noPoints}</p> : (
          <Plot
            label={sweeps.scatter(titleOfAxis(y), titleOfAxis(x))} series={series} height={220} xTitle={x.replace(/^score$/, titleOfAxis('score'))} yTitle={titleOfAxis(y)} xWords={axes.x.words}
            logarithmic={usable.y} xLogarithmic={usable.x}
            onPick={(of, point) => {
              const trial = trials[origins[of]?.[point] ?? -1];
              if (trial) onSelect(trial.trial);
            }}
          />
        )}
      </section>
    </footer>
  );
}

function Inspector({ sweep, trial }: { sweep: Sweep; trial: Trial | undefined }) {
  const known = useMetrics();
  const { winner } = sweep;
  const run = winner?.final_run ?? winner?.run;
  return (
    <>
      <div className="row"><h1 className="grow broken">{sweep.job_name}</h1><Pill state={sweep.state} /></div>
      <div className="row wrap links">
        <Link href={`/jobs/${sweep.id}`}>{sweeps.openJob}</Link>
        {run && <Link href={`/runs/${run}`}>{sweeps.openRun}</Link>}
      </div>
      {sweep.reason && <p className="notice broken">{sweep.reason}</p>}
      <Facts facts={[
        sweep.metric ? [sweeps.metric, <span title={sweeps.better(sweep.higher_is_better ?? false)}>{sweep.metric} {sweep.higher_is_better ? '↑' : '↓'}</span>] : null,
        sweep.total_trials !== undefined ? [sweeps.trials, count(sweep.total_trials)] : null,
        winner ? [sweeps.winner, `${sweeps.trial(winner.trial)}, ${figure(winner.score)}`] : null,
      ]} />
      {trial && (
        <section className="stack">
          <h2>{sweeps.trial(trial.trial)}</h2>
          <Facts facts={[
            [sweeps.columns.score, figure(trial.score)],
            trial.spread ? [sweeps.columns.spread, figure(trial.spread)] : null,
            [sweeps.columns.epochs, count(trial.epochs)],
            trial.seconds !== null ? [sweeps.columns.seconds, time(trial.seconds)] : null,
            [sweeps.columns.status, sweeps.statuses[trial.status] ?? trial.status],
          ]} />
          {trial.reason && <p className="notice broken">{trial.reason}</p>}
          <h2>{sweeps.settings}</h2>
          <Facts facts={Object.entries(trial.settings).map(([name, value]) => [name, textOf(value)])} />
        </section>
      )}
      {trial && trial.trial === winner?.trial && resultsOf(winner.results, known).map((result) => <MetricsTable key={result.card} result={result} />)}
    </>
  );
}

function words(sweep: Sweep): string {
  const progress = sweep.progress as { trainings?: number; total_trainings?: number; candidates?: number } | undefined;
  if (progress?.total_trainings) return jobs.ofTrainings(count(progress.trainings ?? 0), count(progress.total_trainings));
  return progress?.candidates ? jobs.candidates(count(progress.candidates)) : '';
}

export default function SweepPage({ id = '' }: { id?: string }) {
  const { sweep, error } = useSweep(id);
  const isWide = useIsWide();
  const [selected, setSelected] = useState<number | null>(null);
  const [sort, setSort] = useState<Sort | null>(null);
  const trials = useMemo(() => sortedTrials(sweep?.trials ?? [], sort), [sweep, sort]);
  const settings = useMemo(() => settingsIn(sweep?.trials ?? []).slice(0, isWide ? 5 : 3), [sweep, isWide]);
  if (!sweep) return <div className="lone">{error ? <p className="notice" role="alert">{error}</p> : shared.loading}</div>;
  const now = selected ?? sweep.winner?.trial ?? null;
  const turn = (column: string) => setSort((before) => (before?.column !== column ? { column, isDown: false } : before.isDown ? null : { column, isDown: true }));
  const columns: Column<Trial>[] = [
    { name: 'trial', title: sweeps.columns.trial, width: '52px', right: true, sorts: true, cell: (trial) => count(trial.trial) },
    { name: 'score', title: sweeps.columns.score, width: '84px', right: true, sorts: true, cell: (trial) => figure(trial.score) },
    ...settings.map((name): Column<Trial> => ({ name, title: lastPart(name), width: 'minmax(70px, 1fr)', right: true, sorts: true, cell: (trial) => <span title={`${name}: ${textOf(trial.settings[name])}`}>{textOf(trial.settings[name])}</span> })),
    { name: 'epochs', title: sweeps.columns.epochs, width: '62px', right: true, sorts: true, cell: (trial) => count(trial.epochs) },
    { name: 'seconds', title: sweeps.columns.seconds, width: '72px', right: true, sorts: true, cell: (trial) => (trial.seconds === null ? '' : time(trial.seconds)) },
    { name: 'status', title: sweeps.columns.status, width: '84px', cell: (trial) => <Pill state={stateOf(trial.status)} /> },
  ];
  const isRunning = ['pending', 'queued', 'running', 'paused'].includes(sweep.state);
  return (
    <div className="regions">
      <section className="middle" aria-label={sweeps.list}>
        {error && <p className="notice" role="alert">{error}</p>}
        <List
          label={sweeps.list} columns={columns} rows={trials} keyOf={(trial) => String(trial.trial)} selected={String(now)} sort={sort} onSort={turn}
          onSelect={(trial) => setSelected(trial.trial)} empty={isRunning ? sweeps.notYet(words(sweep)) : sweeps.none}
        />
      </section>
      <aside className="side" aria-label={sweeps.inspector}><Inspector sweep={sweep} trial={sweep.trials.find((trial) => trial.trial === now)} /></aside>
      <Scatter sweep={sweep} selected={now} onSelect={setSelected} />
    </div>
  );
}
