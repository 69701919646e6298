import { useMemo, useState } from 'react';
import type { Job } from '../api/types';
import { Link, navigate } from '../app/router';
import { jobs } from '../text/jobs';
import { shared } from '../text/shared';
import { time } from '../ui/format';
import { List, type Column } from '../ui/List';
import { Pill } from '../ui/Pill';
import { moment, secondsBetween, wholeMoment } from '../ui/when';
import { useRested } from '../api/answers';
import { FindField } from './FindField';
import { Gauges } from '../ui/Gauges';
import { JobInspector } from './JobInspector';
import { isUnfinished, percentOf, shareDone } from './job_rows';
import { LossCurve } from './LossCurve';
import './pages.css';
import { useJob } from './use_job';
import { useJobs, type Jobs } from './use_jobs';

function RowProgress({ job }: { job: Job }) {
  if (job.state !== 'running') return null;
  const share = shareDone(job.progress);
  if (share === null) return <span className="secondary">{job.progress?.card ?? ''}</span>;
  return (
    <span className="row-progress" title={job.progress?.seconds_left ? jobs.left(time(job.progress.seconds_left)) : undefined}>
      <i style={{ width: `${Math.round(100 * share)}%` }} /><b className="num">{percentOf(share)}</b>
    </span>
  );
}

const used = (job: Job) => {
  const seconds = job.state === 'queued' || job.state === 'pending' ? null : secondsBetween(job.started, job.ended);
  return seconds === null ? '' : time(seconds);
};

const columns: Column<Job>[] = [
  { name: 'name', title: jobs.columns.name, width: 'minmax(120px, 1fr)', cell: (job) => <span title={job.job_name}>{job.job_name}{job.kind === 'sweep' && <span className="secondary"> · {jobs.sweep}</span>}</span> },
  { name: 'state', title: jobs.columns.state, width: '84px', cell: (job) => <Pill state={job.state} /> },
  { name: 'progress', title: jobs.columns.progress, width: '120px', cell: (job) => <RowProgress job={job} /> },
  { name: 'time', title: jobs.columns.time, width: '90px', right: true, cell: used },
  { name: 'created', title: jobs.columns.created, width: '110px', right: true, cell: (job) => <span title={wholeMoment(job.created)}>{moment(job.created)}</span> },
  { name: 'owner', title: jobs.columns.owner, width: '80px', cell: (job) => <span title={job.owner}>{job.owner}</span> },
];

function Selected({ id, all, onMessage }: { id: string; all: Jobs; onMessage: (words: string) => void }) {
  const followed = useJob(id);
  const onRemoved = (gone: string, words: string) => {
    all.drop(gone);
    onMessage(words);
    navigate('/jobs');
  };
  return (
    <>
      <aside className="side" aria-label={jobs.inspector}>
        <JobInspector followed={followed} onChange={all.put} onRemoved={onRemoved} />
      </aside>
      <footer className="now">
        <LossCurve curves={followed.news.curves} version={followed.version} empty={!followed.job || isUnfinished(followed.job) ? jobs.noEpoch : shared.noLoss} />
        <Gauges />
      </footer>
    </>
  );
}

export default function JobsPage({ id }: { id?: string }) {
  const [state, setState] = useState('');
  const [name, setName] = useState('');
  const [message, setMessage] = useState('');
  const all = useJobs(state, useRested(name.trim()));
  const isFiltered = state !== '' || name.trim() !== '';
  const empty = useMemo(() => {
    if (all.isLoading) return shared.loading;
    if (all.error) return null;
    return isFiltered ? jobs.emptyFilter : <p>{jobs.empty} <Link href="/">{jobs.toCanvas}</Link></p>;
  }, [all.isLoading, all.error, isFiltered]);
  return (
    <div className="regions">
      <section className="middle" aria-label={jobs.list}>
        <div className="bar">
          <FindField value={name} onChange={setName} />
          <select className="input small" aria-label={jobs.state} value={state} onChange={(event) => setState(event.target.value)}>
            {Object.entries(jobs.states).map(([value, title]) => <option key={value} value={value}>{title}</option>)}
          </select>
          <span className="grow" />
          <span className="secondary num">{jobs.count(all.total)}</span>
        </div>
        {all.error && <p className="notice" role="alert">{all.error}</p>}
        {message && <p className="notice good" role="status">{message}</p>}
        <List
          label={jobs.list} columns={columns} rows={all.rows} keyOf={(job) => job.id} selected={id} empty={empty} onEnd={all.more}
          onSelect={(job) => { setMessage(''); navigate(`/jobs/${job.id}`, { replace: id !== undefined }); }}
        />
      </section>
      {id ? <Selected id={id} all={all} onMessage={setMessage} /> : (
        <>
          <aside className="side" aria-label={jobs.inspector}><p className="secondary">{shared.select}</p></aside>
          <footer className="now"><p className="secondary grow">{shared.selectCurve}</p><Gauges /></footer>
        </>
      )}
    </div>
  );
}
